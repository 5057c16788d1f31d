"""Categories that two files spell differently, and texts that stand for a missing value."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from typing import Final

_SHORTEST: Final = 5  # characters of a category that is cut off

#: Texts for a missing value that readers do not take for one.
MARKS: Final = frozenset(
    {
        *("unknown", "unk", "unbekannt", "inconnu", "missing", "not available", "notavailable", "not known", "no data"),
        *("nodata", "n.a.", "n.a", "n a", "n.d.", "nd", "not specified", "unspecified", "undefined", "not recorded"),
        *("not reported", "no answer", "-", "--", "?", ".", "*", "blank", "empty", "-1", "999", "-999", "9999"),
    }
)


def is_mark(value: str) -> bool:
    """Return True for a text such as unknown, n.a. or ?, which stands for a missing value."""
    return value.strip().casefold().replace("_", " ") in MARKS


def pairs_of(first: Collection[str], second: Collection[str]) -> list[tuple[str, str]]:
    """Return categories of the first file alone, each with its other spelling, which the second file alone has.

    A spelling may differ in case, blanks, marks, accents, leading zeros, decimals of a whole number, or the encoding
    of its letters; or one file cuts all categories off at one length.
    """
    of_first, of_second = ({plain(value): value for value in sorted(values)} for values in (first, second))
    both = sorted(of_first.keys() & of_second.keys())
    found = [(of_first[key], of_second[key]) for key in both if key]
    return found or list(_cut(first, second)) or [(b, a) for a, b in _cut(second, first)]


def plain(value: str) -> str:
    """Return a category without what programs write differently."""
    for encoding in ("latin-1", "cp1252"):  # UTF-8 that was read as one of these
        try:
            value = value.encode(encoding).decode("utf-8")
            break
        except UnicodeError:
            continue
    letters = (c for c in unicodedata.normalize("NFKD", value.casefold()) if not unicodedata.combining(c))
    return re.sub(r"(?<=\d)\.0+$|[\W_]+", "", "".join(letters)).lstrip("0")


def _cut(short: Collection[str], long: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield categories that are cut off at one length, with the whole ones."""
    length = max(map(len, short), default=0)
    if length < _SHORTEST:
        return
    for value in sorted(short):
        whole = [other for other in long if len(value.rstrip()) < len(other) and other.startswith(value)]
        if len(value) == length and len(whole) == 1:
            yield value, whole[0]
