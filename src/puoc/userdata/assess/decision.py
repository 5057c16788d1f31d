"""Decision between OC, PU-OC and PU: whether the unlabelled data can be trusted, by the evidence.

The expected AUC of a family is that of the robustness map in the region of the data, corrected by the withheld rows of
U and by the incoming rows (``puoc.userdata.assess.expected_auc``). The answer is the family with the largest expected
AUC, if it is better than the next one with a probability of at least ``SURE``. This probability takes the lead as
normal; docs/reliability.md compares it with how often the family was better.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import pandas as pd

from puoc.analysis.reliability.robustness_map import Region, packaged, region
from puoc.records import Array, Record
from puoc.userdata.assess.evidence import Evidence, gather
from puoc.userdata.assess.expected_auc import Expected, Lead, expected
from puoc.userdata.assess.reasons import more_data, odds, outside_map, over, reasons
from puoc.userdata.assess.reference_methods import FAMILIES, MOST_VALUES, Family, question

Answer = Literal["OC", "PU-OC", "PU", "cannot tell"]

SURE: Final = 0.7  # probability of an answer to be better than the next family, at least
LEAST_LEAD: Final = 0.05  # lead of an advised family other than PU-OC over the next one, in standard deviations

SAME_ROWS: Final = "puoc fit prepares rows in the same way by --encoder components"


class Worth(Record):
    """Lead of a family over PU-OC in AUC of positives against negatives."""

    family: str
    method: str
    map_auc: float
    map_lead: float
    map_spread: float
    lead: float  # of the map, corrected by the user's rows
    spread: float


class Recommended(Record):
    """Recommended fit: method and settings of the assessment itself, on rows prepared as in it."""

    method: str
    params: dict[str, float | int | str]
    components: int  # number of principal components of the standardised columns
    remark: str = SAME_ROWS
    command: str | None = None  # of puoc fit; absent if no files were assessed


class Assessment(Record):
    """Result of an assessment; ``puoc assess --json`` prints it."""

    answer: Answer
    advice: Family  # to be used while the answer is not clear
    first: Family  # with the largest expected AUC
    second: Family
    lead: float  # expected AUC of the first minus that of the second, with its standard deviation
    lead_spread: float
    probability: float  # that the first is better than the second
    verdict: str  # the answer with its odds, in one line
    outside: tuple[str, ...]  # in what the data lie outside of the situations of the map
    reasons: tuple[str, ...]
    more_data: tuple[str, ...]
    shift_examined: bool
    evidence: Evidence
    worth: tuple[Worth, ...]
    region: str
    region_situations: int
    new_expected: float  # probability of new negatives in the expectation
    base_worst: float  # share of the region's situations in which PU-OC was the worst family
    recommended: Recommended

    def lines(self) -> list[str]:
        """Return the assessment in words, as ``puoc assess`` prints it."""
        evidence, recommended = self.evidence, self.recommended
        params = ", ".join(f"{name}={value}" for name, value in recommended.params.items())
        features = f"the first {recommended.components} principal components of standardised columns"
        return [
            f"answer: {self.verdict}",
            *(f"note: {line}" for line in self.outside),
            f"{evidence.n_p} labelled positives, {evidence.n_u} unlabelled rows, {evidence.columns} values a row",
            *evidence.notes,
            *self.reasons,
            *(f"more data: {line}" for line in self.more_data),
            f"robustness map: {self.region} ({self.region_situations} situations)",
            f"recommended: {recommended.method} ({params}), on {features}; {recommended.remark}",
            *([f"to fit it: {recommended.command}"] if recommended.command else []),
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def assess(X_p: Array, X_u: Array, X_v: Array | None = None, *, seed: int = 0) -> Assessment:
    """Assess (n_p, *shape) labelled positives, (n_u, *shape) unlabelled rows and any (n_v, *shape) incoming rows.

    Raises
    ------
    ValueError : the rows are too few, not finite, all equal or of different shapes, or all of U is in P.
    """
    return decide(gather(X_p, X_u, X_v, seed))


def decide(evidence: Evidence, table: pd.DataFrame | None = None) -> Assessment:
    """Return the answer by the evidence and a robustness map, by default the packaged one."""
    alpha, incoming = evidence.alpha, evidence.incoming
    new = incoming is not None and incoming.new_negatives
    table = packaged() if table is None else table
    place = region(table, (alpha.low, alpha.high), evidence.n_u, "new" if new else "none")
    found = expected(evidence, table)
    ranked = _ranked(found.lead)
    answer, advice = _answer(ranked, found, shift_examined=incoming is not None)
    components = min(MOST_VALUES, evidence.columns)
    method, params = question(advice, components)
    outside = outside_map(evidence)
    return Assessment(
        answer=answer,
        advice=advice,
        first=ranked.first,
        second=ranked.second,
        lead=ranked.lead.mean,
        lead_spread=ranked.lead.spread,
        probability=odds(ranked.lead),
        verdict=_verdict(answer, advice, ranked),
        outside=outside,
        reasons=reasons(evidence, found, advice),
        more_data=more_data(evidence, answer == "cannot tell"),
        shift_examined=incoming is not None,
        evidence=evidence,
        worth=tuple(_worth(family, place, found.lead[family]) for family in FAMILIES),
        region=place.name,
        region_situations=place.n,
        new_expected=found.new,
        base_worst=place.base_worst,
        recommended=Recommended(method=method, params=params, components=components),
    )


class _Ranked(NamedTuple):
    """The two families with the largest expected AUC, and the lead of the first over the second."""

    first: Family
    second: Family
    lead: Lead


def _ranked(lead_of: dict[Family, Lead]) -> _Ranked:
    first, second, *_ = sorted(FAMILIES, key=lambda family: lead_of[family].mean, reverse=True)
    return _Ranked(first, second, over(lead_of, first, second))


def _answer(ranked: _Ranked, found: Expected, *, shift_examined: bool) -> tuple[Answer, Family]:
    """Return the answer and the advice.

    If shift was not examined, an answer must also lead both without and with new negatives.
    """
    advice: Family = ranked.first if ranked.lead.mean >= LEAST_LEAD * ranked.lead.spread else "PU-OC"
    kinds = () if shift_examined else found.by_kind.values()
    leads_in_each = all(_ranked(of_kind).first == ranked.first for of_kind in kinds)
    if advice != ranked.first or odds(ranked.lead) < SURE or not leads_in_each:
        return "cannot tell", advice
    return ranked.first, advice


def _verdict(answer: Answer, advice: Family, ranked: _Ranked) -> str:
    chance = odds(ranked.lead)
    to_one = min(chance / max(1 - chance, 1e-3), 100.0)
    sure = f"{to_one:.1f} to 1" if to_one < 100 else "100 to 1 or more"
    lead = f"expected lead {ranked.lead.mean:.3f} of AUC, standard deviation {ranked.lead.spread:.3f}"
    if answer != "cannot tell":
        return f"{answer}; the odds that it is better than {ranked.second} are {sure} ({lead})"
    return (
        f"cannot tell whether {ranked.first} or {ranked.second} is better; use {advice} until this is known; "
        f"the odds that {ranked.first} is better than {ranked.second} are {sure} ({lead})"
    )


def _worth(family: Family, place: Region, lead: Lead) -> Worth:
    return Worth(
        family=family,
        method=question(family, MOST_VALUES)[0],
        map_auc=place.auc[family],
        map_lead=place.lead[family],
        map_spread=place.spread[family],
        lead=lead.mean,
        spread=lead.spread,
    )
