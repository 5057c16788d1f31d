"""Signs that a column says which file a row is from, apart from what a class difference may look like.

A column is asked about if only a file does what it does: it is filled in one group alone; the two groups have no
category in common; one is rounded and the other is not; they have different units; one value is filled in; or it
follows the order of the rows.

Values alone decide less. A class can differ from the unlabelled rows in any way, even without overlap, if U holds
hardly any positives. But then other columns differ as well. A column that separates the groups nearly perfectly, or of
which P has one value only, is therefore asked about if it stands alone: all other columns say less than half as much.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from puoc.datasets.audit.facts import Facts
from puoc.datasets.audit.numbers import coarser, part_in_other_unit, unit_between
from puoc.datasets.audit.result import Told, Verdict
from puoc.datasets.audit.spelling import pairs_of
from puoc.datasets.audit.two_groups import fisher_p
from puoc.store.counting import quoted

LEAST: Final = 20  # present values of each group from which a column is judged

_FILLED: Final = 0.05  # share of present values in one group, none in the other
_NEVER: Final = 0.1  # share of missing values in one group, none in the other
_GAP: Final = 0.8  # difference of the shares of missing values
_NO_CHANCE: Final = 1e-4  # adjusted p-value of shares that no sampling explains
_GRID: Final = 0.5  # share of the places of a grid that are taken
_TURNS: Final = 4  # times that values of both groups alternate by size
_NEARLY: Final = 0.95  # AUC of a column that nearly says the group, so that it is noted
_NEARLY_LOW: Final = 0.9  # lower end of its interval
_ALL: Final = 0.99  # AUC of a column that says the group, as a time or a number of a row does, or a copy of a label
_PURE: Final = 0.2  # share of another value in one group, if the other group has one value only
_FEWEST_ROUNDED: Final = 4  # different values of a column that is rounded
_ORDER: Final = 0.95  # rank correlation with the row of the file
_NOTED: Final = 0.75  # AUC of a column that is noted if it stands alone
_MISSING_NOTED: Final = 0.1
_SEVERAL: Final = 3  # columns that may stand alone together

_LABELS: Final = frozenset(
    {
        *("label", "labels", "labeled", "labelled", "target", "class", "klass", "y", "y true", "ground truth", "truth"),
        *("outcome", "positive", "is positive", "gold", "response", "s", "pu", "pu label", "is labeled", "is labelled"),
    }
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_]+")

GROUPS: Final = {
    "P and U": ("labelled positives", "unlabelled rows"),
    "test labels": ("positive test rows", "negative test rows"),
    "U and incoming": ("unlabelled rows", "incoming rows"),
}


class Sign(NamedTuple):
    """A finding on a column, in a sentence that follows its name."""

    verdict: Verdict
    text: str


class Crowd(NamedTuple):
    """What the other columns say."""

    most: float  # the largest lower end of an interval of their AUC; .5 without other columns
    columns: int  # number of these columns


def named_as_label(name: str) -> bool:
    """Return True for a name such as label, target, class or y."""
    return " ".join(word.casefold() for word in _WORDS.findall(name)) in _LABELS


def nearly_says(facts: Facts) -> bool:
    """Return True if the values of a column separate the groups nearly perfectly."""
    told = facts.told.get("values")
    return told is not None and told.says >= _NEARLY and told.says_low >= _NEARLY_LOW


def one_sided(facts: Facts) -> bool:
    """Return True if one group has one value only, and the other one has two of which that is one."""
    return min(facts.present) >= LEAST and _pure_share(facts) >= _PURE


def copies_label(facts: Facts) -> bool:
    """Return True for a column with two values, one in each group."""
    return (
        min(facts.present) >= LEAST // 2
        and facts.first.distinct == facts.second.distinct == 1
        and facts.first.usual != facts.second.usual
    )


def signs(facts: Facts, crowd: Crowd, alone_with: int) -> list[Sign]:
    """Judge a column.

    Parameters
    ----------
    crowd : what those other columns say that are not suspected themselves.
    alone_with : number of columns that nearly say the group or are one-sided, this one included.
    """
    found = [] if facts.sides == "test labels" else [*_missing(facts), *_of_file(facts, crowd)]
    found += _values(facts, crowd, alone_with)
    if facts.sides == "U and incoming":  # new rows may differ, and no method compares them with U
        return [Sign("noted", sign.text) for sign in found]
    return found


def _missing(facts: Facts) -> list[Sign]:
    told = facts.told.get("missing")
    if told is None or min(facts.first.n, facts.second.n) < LEAST:
        return []
    first, second = GROUPS[facts.sides]
    a, b = facts.first.missing / facts.first.n, facts.second.missing / facts.second.n
    sure = told.q < _NO_CHANCE
    for share, other, where, there in ((a, b, first, second), (b, a, second, first)):
        if other == 1 and 1 - share >= _FILLED and sure:
            filled = f"is empty in all {there} and filled in {_percent(1 - share)} of the {where}"
            return [Sign("asked", f"{filled} ({_auc(told)}): it was recorded for one file only")]
        if other == 0 and share >= _NEVER and told.q < _NO_CHANCE**1.5:
            empty = f"is empty in {_percent(share)} of the {where} and in none of the {there}"
            return [Sign("asked", f"{empty} ({_auc(told)}): it was filled in one file only")]
    shares = f"is empty in {_percent(a)} of the {first} and in {_percent(b)} of the {second} ({_auc(told)})"
    if abs(a - b) >= _GAP:
        return [Sign("asked", f"{shares}: whether it is filled nearly says which file a row is from")]
    return [Sign("noted", shares)] if abs(a - b) >= _MISSING_NOTED and told.q < 0.01 else []


def _of_file(facts: Facts, crowd: Crowd) -> list[Sign]:
    """Return signs that only a file gives, of columns with enough values."""
    if min(facts.present) < LEAST:
        return []
    found = [*_categories(facts), *_filled(facts), *_digits(facts, crowd), *_order(facts)]
    return found or _alternating(facts)


def _categories(facts: Facts) -> list[Sign]:
    if facts.sets is None or max(facts.first.distinct, facts.second.distinct) < 2:
        return []
    if spelt := _spelling(facts):
        return [Sign("asked", spelt)]
    if marked := _marked(facts):
        return [Sign("asked", marked)]
    rare = any(n < 3 * side.distinct for n, side in zip(facts.present, (facts.first, facts.second), strict=True))
    if rare or max(facts.shared) > 0.02:
        return []
    p, u = facts.sets
    first, second = GROUPS[facts.sides]
    shown = [", ".join(quoted(value) for value in sorted(values)[:3]) for values in (p, u)]
    common = "no category" if not p & u else "hardly any category"
    return [Sign("asked", f"has {common} in common: {shown[0]} in the {first}, {shown[1]} in the {second}")]


def _fill_a_grid(values: Sequence[float]) -> bool:
    """Return True if different values take at least half of the places between them, at their smallest distance."""
    ordered = sorted(values)
    step = min(b - a for a, b in pairwise(ordered))
    return len(ordered) >= _GRID * (1 + (ordered[-1] - ordered[0]) / step)


def _alternating(facts: Facts) -> list[Sign]:
    """Return a sign of numbers that repeat, with no frequent value in both groups although both lie in one range.

    They must fill a grid, such as the days of a week. Numbers of rows that were copied repeat too, and fill none.
    """
    if facts.sorted is None or min(facts.first.distinct, facts.second.distinct) < 2:
        return []
    if any(n < 3 * side.distinct for n, side in zip(facts.present, (facts.first, facts.second), strict=True)):
        return []
    one, other = (sorted(set(values.tolist())) for values in facts.sorted)
    if not set(one).isdisjoint(other):
        return []
    of_first = [side for _, side in sorted([*((value, True) for value in one), *((value, False) for value in other)])]
    if sum(a != b for a, b in pairwise(of_first)) < _TURNS or not _fill_a_grid([*one, *other]):
        return []
    shown = [", ".join(f"{value:.6g}" for value in values[:3]) for values in (one, other)]
    first, second = GROUPS[facts.sides]
    apart = f"{shown[0]} in the {first}, {shown[1]} in the {second}"
    return [Sign("asked", f"has no frequent value in common, though they lie in one range: {apart}")]


def _spelling(facts: Facts) -> str:
    """Return a sentence if both groups spell a frequent category differently, each in one way."""
    assert facts.sets is not None, "a column of categories"
    p, u = facts.sets
    pairs = pairs_of(p - u, u - p)
    if not pairs or min(1 - share for share in facts.shared) < _FILLED:
        return ""
    first, second = GROUPS[facts.sides]
    shown = ", ".join(f"{quoted(one)} in the {first} is {quoted(other)} in the {second}" for one, other in pairs[:3])
    return f"is spelt differently in both files: {shown}"


def _marked(facts: Facts) -> str:
    """Return a sentence if one file alone has a text for a missing value, where the other one lacks values."""
    sides = (facts.first, facts.second)
    for at, (mark, where, there) in enumerate(
        zip(facts.marks, GROUPS[facts.sides], GROUPS[facts.sides][::-1], strict=True)
    ):
        if mark is None or mark[1] < _FILLED:
            continue
        n, other = facts.present[at], sides[1 - at]
        if fisher_p(round(mark[1] * n), n, 0, facts.present[1 - at]) > _NO_CHANCE:
            continue
        if other.missing >= _FILLED * other.n or facts.marks[1 - at] is not None:
            share = f"is {quoted(mark[0])} in {_percent(mark[1])} of the {where} and in none of the {there}"
            return f"{share}, as a mark for a missing value of one file"
    return ""


def _filled(facts: Facts) -> list[Sign]:
    found = []
    for spike, where, there in zip(facts.spikes, GROUPS[facts.sides], GROUPS[facts.sides][::-1], strict=True):
        if spike is not None:
            rate = f"is {spike.value:.10g} in {_percent(spike.share)} of the {where} and in {_percent(spike.other)}"
            how = "" if spike.inside else ", as a mark for a missing value"
            found.append(Sign("asked", f"{rate} of the {there}: the value seems to be filled in{how}"))
    return found or _filled_for_missing(facts)


def _filled_for_missing(facts: Facts) -> list[Sign]:
    """Return a sign if a value, such as zero, is as frequent in one group as missing values are in the other one."""
    sides = (facts.first, facts.second)
    for at, (where, there) in enumerate(zip(GROUPS[facts.sides], GROUPS[facts.sides][::-1], strict=True)):
        full, other, in_other = sides[at], sides[1 - at], facts.usual_in_other[at]
        if facts.read_as != "number" or full.missing or other.missing < _NEVER * other.n or full.distinct < 10:
            continue
        count, n = round(full.usual_share * full.n), facts.present[1 - at]
        rarely = in_other * 10 <= full.usual_share
        by_chance = fisher_p(count, full.n, round(in_other * n), n) * fisher_p(other.missing, other.n, 0, full.n)
        if full.usual_share >= _NEVER / 2 and rarely and by_chance < _NO_CHANCE**1.5:
            filled = f"is {full.usual} in {_percent(full.usual_share)} of the {where}, where {there} lack"
            return [
                Sign("asked", f"{filled} {_percent(other.missing / other.n)} of the values: it seems to be filled in")
            ]
    return []


def _digits(facts: Facts, crowd: Crowd) -> list[Sign]:
    if facts.digits is None or facts.sorted is None or max(facts.first.distinct, facts.second.distinct) < 10:
        return []
    if min(facts.first.distinct, facts.second.distinct) < 10:
        return _coarse(facts)
    for x, y, where, there in (
        (*facts.sorted, *GROUPS[facts.sides][::-1]),
        (*facts.sorted[::-1], *GROUPS[facts.sides]),
    ):
        if part := part_in_other_unit(x, y):
            text = (
                f"has values in two units in the {where}: {_percent(part.share)} are larger by a factor of {part.text}"
            )
            return [Sign("asked", f"{text}, and hardly any in the {there} is so large")]
    if unit := unit_between(*facts.sorted):
        text = f"differs between the files by a factor of {unit.text}: it seems to have two units"
        return [Sign("asked" if unit.by_digits or _stands_alone(facts, crowd) else "noted", text)]
    if coarse := _coarse(facts):
        return coarse
    told = facts.told.get("precision")
    values = facts.told.get("values")
    if told is not None and values is not None and told.says_low > max(_NOTED, values.says):
        return [Sign("noted", f"has other numbers of digits in both files ({_auc(told)})")]
    return []


def _coarse(facts: Facts) -> list[Sign]:
    """Return a sign if one group is rounded, at least to a few different values."""
    assert facts.digits is not None, "a column of numbers"
    if min(facts.first.distinct, facts.second.distinct) < _FEWEST_ROUNDED:
        return []
    a, b = facts.digits
    for fine, coarse, where, there in (
        (a, b, *GROUPS[facts.sides]),
        (b, a, *GROUPS[facts.sides][::-1]),
    ):
        if coarser(fine, coarse):
            rounded = f"is rounded to {_places(coarse.finest)} in the {there}, and has more digits in the {where}"
            return [Sign("asked", rounded)]
    return []


def _order(facts: Facts) -> list[Sign]:
    if abs(facts.order) < _ORDER or min(facts.first.distinct, facts.second.distinct) < LEAST:
        return []
    return [Sign("asked", f"follows the order of the rows (rank correlation {facts.order:.2f})")]


def _values(facts: Facts, crowd: Crowd, alone_with: int) -> list[Sign]:
    told = facts.told.get("values")
    first, second = GROUPS[facts.sides]
    a, b = facts.first, facts.second
    if copies_label(facts):
        return [
            Sign("asked", f"is {quoted(a.usual)} in all {first} and {quoted(b.usual)} in all {second}, as a label is")
        ]
    if told is None or min(facts.present) < LEAST:
        return []
    weak = _stands_alone(facts, crowd) and alone_with <= _SEVERAL
    others = f"while no other column says half as much ({_auc(told)})"
    if one_sided(facts):
        text = _one_value(facts)
        if weak or named_as_label(facts.name):
            return [Sign("asked", f"{text}, as a copy of a label is, {others if weak else 'and is named as one'}")]
        return [Sign("noted", f"{text} ({_auc(told)})")]
    if nearly_says(facts):
        text = f"nearly says by its values which rows are {first}"
        if (weak and told.says >= _ALL) or named_as_label(facts.name):
            return [Sign("asked", f"{text}, {others if weak else 'and is named as a label'}")]
        return [Sign("noted", f"{text} ({_auc(told)}), as other columns may do together")]
    if weak and told.says_low >= _NOTED:
        return [
            Sign("noted", f"tells {first} from {second} by itself ({_auc(told)}), and no other column half as well")
        ]
    return []


def _stands_alone(facts: Facts, crowd: Crowd) -> bool:
    """Return True if no other column says half as much by its values."""
    told = facts.told.get("values")
    return told is not None and crowd.columns > 0 and crowd.most <= 0.5 + (told.says - 0.5) / 2


def _pure_share(facts: Facts) -> float:
    """Return the share of the other value in a group, if the other group has one value and both have two together."""
    for pure, other in ((facts.first, facts.second), (facts.second, facts.first)):
        if pure.distinct == 1 and other.distinct == 2:
            return other.usual_share if other.usual != pure.usual else 1 - other.usual_share
    return 0.0


def _one_value(facts: Facts) -> str:
    first, second = GROUPS[facts.sides]
    pure = facts.first if facts.first.distinct == 1 else facts.second
    where, there = (first, second) if pure is facts.first else (second, first)
    return f"is {quoted(pure.usual)} in all {where} and another value in {_percent(_pure_share(facts))} of the {there}"


def suspected(all_facts: Sequence[Facts]) -> list[bool]:
    """Return for each column whether it nearly says the group or is one-sided, so that it is no measure for others."""
    return [nearly_says(facts) or one_sided(facts) or copies_label(facts) for facts in all_facts]


def _auc(told: Told) -> str:
    return f"AUC {told.says:.3f}"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 1 or percent == 0 else f"{percent:.1g} %"


def _places(finest: int) -> str:
    if finest > 0:
        return f"{finest} {'digit' if finest == 1 else 'digits'} after the point"
    return "whole numbers" if finest == 0 else f"multiples of {10**-finest}"
