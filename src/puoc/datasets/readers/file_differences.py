"""Differences between two files, or folders of them, in how their rows were saved.

Each property is tested by Fisher's exact test (categories) or the Mann-Whitney test (numbers), and Benjamini and
Hochberg (1995) control the false discovery rate over all properties of a pair of files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

import numpy as np

from puoc.datasets.readers.containers import UNSEEN, layout_of, properties_of, usual_ends
from puoc.datasets.readers.images import RawPictures
from puoc.datasets.readers.options import How
from puoc.datasets.readers.picture_traces import ENLARGED, FRAME, JPEG_BLOCKS, usual_frames
from puoc.datasets.readers.texts import RawTexts
from puoc.datasets.readers.typography import UNSEEN_IN, accents
from puoc.datasets.readers.words import tokens_for
from puoc.records import Record

_LEVEL: Final = 0.01  # false discovery rate
_LEAST_SEEN, _LEAST_UNSEEN = 0.05, 0.5  # distance from which a difference is asked about, or stated
#: The same of texts, whose classes differ by themselves: .064 of the ham of SMS Spam has HTML entities, and no spam.
_LEAST_OF_TEXTS: Final = 0.2
#: The same of traces in pixels, which are estimated: classes of CIFAR-10 have those of JPEG in 1 % to 24 % of pictures.
_LEAST_OF_TRACES: Final = {ENLARGED: 0.4, JPEG_BLOCKS: 0.4}
_SHOWN = 3  # values of a property
_MOST_VALUES = 20  # numbers with more different values are not also compared value by value


class Difference(Record):
    """A property that differs between two files."""

    name: str
    seen: bool  # True if it leaves traces in the rows, so that a method can learn it
    here: str  # the values in either file, with their numbers of rows
    there: str
    p_value: float | None = None  # absent for a property of a whole file, which no test applies to
    distance: float  # 0 to 1: total variation of categories, |2 AUC - 1| of numbers

    def __str__(self) -> str:
        p = "" if self.p_value is None else f" (p = {self.p_value:.1g})"
        return f"{self.name}: {self.here}; and {self.there}{p}"


class FileDifferences(Record):
    """All properties in which two files differ, the largest distance first. ``model_dump`` gives the JSON form."""

    where: str
    other: str
    tested: int  # properties
    found: tuple[Difference, ...]

    @property
    def seen(self) -> tuple[Difference, ...]:
        """Return the differences that a method can learn."""
        return tuple(one for one in self.found if one.seen)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return a line on the differences that no method can see."""
        unseen = [str(one) for one in self.found if not one.seen]
        if not unseen:
            return ()
        return (
            f"{self.where} and {self.other} differ in what no method sees, as classes may too: {'; '.join(unseen)}",
        )

    def mark(self) -> str:
        """Return the warning on a model or table that was made in spite of the differences."""
        return f"file differences allowed: {', '.join(one.name for one in self.seen)} of {self.where} and {self.other}"


class DoubtfulFiles(ValueError):  # noqa: N818 - names the files
    """Raised with the differences between two files that a method can learn."""

    def __init__(self, differences: FileDifferences, advice: str):
        self.differences = differences
        lines = [
            f"{differences.where} and {differences.other} differ in how they were saved, and a method learns that in "
            "place of the class:",
            *(f"  {one}" for one in differences.seen),
            f"  {advice} If the class itself causes the difference, continue with --allow-file-differences, which adds "
            "a warning to the result",
        ]
        super().__init__("\n".join(lines))


_PICTURES = "Make all pictures from their originals in one way: one format, quality, mode and size."
_TEXTS = "Make both files from their source in one way."


def checked(rows: RawPictures | RawTexts, other: RawPictures | RawTexts, how: How) -> FileDifferences:
    """Return the differences between two files. Raises DoubtfulFiles for one that a method can learn."""
    differences = between(rows, other, how)
    if differences.seen and not how.allow_file_differences:
        raise DoubtfulFiles(differences, _PICTURES if isinstance(rows, RawPictures) else _TEXTS)
    return differences


