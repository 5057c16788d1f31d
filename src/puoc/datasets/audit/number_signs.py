"""Signs of columns of numbers: filled in, in two units, rounded, or with no frequent value in common."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from puoc.datasets.audit.facts import Facts
from puoc.datasets.audit.numbers import coarser, part_in_other_unit, unit_between
from puoc.datasets.audit.sign import GROUPS, NEVER, NO_CHANCE, NOTED, Crowd, Sign, of_auc, percent, stands_alone
from puoc.datasets.audit.two_groups import fisher_p

_GRID: Final = 0.5  # share of the places of a grid that are taken
_TURNS: Final = 4  # times that values of both groups alternate by size
_FEWEST_ROUNDED: Final = 4  # different values of a column that is rounded


def filled(facts: Facts) -> list[Sign]:
    """Return signs of a value that seems to be filled in."""
    found = []
    for spike, where, there in zip(facts.spikes, GROUPS[facts.sides], GROUPS[facts.sides][::-1], strict=True):
        if spike is not None:
            rate = f"is {spike.value:.10g} in {percent(spike.share)} of the {where} and in {percent(spike.other)}"
            how = "" if spike.inside else ", as a mark for a missing value"
            found.append(Sign("asked", f"{rate} of the {there}: the value seems to be filled in{how}"))
    return found or _filled_for_missing(facts)


def _filled_for_missing(facts: Facts) -> list[Sign]:
    """Return a sign if a value, such as zero, is as frequent in one group as missing values are in the other one."""
    sides = (facts.first, facts.second)
    for at, (where, there) in enumerate(zip(GROUPS[facts.sides], GROUPS[facts.sides][::-1], strict=True)):
        full, other, in_other = sides[at], sides[1 - at], facts.usual_in_other[at]
        if facts.read_as != "number" or full.missing or other.missing < NEVER * other.n or full.distinct < 10:
            continue
        count, n = round(full.usual_share * full.n), facts.present[1 - at]
        rarely = in_other * 10 <= full.usual_share
        by_chance = fisher_p(count, full.n, round(in_other * n), n) * fisher_p(other.missing, other.n, 0, full.n)
        if full.usual_share >= NEVER / 2 and rarely and by_chance < NO_CHANCE**1.5:
            filled = f"is {full.usual} in {percent(full.usual_share)} of the {where}, where {there} lack"
            return [
                Sign("asked", f"{filled} {percent(other.missing / other.n)} of the values: it seems to be filled in")
            ]
    return []


def cut_off(facts: Facts) -> list[Sign]:
    """Return a sign for each limit at which one group is cut off and the other one is not."""
    found = []
    for cut, where, there in zip(facts.limits, GROUPS[facts.sides], GROUPS[facts.sides][::-1], strict=True):
        for limit in cut:
            end, side = ("largest", "above") if limit.upper else ("smallest", "below")
            at = (
                f"is cut off at {limit.value:.10g} in the {where}: {percent(limit.share)} of them have this {end} value"
            )
            found.append(Sign("asked", f"{at}, and {percent(limit.beyond)} of the {there} are {side} it"))
    return found


def digits(facts: Facts, crowd: Crowd) -> list[Sign]:
    """Return a sign of two units, of rounding, or of other numbers of digits."""
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
                f"has values in two units in the {where}: {percent(part.share)} are larger by a factor of {part.text}"
            )
            return [Sign("asked", f"{text}, and hardly any in the {there} is so large")]
    if unit := unit_between(*facts.sorted):
        text = f"differs between the files by a factor of {unit.text}: it seems to have two units"
        return [Sign("asked" if unit.by_digits or stands_alone(facts, crowd) else "noted", text)]
    if coarse := _coarse(facts):
        return coarse
    told = facts.told.get("precision")
    values = facts.told.get("values")
    if told is not None and values is not None and told.says_low > max(NOTED, values.says):
        return [Sign("noted", f"has other numbers of digits in both files ({of_auc(told)})")]
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


def _fill_a_grid(values: Sequence[float]) -> bool:
    """Return True if different values take at least half of the places between them, at their smallest distance."""
    ordered = sorted(values)
    step = min(b - a for a, b in pairwise(ordered))
    return len(ordered) >= _GRID * (1 + (ordered[-1] - ordered[0]) / step)


def alternating(facts: Facts) -> list[Sign]:
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


def _places(finest: int) -> str:
    if finest > 0:
        return f"{finest} {'digit' if finest == 1 else 'digits'} after the point"
    return "whole numbers" if finest == 0 else f"multiples of {10**-finest}"
