"""The reasons of an assessment in words: what the rows show, what the map adds, and what remains open."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from puoc.analysis.reliability.robustness_map import ALPHAS, COLUMNS, LABELLED, SIZES, ShiftKind
from puoc.userdata.assess.evidence import LEVEL, Evidence, Gained, Incoming
from puoc.userdata.assess.expected_auc import Expected, Lead
from puoc.userdata.assess.reference_methods import FAMILIES, Family

#: Mean regret of the advice outside of the map and number of situations, by what lies outside; see docs/reliability.md.
MEASURED: Final = {
    "alpha below": (0.004, 48),
    "labelled positives above": (0.008, 36),
    "values a row below": (0.050, 18),
    "values a row above": (0.031, 132),
}
INSIDE: Final = 0.024  # the same inside of the map, with as many unlabelled rows

SURE: Final = 0.7  # probability of an answer to be better than the next family, at least

_KINDS: Final[dict[ShiftKind, str]] = {"none": "without new negatives", "new": "with new negatives"}


def over(lead_of: dict[Family, Lead], first: Family, second: Family) -> Lead:
    """Return the lead of one family over another, from those over PU-OC, which are taken as independent."""
    one, other = lead_of[first], lead_of[second]
    return Lead(one.mean - other.mean, float(np.hypot(one.spread, other.spread)))


def odds(lead: Lead) -> float:
    """Return the probability that a lead is above 0, taken as normal."""
    from scipy.special import ndtr

    if lead.spread == 0:
        return 0.5 if lead.mean == 0 else float(lead.mean > 0)
    return float(ndtr(lead.mean / lead.spread))


class Ranked(NamedTuple):
    """The two families with the largest expected AUC, and the lead of the first over the second."""

    first: Family
    second: Family
    lead: Lead


def ranked(lead_of: dict[Family, Lead]) -> Ranked:
    """Return the families with the largest expected AUC, given the leads of all over PU-OC."""
    first, second, *_ = sorted(FAMILIES, key=lambda family: lead_of[family].mean, reverse=True)
    return Ranked(first, second, over(lead_of, first, second))


def to_one(chance: float) -> str:
    """Return odds as text, such as ``2.5 to 1``."""
    odd = min(chance / max(1 - chance, 1e-3), 100.0)
    return f"{odd:.1f} to 1" if odd < 100 else "100 to 1 or more"


def reasons(evidence: Evidence, found: Expected, advice: Family) -> tuple[str, ...]:
    """Return the answers by kind, then a line for each finding, then what the rows show against the advice."""
    alpha, incoming = evidence.alpha, evidence.incoming
    lines = [_by_kind(kind, found) for kind in ("none", "new")]
    lines.append(f"U holds between {_percent(alpha.low)} and {_percent(alpha.high)} positives (95 % interval)")
    if alpha.high < 1:
        lines.append(
            "this interval assumes that P is a random sample of all positives; otherwise, U may hold fewer negatives "
            "than the interval says, or none"
        )
    if alpha.p_order < 1 - LEVEL:
        lines.append("the first and the last labelled rows differ: labelling may not have been at random")
    lines.append(_of_incoming(incoming, alpha.high))
    lines += _against(evidence, found, advice)
    return tuple(lines)


def _percent(share: float) -> str:
    """Return a share in percent; all shares of a line have one digit."""
    return f"{share:.1%}"


def _of_incoming(incoming: Incoming | None, alpha_high: float) -> str:
    if incoming is None:
        return "shift was not examined: no incoming rows were given"
    if incoming.new_negatives:
        return "the incoming rows are no mixture of P and U: new negatives, or positives that changed"
    if incoming.alpha_changed and (incoming.ratio_high is None or alpha_high >= 1):
        least = f"at least {incoming.ratio_low:.2g} times the share of negatives of U"
        return f"the incoming rows have {least}; U has too few to tell whether they are of a new kind"
    if incoming.alpha_changed:
        return f"the incoming rows have {incoming.ratio:.2g} times the share of negatives of U, none of a new kind"
    return "the incoming rows may be a mixture of P and U: nothing new was found in them"


def _by_kind(kind: ShiftKind, found: Expected) -> str:
    one, chance = ranked(found.by_kind[kind]), found.new if kind == "new" else 1 - found.new
    lead = f"{one.first} is expected {one.lead.mean:.3f} ± {one.lead.spread:.3f} of AUC above {one.second}"
    answer = one.first if odds(one.lead) >= SURE else "cannot tell"
    return f"{_KINDS[kind]} (taken as {chance:.0%} likely), {lead}: {answer}, at odds of {to_one(odds(one.lead))}"


def _against(evidence: Evidence, found: Expected, advice: Family) -> list[str]:
    """Return a line for each family that the user's rows show to be better than the advised one, with the reason."""
    lines = []
    samples = [("U", evidence.gained)]
    samples += [] if evidence.incoming is None else [("the incoming rows", evidence.incoming.gained)]
    for name, gained in samples:
        by_family = dict(zip(FAMILIES, gained, strict=True))
        better = [family for family in FAMILIES if by_family[family].low > by_family[advice].high]
        lines += [_despite(name, family, by_family, found, advice) for family in better]
    return lines


