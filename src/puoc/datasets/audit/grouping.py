"""Columns that group rows, such as those of one person, device or day, and their values that stand on both sides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from puoc.datasets.audit.row_groups import WORDS, Group
from puoc.records import Record

_REPEATS: Final = 2.0  # rows of one value on average, from which a column groups the rows
_MANY: Final = 20  # values from which a column of texts groups the rows

_NAME_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_]+")
_UNITS_OF_ROWS = frozenset(
    {
        *("patient", "person", "subject", "participant", "user", "customer", "client", "member", "employee", "student"),
        *("household", "family", "animal", "owner", "author", "writer", "speaker", "rater", "annotator", "account"),
        *("device", "machine", "sensor", "camera", "scanner", "phone", "vehicle", "host", "plate", "batch", "lot"),
        *("run", "session", "visit", "site", "station", "hospital", "clinic", "lab", "store", "shop", "merchant"),
        *("school", "day", "week", "date", "video", "recording", "document", "domain", "group", "cluster", "fold"),
    }
)


class SharedValues(Record):
    """Values of a column, such as persons or devices, that stand in two groups of rows."""

    column: str
    first: Group
    second: Group
    values_first: int  # different ones
    values_second: int
    shared: int
    rows_first: int  # rows with a shared value
    rows_second: int

    def __str__(self) -> str:
        both = f"{self.shared} of {self.values_first} values in {WORDS[self.first]} are in {WORDS[self.second]} too"
        return f"column {self.column!r}: {both}; rows of one person or device may be on both sides"


def may_group(name: str, kind: str) -> bool:
    """Return True if a column may group the rows: it is one of texts, or has a name such as patient or device."""
    return kind == "category" or _is_named(name)


def groups_rows(name: str, kind: str, distinct: int, present: int) -> bool:
    """Return True if a column may say which rows belong together, as those of one person, device or day do.

    Its values repeat, and it has a name such as patient or device, or is a column of many texts.
    """
    if distinct < 2 or present < _REPEATS * distinct:
        return False
    return _is_named(name) or (kind == "category" and distinct >= _MANY)


def _is_named(name: str) -> bool:
    return any(word.casefold() in _UNITS_OF_ROWS for word in _NAME_WORDS.findall(name))


def shared_values(
    column: str, values: Mapping[Group, Mapping[str, int]], pairs: Sequence[tuple[Group, Group]] = ()
) -> list[SharedValues]:
    """Return for each two groups how many values of a column stand in both; none if no value does.

    Parameters
    ----------
    values : of each group, the rows of each value.
    """
    found = []
    for first, second in pairs or combinations(values, 2):
        both = values[first].keys() & values[second].keys()
        if both:
            found.append(
                SharedValues(
                    column=column,
                    first=first,
                    second=second,
                    values_first=len(values[first]),
                    values_second=len(values[second]),
                    shared=len(both),
                    rows_first=sum(values[first][value] for value in both),
                    rows_second=sum(values[second][value] for value in both),
                )
            )
    return found
