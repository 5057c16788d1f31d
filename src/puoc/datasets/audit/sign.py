"""A sign that a column says which file a row is from, and how its text names groups and numbers."""

from __future__ import annotations

from typing import Final, NamedTuple

from puoc.datasets.audit.facts import Facts
from puoc.datasets.audit.result import Told, Verdict

NEVER: Final = 0.1  # share of missing values in one group, none in the other
NO_CHANCE: Final = 1e-4  # adjusted p-value of shares that no sampling explains
NOTED: Final = 0.75  # AUC of a column that is noted if it stands alone

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


def stands_alone(facts: Facts, crowd: Crowd) -> bool:
    """Return True if no other column says half as much by its values."""
    told = facts.told.get("values")
    return told is not None and crowd.columns > 0 and crowd.most <= 0.5 + (told.says - 0.5) / 2


def percent(share: float) -> str:
    """Return a share as a percentage, with one digit below 1 %."""
    hundred = 100 * share
    return f"{hundred:.0f} %" if hundred >= 1 or hundred == 0 else f"{hundred:.1g} %"


def of_auc(told: Told) -> str:
    """Return the AUC of a comparison in words."""
    return f"AUC {told.says:.3f}"