def between(rows: RawPictures | RawTexts, other: RawPictures | RawTexts, how: How) -> FileDifferences:
    """Compare the properties of the rows of two files of one kind."""
    here, there = dict(properties_of(rows, how)), dict(properties_of(other, how))
    if isinstance(rows, RawTexts) and isinstance(other, RawTexts):
        for of_pair in (usual_ends(rows.texts, other.texts), accents(rows.texts, other.texts)):
            for found_here, found_there in zip((here, there), of_pair, strict=True):
                found_here |= found_there
    if FRAME in here and FRAME in there:
        for found_here, found_there in zip((here, there), usual_frames(here.pop(FRAME), there.pop(FRAME)), strict=True):
            found_here |= found_there
    compared = [_compared(name, values, there[name]) for name, values in here.items() if name in there]
    tested = [one for one in compared if one is not None]
    tested.sort(key=lambda one: one.p_value or 0.0)
    rank = max((i for i, one in enumerate(tested, 1) if (one.p_value or 0.0) <= _LEVEL * i / len(tested)), default=0)
    differing = tested[:rank]
    least = _LEAST_SEEN
    if isinstance(rows, RawTexts) and isinstance(other, RawTexts):
        least = _LEAST_OF_TEXTS
        differing = _seen_in_tokens(differing, [*rows.texts, *other.texts], how)
    found = [
        one
        for one in differing
        if one.distance >= (_LEAST_OF_TRACES.get(one.name, least) if one.seen else _LEAST_UNSEEN)
    ]
    names = {one.name for one in found if one.seen}
    said = {"pixels"} if "size" in names else set()
    if names - {*_LEAST_OF_TRACES, FRAME}:
        said |= {*_LEAST_OF_TRACES}  # the traces of what differs
    found = [one for one in found if one.name not in said]
    found.sort(key=lambda one: (not one.seen, -one.distance, one.name))
    if isinstance(rows, RawTexts) and isinstance(other, RawTexts):
        a, b = layout_of(rows, how), layout_of(other, how)
        found += [
            Difference(name=name, seen=False, here=a[name], there=b[name], distance=1.0)
            for name in a.keys() & b.keys()
            if a[name] != b[name]
        ]
    return FileDifferences(where=rows.where, other=other.where, tested=len(tested), found=tuple(found))


def _seen_in_tokens(differing: Sequence[Difference], texts: Sequence[str], how: How) -> list[Difference]:
    """Return the differences, and whether the tokens that the texts are split into have them."""
    if not any(one.name in names for one in differing for names in UNSEEN_IN.values()):
        return list(differing)
    unseen = UNSEEN_IN[how.tokens or tokens_for(texts)]
    return [one.model_copy(update={"seen": one.seen and one.name not in unseen}) for one in differing]


def _compared(name: str, a: Sequence[str | float | None], b: Sequence[str | float | None]) -> Difference | None:
    """Test one property; None if it applies to no row of a file or is the same everywhere."""
    here, there = ([value for value in values if value is not None] for values in (a, b))
    if not here or not there or len({*here, *there}) < 2:
        return None
    numbers = not isinstance(here[0], str)
    results = [_of_numbers(here, there)] if numbers else []
    if not numbers or len({*here, *there}) <= _MOST_VALUES:
        results.append(_of_categories(here, there))
    p, distance = min(results)
    return Difference(
        name=name,
        seen=name not in UNSEEN,
        here=_shown(name, here),
        there=_shown(name, there),
        p_value=min(1.0, p * len(results)),
        distance=distance,
    )


def _of_numbers(a: Sequence[str | float], b: Sequence[str | float]) -> tuple[float, float]:
    from scipy.stats import mannwhitneyu

    result = mannwhitneyu(np.array(a, dtype=np.float64), np.array(b, dtype=np.float64))
    return float(result.pvalue), float(abs(2 * result.statistic / (len(a) * len(b)) - 1))


def _of_categories(a: Sequence[str | float], b: Sequence[str | float]) -> tuple[float, float]:
    """Return the least p value of a value against all others, times their number, and the total variation."""
    from scipy.stats import fisher_exact

    here, there = Counter(a), Counter(b)
    shares = {value: (here[value] / len(a), there[value] / len(b)) for value in {*here, *there}}
    # the values with the largest differences have the least p values
    largest = sorted(shares, key=lambda value: -abs(shares[value][0] - shares[value][1]))[:_SHOWN]
    p = min(
        fisher_exact([[here[value], len(a) - here[value]], [there[value], len(b) - there[value]]]).pvalue
        for value in largest
    )
    counted = 1 if len(shares) == 2 else len(shares)
    return min(1.0, float(p) * counted), sum(abs(x - y) for x, y in shares.values()) / 2


def _shown(name: str, values: Sequence[str | float]) -> str:
    """Return the values with their numbers of rows, or the middle of many numbers."""
    n = len(values)
    if name == "time stamp":
        first, last = (date(1970, 1, 1) + timedelta(days=float(at(values))) for at in (min, max))
        return f"{first}" if first == last else f"{first} to {last}"
    if not isinstance(values[0], str) and len(set(values)) > _SHOWN:
        low, middle, high = np.quantile(np.array(values, dtype=np.float64), [0.05, 0.5, 0.95])
        return f"{middle:.4g} (90 % in {low:.4g} to {high:.4g}) in {n} rows"
    common = Counter(values).most_common(_SHOWN)
    rest = n - sum(count for _, count in common)
    parts = [f"{value if isinstance(value, str) else format(value, 'g')} in {count}" for value, count in common]
    return f"{', '.join(parts)}{f', others in {rest}' if rest else ''} of {n} rows"
