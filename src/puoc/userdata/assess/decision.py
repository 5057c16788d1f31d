"""Decision between OC, PU-OC and PU: whether the unlabelled data can be trusted, by the evidence.

The expected AUC of a family is that of the robustness map in the region of the data, corrected by the withheld rows of
U and by the incoming rows (``puoc.userdata.assess.expected_auc``).
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import pandas as pd

from puoc.analysis.reliability.robustness_map import Region, packaged, region
from puoc.records import Array, Record
from puoc.userdata.assess.evidence import LEVEL, Alpha, Evidence, Incoming, gather
from puoc.userdata.assess.expected_auc import Lead, leads
from puoc.userdata.assess.reference_methods import FAMILIES, MOST_VALUES, Family, question

Answer = Literal["OC", "PU-OC", "PU", "cannot tell"]

SURE: Final = 0.05  # lead of an answer over the next one, in standard deviations

SAME_ROWS: Final = "puoc fit prepares rows in the same way by --encoder components"

_MAX_TIMES: Final = 50  # factor on the number of rows up to which more rows are recommended


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
    lead_of, chance = leads(evidence, table)
    worth = tuple(_worth(family, place, lead_of[family]) for family in FAMILIES)
    answer, advice = _answer(worth)
    components = min(MOST_VALUES, evidence.columns)
    method, params = question(advice, components)
    return Assessment(
        answer=answer,
        advice=advice,
        reasons=tuple(_reasons(worth, alpha, incoming, answer)),
        more_data=tuple(_more(worth, evidence, answer)),
        shift_examined=incoming is not None,
        evidence=evidence,
        worth=worth,
        region=place.name,
        region_situations=place.n,
        new_expected=chance,
        base_worst=place.base_worst,
        recommended=Recommended(method=method, params=params, components=components),
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


def _leaders(worth: tuple[Worth, ...]) -> tuple[Worth, float, float, str]:
    """Return the first family, its lead over the second, the spread of that lead, and the name of the second."""
    first, second, *_ = sorted(worth, key=lambda row: row.lead, reverse=True)
    return first, first.lead - second.lead, float(np.hypot(first.spread, second.spread)), second.family


def _answer(worth: tuple[Worth, ...]) -> tuple[Answer, Family]:
    """Return the family with a clear lead; if there is none, PU-OC is advised."""
    first, lead, spread, _ = _leaders(worth)
    families: dict[str, Family] = {family: family for family in FAMILIES}
    if lead < SURE * spread:
        return "cannot tell", "PU-OC"
    return families[first.family], families[first.family]


def _reasons(worth: tuple[Worth, ...], alpha: Alpha, incoming: Incoming | None, answer: Answer) -> list[str]:
    reasons = [f"U holds between {alpha.low:.0%} and {alpha.high:.1%} positives (95 % interval)"]
    if alpha.high < 1:
        reasons.append("this takes P for a random sample of the positives; otherwise U may only seem to hold negatives")
    if alpha.p_order < 1 - LEVEL:
        reasons.append("the first and the last labelled rows differ: labelling may not have been at random")
    if incoming is None:
        reasons.append("shift was not examined: no incoming rows were given")
    elif incoming.new_negatives:
        reasons.append("the incoming rows are no mixture of P and U: new negatives, or positives that changed")
    elif incoming.alpha_changed and (incoming.ratio_high is None or alpha.high >= 1):
        least = f"at least {incoming.ratio_low:.2g} times the share of negatives of U"
        reasons.append(f"the incoming rows have {least}; U has too few to tell whether they are of a new kind")
    elif incoming.alpha_changed:
        reasons.append(
            f"the incoming rows have {incoming.ratio:.2g} times the share of negatives of U, none of a new kind"
        )
    else:
        reasons.append("the incoming rows may be a mixture of P and U: nothing new was found in them")
    first, lead, _, second = _leaders(worth)
    unsure = "; that is not enough to be sure" if answer == "cannot tell" else ""
    return [*reasons, f"{first.family} is expected {lead:.3f} of AUC above {second}{unsure}"]


def _more(worth: tuple[Worth, ...], evidence: Evidence, answer: Answer) -> list[str]:
    advice, incoming = [], evidence.incoming
    if incoming is None:
        advice.append("rows as they come in now (--incoming, 200 or more) would show whether there are new negatives")
    elif incoming.new_negatives:
        advice.append("the incoming rows are unlabelled rows with those negatives: assess them as --unlabelled")
    if evidence.alpha.high >= 1:
        advice.append("U may hold no negatives at all; unlabelled rows with more of them would help most")
    if answer == "cannot tell" and incoming is not None and incoming.new_negatives:
        advice.append("labels of some incoming rows would settle the choice")
    elif answer == "cannot tell":
        _, lead, spread, _ = _leaders(worth)
        times = (SURE * spread / max(lead, 1e-3)) ** 2
        if times < _MAX_TIMES:
            advice.append(f"about {max(times, 1.5):.2g} times as many rows of P and of U would settle the choice")
        else:
            advice.append("the families are too close to be told apart by more rows like these")
    return advice
