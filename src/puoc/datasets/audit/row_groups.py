"""Names of the groups of rows that an audit compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Group = Literal["P", "U", "test", "incoming"]

#: Groups of rows in a sentence.
WORDS: Final[Mapping[Group, str]] = {
    "P": "the labelled positives",
    "U": "the unlabelled rows",
    "test": "the test rows",
    "incoming": "the incoming rows",
}
SHORT: Final[Mapping[Group, str]] = {"P": "P", "U": "U", "test": "the test", "incoming": "the incoming rows"}
