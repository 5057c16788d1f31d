"""Decision between OC, PU-OC and PU: whether the unlabelled data can be trusted, by the evidence.

The expected AUC of a family is that of the robustness map in the region of the data, corrected by the withheld rows of
U and by the incoming rows (``puoc.userdata.assess.expected_auc``). The answer is the family with the largest expected
AUC, if it is better than the next one with a probability of at least ``SURE``. This probability takes the lead as
normal; docs/reliability.md compares it with how often the family was better.
"""

from __future__ import annotations

from typing import Final, Literal

import pandas as pd

from puoc.analysis.reliability.robustness_map import Region, ShiftKind, packaged, region
from puoc.records import Array, Record
from puoc.userdata.assess.evidence import Evidence, gather
from puoc.userdata.assess.expected_auc import Expected, Lead, expected
from puoc.userdata.assess.reasons import SURE, Ranked, more_data, odds, outside_map, ranked, reasons, to_one
from puoc.userdata.assess.reference_methods import FAMILIES, MOST_VALUES, Family, question

Answer = Literal["OC", "PU-OC", "PU", "cannot tell"]

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


class KindAnswer(Record):
    """Answer if the negatives stay as in U, or if new ones come."""

    kind: ShiftKind
    taken_as: float  # probability of this kind in the expectation
    answer: Answer
    first: Family
    second: Family
    lead: float  # expected AUC of the first minus that of the second, with its standard deviation
    lead_spread: float
    probability: float  # that the first is better than the second


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
    by_kind: tuple[KindAnswer, ...]  # if the negatives stay as in U, and if new ones come
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
    best = ranked(found.lead)
    answer, advice = _answer(best, found, shift_examined=incoming is not None)
    components = min(MOST_VALUES, evidence.columns)
    method, params = question(advice, components)
    outside = outside_map(evidence)
    return Assessment(
        answer=answer,
        advice=advice,
        first=best.first,
        second=best.second,
        lead=best.lead.mean,
        lead_spread=best.lead.spread,
        probability=odds(best.lead),
        verdict=_verdict(answer, advice, best),
        by_kind=tuple(_of_kind(kind, found) for kind in found.by_kind),
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


def _of_kind(kind: ShiftKind, found: Expected) -> KindAnswer:
    best = ranked(found.by_kind[kind])
    chance = odds(best.lead)
    return KindAnswer(
        kind=kind,
        taken_as=found.new if kind == "new" else 1 - found.new,
        answer=best.first if chance >= SURE else "cannot tell",
        first=best.first,
        second=best.second,
        lead=best.lead.mean,
        lead_spread=best.lead.spread,
        probability=chance,
    )


def _answer(best: Ranked, found: Expected, *, shift_examined: bool) -> tuple[Answer, Family]:
    """Return the answer and the advice.

    If shift was not examined, an answer must also lead both without and with new negatives.
    """
    advice: Family = best.first if best.lead.mean >= LEAST_LEAD * best.lead.spread else "PU-OC"
    kinds = () if shift_examined else found.by_kind.values()
    leads_in_each = all(ranked(of_kind).first == best.first for of_kind in kinds)
    if advice != best.first or odds(best.lead) < SURE or not leads_in_each:
        return "cannot tell", advice
    return best.first, advice


def _verdict(answer: Answer, advice: Family, best: Ranked) -> str:
    sure = to_one(odds(best.lead))
    lead = f"expected lead {best.lead.mean:.3f} of AUC, standard deviation {best.lead.spread:.3f}"
    if answer != "cannot tell":
        return f"{answer}; the odds that it is better than {best.second} are {sure} ({lead})"
    return (
        f"cannot tell whether {best.first} or {best.second} is better; use {advice} until this is known; "
        f"the odds that {best.first} is better than {best.second} are {sure} ({lead})"
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
