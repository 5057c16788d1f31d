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
from typing import Final

from puoc.datasets.audit.facts import Facts
from puoc.datasets.audit.number_signs import alternating, cut_off, digits, filled
from puoc.datasets.audit.sign import GROUPS, NEVER, NO_CHANCE, NOTED, Crowd, Sign, of_auc, percent, stands_alone
from puoc.datasets.audit.spelling import pairs_of
from puoc.datasets.audit.two_groups import fisher_p
from puoc.store.counting import quoted

LEAST: Final = 20  # present values of each group from which a column is judged

_FILLED: Final = 0.05  # share of present values in one group, none in the other
_GAP: Final = 0.8  # difference of the shares of missing values
_NEARLY: Final = 0.95  # AUC of a column that nearly says the group, so that it is noted
_NEARLY_LOW: Final = 0.9  # lower end of its interval
_ALL: Final = 0.99  # AUC of a column that says the group, as a time or a number of a row does, or a copy of a label
_PURE: Final = 0.2  # share of another value in one group, if the other group has one value only
_ORDER: Final = 0.95  # rank correlation with the row of the file
_MISSING_NOTED: Final = 0.1
_SEVERAL: Final = 3  # columns that may stand alone together

_LABELS: Final = frozenset(
    {
        *("label", "labels", "labeled", "labelled", "target", "class", "klass", "y", "y true", "ground truth", "truth"),
        *("outcome", "positive", "is positive", "gold", "response", "s", "pu", "pu label", "is labeled", "is labelled"),
    }
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_]+")


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
    sure = told.q < NO_CHANCE
    for share, other, where, there in ((a, b, first, second), (b, a, second, first)):
        if other == 1 and 1 - share >= _FILLED and sure:
            filled = f"is empty in all {there} and filled in {percent(1 - share)} of the {where}"
            return [Sign("asked", f"{filled} ({of_auc(told)}): it was recorded for one file only")]
        if other == 0 and share >= NEVER and told.q < NO_CHANCE**1.5:
            empty = f"is empty in {percent(share)} of the {where} and in none of the {there}"
            return [Sign("asked", f"{empty} ({of_auc(told)}): it was filled in one file only")]
    shares = f"is empty in {percent(a)} of the {first} and in {percent(b)} of the {second} ({of_auc(told)})"
    if abs(a - b) >= _GAP:
        return [Sign("asked", f"{shares}: whether it is filled nearly says which file a row is from")]
    return [Sign("noted", shares)] if abs(a - b) >= _MISSING_NOTED and told.q < 0.01 else []


def _of_file(facts: Facts, crowd: Crowd) -> list[Sign]:
    """Return signs that only a file gives, of columns with enough values."""
    if min(facts.present) < LEAST:
        return []
    found = [*_categories(facts), *(filled(facts) or cut_off(facts)), *digits(facts, crowd), *_order(facts)]
    return found or alternating(facts)


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
        if fisher_p(round(mark[1] * n), n, 0, facts.present[1 - at]) > NO_CHANCE:
            continue
        if other.missing >= _FILLED * other.n or facts.marks[1 - at] is not None:
            share = f"is {quoted(mark[0])} in {percent(mark[1])} of the {where} and in none of the {there}"
            return f"{share}, as a mark for a missing value of one file"
    return ""


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
    weak = stands_alone(facts, crowd) and alone_with <= _SEVERAL
    others = f"while no other column says half as much ({of_auc(told)})"
    if one_sided(facts):
        text = _one_value(facts)
        if weak or named_as_label(facts.name):
            return [Sign("asked", f"{text}, as a copy of a label is, {others if weak else 'and is named as one'}")]
        return [Sign("noted", f"{text} ({of_auc(told)})")]
    if nearly_says(facts):
        text = f"nearly says by its values which rows are {first}"
        if (weak and told.says >= _ALL) or named_as_label(facts.name):
            return [Sign("asked", f"{text}, {others if weak else 'and is named as a label'}")]
        return [Sign("noted", f"{text} ({of_auc(told)}), as other columns may do together")]
    if weak and told.says_low >= NOTED:
        alone = f"separates {first} from {second} by itself ({of_auc(told)}), and no other column half as well"
        return [Sign("noted", alone)]
    return []


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
    return f"is {quoted(pure.usual)} in all {where} and another value in {percent(_pure_share(facts))} of the {there}"


def suspected(all_facts: Sequence[Facts]) -> list[bool]:
    """Return for each column whether it nearly says the group or is one-sided, so that it is no measure for others."""
    return [nearly_says(facts) or one_sided(facts) or copies_label(facts) for facts in all_facts]
