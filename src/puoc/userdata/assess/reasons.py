"""The reasons of an assessment in words: what the rows show, what other tables add, and what remains open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from puoc.analysis.reliability.leads import COLUMNS, LABELLED, LEAST_SHARE, UNLABELLED, Labelling
from puoc.analysis.reliability.robustness_map import ShiftKind
from puoc.userdata.assess.alpha_bounds import AlphaBounds, percent, whole
from puoc.userdata.assess.evidence import LEVEL, Evidence, Gained, Incoming
from puoc.userdata.assess.expected_auc import TIE, Expected, Standing
from puoc.userdata.assess.reference_methods import FAMILIES, Family

#: Mean regret of the advice outside of the situations of the model, number of situations, and what was measured there,
#: by what lies outside; see docs/reliability.md.
MEASURED: Final = {
    "alpha below": (0.001, 24, "2.0 % positives in U"),
    "labelled positives above": (0.011, 36, "800 labelled positives"),
    "values in each row below": (0.025, 18, "1 value in each row"),
    "values in each row above": (0.029, 132, "1,280 values in each row"),
}

LARGEST_LOSS: Final = 0.02  # expected AUC of the best family minus that of an answer, at most
WORST: Final = 0.01  # chance of an answer to be the worst family, below this for each labelling of ``_LABELLINGS``
SURE: Final = 0.7  # chance of an answer to be better than the next family, at least

_KINDS: Final[dict[ShiftKind, str]] = {
    "none": "if the rows to be scored have the negatives of U",
    "new": "if they have negatives of a new kind",
}
_LABELLINGS: Final[dict[Labelling, str]] = {
    "random": "P is a random sample of the positives",
    "biased": "P is none",
}


def to_one(chance: float) -> str:
    """Return odds as text, such as ``2.5 to 1``, and ``1 to 2.5`` if the chance is below a half."""
    if chance < 0.5:
        than, one = to_one(1 - chance).split(" to 1", 1)
        return f"1 to {than}{one}"
    odd = min(chance / max(1 - chance, 1e-3), 100.0)
    return f"{odd:.1f} to 1" if odd < 100 else "100 to 1 or more"


def unmet(best: Standing, by_labelling: Mapping[Labelling, Standing]) -> tuple[str, ...]:
    """Return what the first family lacks to be the answer; empty if it is the answer.

    The probability to be the worst family must be small for each kind of labelling, since no rows can show which one
    the labels have. Mixed by the probabilities of both kinds, it was too small on tables that the model had not seen.

    Parameters
    ----------
    by_labelling : the standings if P is a random sample of the positives, and if it is none.
    """
    loss, found = best.loss[best.first], []
    if loss > LARGEST_LOSS:
        found.append(f"its expected loss ({loss:.3f}) is above {LARGEST_LOSS:g}")
    worst = {name: by_labelling[name].worst[best.first] for name in _LABELLINGS}
    if above := [f"{percent(worst[name])} if {said}" for name, said in _LABELLINGS.items() if worst[name] >= WORST]:
        found.append(f"its probability to be the worst family ({', and '.join(above)}) is not below {whole(WORST)}")
    if best.above < SURE:
        found.append(f"its odds ({to_one(best.above)}) are below {to_one(SURE)}")
    return tuple(found)


def reasons(evidence: Evidence, found: Expected, advice: Family) -> tuple[str, ...]:
    """Return the answers by case, then a line for each finding, then what the rows show against the advice."""
    alpha, incoming = evidence.alpha, evidence.incoming
    lines = [_by_kind(kind, found) for kind in ("none", "new")]
    lines.append(_by_labelling(found))
    if lacks := unmet(found.all, found.by_labelling):
        lines.append(f"{found.all.first} is not sure enough for an answer: {', and '.join(lacks)}")
    lines += _preferred(found.all)
    lines += AlphaBounds.of(alpha).lines()
    if alpha.p_order < 1 - LEVEL:
        lines.append("the first and the last labelled rows differ: labelling may not have been at random")
    lines.append(_of_incoming(incoming, alpha.high))
    lines += _against(evidence, found, advice)
    return tuple(lines)


def _of_incoming(incoming: Incoming | None, alpha_high: float) -> str:
    if incoming is None:
        return "shift was not examined: no incoming rows were given; --new-negatives says how likely new negatives are"
    if incoming.new_negatives:
        return "the incoming rows are no mixture of P and U: new negatives, or positives that changed"
    if incoming.alpha_changed and (incoming.ratio_high is None or alpha_high >= 1):
        least = f"at least {incoming.ratio_low:.2g} times the share of negatives of U"
        return f"the incoming rows have {least}; U has too few to tell whether they are of a new kind"
    if incoming.alpha_changed:
        return f"the incoming rows have {incoming.ratio:.2g} times the share of negatives of U, none of a new kind"
    return "the incoming rows may be a mixture of P and U: nothing new was found in them"


def _preferred(best: Standing) -> list[str]:
    """Return why the first family comes first, if it is not the one with the smallest expected loss."""
    least = min(FAMILIES, key=lambda family: best.loss[family])
    if best.loss[best.first] <= best.loss[least]:
        return []
    return [
        f"{best.first} comes first because U may hold no negatives at all, and its expected loss is at most {TIE:g} "
        f"above the smallest one ({best.loss[least]:.3f}, of {least})"
    ]


def signed(value: float) -> str:
    """Return three digits of a difference; zero has no sign."""
    return f"{round(value, 3) + 0.0:.3f}"


def _said(best: Standing) -> str:
    return (
        f"{best.first} is expected {signed(best.over.mean)} ± {best.over.spread:.3f} of AUC above {best.second}, at "
        f"odds of {to_one(best.above)}; its expected loss is {best.loss[best.first]:.3f}, and its probability to be "
        f"the worst family {whole(best.worst[best.first])}"
    )


def _by_kind(kind: ShiftKind, found: Expected) -> str:
    chance = found.new if kind == "new" else 1 - found.new
    return f"{_KINDS[kind]} (taken as {whole(chance)} likely): {_said(found.by_kind[kind])}"


def _by_labelling(found: Expected) -> str:
    random, biased = found.by_labelling["random"], found.by_labelling["biased"]
    same = "the same family" if random.first == biased.first else f"{biased.first} instead of {random.first}"
    return (
        f"if P is no random sample of the positives, as where the clear or the doubtful cases are labelled first "
        f"(taken as {whole(found.biased)} likely; the rows cannot rule it out): {same}, with an expected loss of "
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
        why = f"new negatives are taken as {whole(found.new)} likely, and with them {advice} leads by {ahead:.3f}"
        return f"{line}; {advice} is advised all the same, because {why}: if you can rule them out, use {family}"
    why = "on the tables that the model was estimated on, such gains often did not hold for new rows"
    return f"{line}; {advice} is advised all the same, because {why}"


def outside_map(evidence: Evidence) -> tuple[str, ...]:
    """Describe in what the data lie outside of the situations of the model, and what that costs; empty if nowhere."""
    alpha, lines = evidence.alpha, []
    if (alpha.low + alpha.high) / 2 < LEAST_SHARE:
        lines.append(
            f"U holds at most {percent(alpha.high)} positives, and the model was estimated on situations with at least "
            f"{percent(LEAST_SHARE)}. {_cost('alpha below')}"
        )
    for what, got, (least, most), counts in (
        ("unlabelled rows", evidence.n_u, UNLABELLED, True),
        ("labelled positives", evidence.n_p, LABELLED, True),
        ("values in each row", evidence.columns, COLUMNS, False),
    ):
        if not least <= got <= most:
            side, end = ("below", least) if got < least else ("above", most)
            name = what.replace("values", "value") if got == 1 else what
            taken = f" It takes the data as if they had {end:,}." if counts else ""
            lines.append(
                f"the data have {got:,} {name}, and the model was estimated on situations with {least:,} to {most:,}."
                f"{taken} {_cost(f'{what} {side}')}"
            )
    return tuple(lines)


def _cost(outside: str) -> str:
    if outside not in MEASURED:
        return "The quality of the advice outside of this range was not measured"
    regret, n, where = MEASURED[outside]
    return (
        f"In {n} measured situations with {where}, the AUC of the advised family was {regret:.3f} below that of the "
        "best one on average"
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