def _despite(name: str, family: Family, by_family: dict[Family, Gained], found: Expected, advice: Family) -> str:
    gain = by_family[family].gain - by_family[advice].gain
    line = f"withheld rows of P against {name} show {family} {gain:.3f} of AUC above {advice}"
    if "PU-OC" in (family, advice):
        own = by_family[family if advice == "PU-OC" else advice]
        low, high = (own.low, own.high) if advice == "PU-OC" else (-own.high, -own.low)
        line += f" (95 % interval {low:.3f} to {high:.3f})"
    of_new = over(found.by_kind["new"], advice, family)
    if found.new > 0 and of_new.mean > 0 and over(found.by_kind["none"], advice, family).mean < 0:
        why = f"new negatives are taken as {found.new:.0%} likely, and with them {advice} leads by {of_new.mean:.3f}"
        return f"{line}; {advice} is advised all the same, because {why}: if you can rule them out, use {family}"
    why = "the situations of the map outweigh this gain, which was measured on halves of the rows"
    return f"{line}; {advice} is advised all the same, because {why}"


def outside_map(evidence: Evidence) -> tuple[str, ...]:
    """Describe in what the data lie outside of the situations of the map, and what that costs; empty if in nothing."""
    alpha, lines = evidence.alpha, []
    if (alpha.low + alpha.high) / 2 < ALPHAS[0]:
        share = f"the share of positives in U is {_percent(alpha.low)} to {_percent(alpha.high)}"
        lines.append(f"{share}, and the map has no situations below {_percent(ALPHAS[0])}. {_cost('alpha below')}")
    for what, got, (least, most) in (
        ("unlabelled rows", evidence.n_u, (SIZES[0], SIZES[-1])),
        ("labelled positives", evidence.n_p, LABELLED),
        ("values a row", evidence.columns, COLUMNS),
    ):
        if not least <= got <= most:
            side = "below" if got < least else "above"
            lines.append(
                f"the data have {got:,} {what}, and the situations of the map {least:,} to {most:,}. "
                f"{_cost(f'{what} {side}')}"
            )
    return tuple(lines)


def _cost(outside: str) -> str:
    if outside not in MEASURED:
        return "The quality of the advice outside of this range was not measured"
    regret, n = MEASURED[outside]
    return (
        f"In {n} measured situations outside of this range, the AUC of the advised family was {regret:.3f} below that "
        f"of the best one on average. Inside of the map, it was {INSIDE:.3f} below"
    )


def more_data(evidence: Evidence, unclear: bool) -> tuple[str, ...]:
    """Return which data would say more."""
    advice, incoming = [], evidence.incoming
    if incoming is None:
        advice.append("rows as they come in now (--incoming, 200 or more) would show whether there are new negatives")
    elif incoming.new_negatives:
        advice.append("the incoming rows are unlabelled rows with those negatives: assess them as --unlabelled")
    if evidence.alpha.high >= 1:
        advice.append("U may hold no negatives at all; unlabelled rows with more of them would help most")
    if unclear:
        advice.append(
            "label some incoming rows, positive and negative, to decide between the families. More rows of the same "
            "kind hardly help, because most of the uncertainty comes from differences between datasets"
        )
    return tuple(advice)
