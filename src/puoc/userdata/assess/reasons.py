"""The reasons of an assessment in words: what the rows show, what the map adds, and what remains open."""

from __future__ import annotations

from typing import Final

from puoc.analysis.reliability.leads import packaged_leads
from puoc.analysis.reliability.robustness_map import ALPHAS, COLUMNS, LABELLED, SIZES, ShiftKind
from puoc.userdata.assess.evidence import LEVEL, Alpha, Evidence, Gained, Incoming
from puoc.userdata.assess.expected_auc import Expected, Standing
from puoc.userdata.assess.reference_methods import FAMILIES, Family

#: Mean regret of the advice outside of the map and number of situations, by what lies outside; see docs/reliability.md.
MEASURED: Final = {
    "alpha below": (0.004, 48),
    "labelled positives above": (0.008, 36),
    "values a row below": (0.050, 18),
    "values a row above": (0.031, 132),
}
INSIDE: Final = 0.024  # the same inside of the map, with as many unlabelled rows

TABLES: Final = 31  # and ten tasks, that the models of the leads were estimated on

_KINDS: Final[dict[ShiftKind, str]] = {
    "none": "if the rows to be scored have the negatives of U",
    "new": "if they have negatives of a new kind",
}


def to_one(chance: float) -> str:
    """Return odds as text, such as ``2.5 to 1``."""
    odd = min(chance / max(1 - chance, 1e-3), 100.0)
    return f"{odd:.1f} to 1" if odd < 100 else "100 to 1 or more"


def reasons(evidence: Evidence, found: Expected, advice: Family) -> tuple[str, ...]:
    """Return the answers by case, then a line for each finding, then what the rows show against the advice."""
    alpha, incoming = evidence.alpha, evidence.incoming
    lines = [_by_kind(kind, found) for kind in ("none", "new")]
    lines.append(_by_labelling(found))
    lines += _of_alpha(alpha)
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


def _of_alpha(alpha: Alpha) -> list[str]:
    """Return the guaranteed bound of the share of positives, then the intervals that assume more."""
    if alpha.high < 1:
        guaranteed = (
            f"guaranteed: U holds at most {_percent(alpha.high)} positives (97.5 %), if P is a random sample of the "
            "positives; otherwise, U may hold fewer negatives, or none"
        )
    else:
        guaranteed = "guaranteed: nothing; U may hold no negatives at all"
    low, high = packaged_leads()["random"].alpha_u.interval((alpha.low, alpha.high), LEVEL)
    return [
        guaranteed,
        f"if your rows are as those of the {TABLES} tables of the map: U holds {_percent(low)} to {_percent(high)} "
        "positives (95 % interval)",
        f"if also the best quarter of P scores above 98 in 100 negatives: at least {_percent(alpha.low)} (97.5 %)",
    ]


def _said(best: Standing) -> str:
    return (
        f"{best.first} is expected {best.over.mean:.3f} ± {best.over.spread:.3f} of AUC above {best.second}, at odds "
        f"of {to_one(best.above)}; its expected loss is {best.loss[best.first]:.3f}, and its chance to be the worst "
        f"family {best.worst[best.first]:.0%}"
    )


def _by_kind(kind: ShiftKind, found: Expected) -> str:
    chance = found.new if kind == "new" else 1 - found.new
    return f"{_KINDS[kind]} (taken as {chance:.0%} likely): {_said(found.by_kind[kind])}"


def _by_labelling(found: Expected) -> str:
    random, biased = found.by_labelling["random"], found.by_labelling["biased"]
    same = "the same family" if random.first == biased.first else f"{biased.first} instead of {random.first}"
    return (
        f"if P is no random sample of the positives, as where the clear or the doubtful cases are labelled first "
        f"(taken as {found.biased:.0%} likely; the rows cannot rule it out): {same}, with an expected loss of "
        f"{biased.loss[biased.first]:.3f} instead of {random.loss[random.first]:.3f}"
    )


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
    novel = found.by_kind["new"].lead
    ahead = novel[advice].mean - novel[family].mean
    if found.new > 0 and ahead > 0 and found.by_kind["none"].first != advice:
        why = f"new negatives are taken as {found.new:.0%} likely, and with them {advice} leads by {ahead:.3f}"
        return f"{line}; {advice} is advised all the same, because {why}: if you can rule them out, use {family}"
    why = "other tables show that gains on halves of so few rows, or with so few negatives, often turn"
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
