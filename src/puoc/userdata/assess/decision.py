"""Can this unlabelled data be trusted: what follows from the evidence, for the choice between OC, PU-OC and PU.

What a family is worth is what the robustness map expects where the data may lie, corrected by what the withheld rows of
U and those that come in say (``puoc.userdata.assess.expected_auc``).
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

SURE: Final = 0.05  # standard deviations by which an answer leads the next

SAME_ROWS: Final = "puoc fit prepares rows in the same way by --encoder components"

_HOPELESS: Final = 50  # times as many rows


class Worth(Record):
    """How far a family is above PU-OC in AUC of positives against negatives."""

    family: str
    method: str
    map_auc: float
    map_lead: float
    map_spread: float
    lead: float  # with what the own rows say
    spread: float


class Recommended(Record):
    """What to fit: the method and settings that the assessment itself used, on the rows as it saw them."""

    method: str
    params: dict[str, float | int | str]
    components: int  # principal, of the standardised columns, that the method sees
    remark: str = SAME_ROWS
    command: str | None = None  # of puoc fit, where files were assessed


class Assessment(Record):
    """The whole answer; ``puoc assess --json`` prints it."""

    answer: Answer
    advice: Family  # what to use until it can be told
    reasons: tuple[str, ...]
    more_data: tuple[str, ...]
    shift_examined: bool
    evidence: Evidence
    worth: tuple[Worth, ...]
    region: str
    region_situations: int
    new_expected: float  # probability of new negatives that the expectation reckons with
    base_worst: float  # share of the region's situations in which PU-OC was the worst family
    recommended: Recommended


def assess(X_p: Array, X_u: Array, X_v: Array | None = None, *, seed: int = 0) -> Assessment:
    """Assess (n_p, *shape) labelled positives and (n_u, *shape) unlabelled rows, with (n_v, *shape) later ones if any.

    Raises
    ------
    ValueError : rows that cannot answer: too few, not finite, all alike, of different shapes, or U that is P.
    """
    return decide(gather(X_p, X_u, X_v, seed))


def decide(evidence: Evidence, table: pd.DataFrame | None = None) -> Assessment:
    """The answer by the evidence and a robustness map; by default the packaged one."""
    alpha, later = evidence.alpha, evidence.incoming
    new = later is not None and later.new_negatives
    table = packaged() if table is None else table
    at = region(table, (alpha.low, alpha.high), evidence.n_u, "new" if new else "none")
    found, chance = leads(evidence, table)
    worth = tuple(_worth(family, at, found[family]) for family in FAMILIES)
    answer, advice = _answer(worth)
    components = min(MOST_VALUES, evidence.columns)
    method, params = question(advice, components)
    return Assessment(
        answer=answer,
        advice=advice,
        reasons=tuple(_reasons(worth, alpha, later, answer)),
        more_data=tuple(_more(worth, evidence, answer)),
        shift_examined=later is not None,
        evidence=evidence,
        worth=worth,
        region=at.name,
        region_situations=at.n,
        new_expected=chance,
        base_worst=at.base_worst,
        recommended=Recommended(method=method, params=params, components=components),
    )


def _worth(family: Family, at: Region, lead: Lead) -> Worth:
    return Worth(
        family=family,
        method=question(family, MOST_VALUES)[0],
        map_auc=at.auc[family],
        map_lead=at.lead[family],
        map_spread=at.spread[family],
        lead=lead.mean,
        spread=lead.spread,
    )


def _leaders(worth: tuple[Worth, ...]) -> tuple[Worth, float, float, str]:
    """The first, its lead over the second, the spread of that, and the second's name."""
    first, second, *_ = sorted(worth, key=lambda one: one.lead, reverse=True)
    return first, first.lead - second.lead, float(np.hypot(first.spread, second.spread)), second.family


def _answer(worth: tuple[Worth, ...]) -> tuple[Answer, Family]:
    """The family that leads, if it does so clearly; PU-OC is advised where none does."""
    first, lead, spread, _ = _leaders(worth)
    families: dict[str, Family] = {family: family for family in FAMILIES}
    if lead < SURE * spread:
        return "cannot tell", "PU-OC"
    return families[first.family], families[first.family]


def _reasons(worth: tuple[Worth, ...], alpha: Alpha, later: Incoming | None, answer: Answer) -> list[str]:
    said = [f"U holds between {alpha.low:.0%} and {alpha.high:.1%} positives (95 % interval)"]
    if alpha.high < 1:
        said.append("this takes P for a random sample of the positives; otherwise U may only seem to hold negatives")
    if alpha.p_order < 1 - LEVEL:
        said.append("the first and the last labelled rows differ: labelling may not have been at random")
    if later is None:
        said.append("shift was not examined: no incoming rows were given")
    elif later.new_negatives:
        said.append("the incoming rows are no mixture of P and U: new negatives, or positives that changed")
    elif later.alpha_changed and (later.ratio_high is None or alpha.high >= 1):
        least = f"at least {later.ratio_low:.2g} times the share of negatives of U"
        said.append(f"the incoming rows have {least}; U has too few to tell whether they are of a new kind")
    elif later.alpha_changed:
        said.append(f"the incoming rows have {later.ratio:.2g} times the share of negatives of U, none of a new kind")
    else:
        said.append("the incoming rows may be a mixture of P and U: nothing new was found in them")
    first, lead, _, second = _leaders(worth)
    unsure = "; that is not enough to be sure" if answer == "cannot tell" else ""
    return [*said, f"{first.family} is expected {lead:.3f} of AUC above {second}{unsure}"]


def _more(worth: tuple[Worth, ...], evidence: Evidence, answer: Answer) -> list[str]:
    said, later = [], evidence.incoming
    if later is None:
        said.append("rows as they come in now (--incoming, 200 or more) would show whether there are new negatives")
    elif later.new_negatives:
        said.append("the incoming rows are unlabelled rows with those negatives: assess them as --unlabelled")
    if evidence.alpha.high >= 1:
        said.append("U may hold no negatives at all; unlabelled rows with more of them would help most")
    if answer == "cannot tell" and later is not None and later.new_negatives:
        said.append("labels of some incoming rows would settle the choice")
    elif answer == "cannot tell":
        _, lead, spread, _ = _leaders(worth)
        times = (SURE * spread / max(lead, 1e-3)) ** 2
        if times < _HOPELESS:
            said.append(f"about {max(times, 1.5):.2g} times as many rows of P and of U would settle the choice")
        else:
            said.append("the families are too close to be told apart by more rows like these")
    return said
