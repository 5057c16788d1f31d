"""Result of an audit of columns, with a JSON form that a page can draw."""

from __future__ import annotations

from typing import Final, Literal

from puoc.datasets.audit.kin import Kin
from puoc.records import Record

#: What of a column is compared between two groups of rows.
Property = Literal["values", "missing", "file order", "precision", "unit", "length"]
#: Groups of rows: P against U, the positives of the test file against its negatives, or U against incoming rows.
Sides = Literal["P and U", "test labels", "U and incoming"]
#: Asked: only a file does this, so nothing is fitted before the user decides. Noted: a warning. Shown: a class may
#: differ so.
Verdict = Literal["asked", "noted", "shown"]

_REMARKS: Final = 5
_ORDER: Final = ("asked", "noted", "shown")


class Told(Record):
    """What one property of a column says about the side of a row."""

    property: Property
    sides: Sides
    auc: float  # of the first group against the second one; above .5: larger values in the first group
    low: float  # 95 % interval (Newcombe, 2006)
    high: float
    says: float  # .5 to 1: the AUC of the best direction or single threshold; of categories, cross-fitted
    says_low: float  # lower end of its interval, at least .5
    says_high: float  # upper end of its interval
    p: float  # two-sample p-value
    q: float = 1.0  # the same, adjusted over all columns and properties (Benjamini and Hochberg, 1995)


class Histogram(Record):
    """Shares of two groups of rows in the bins of a column. Missing values are in no bin."""

    edges: tuple[float, ...] = ()  # of a column of numbers: one more than bins; the outer bins hold the values beyond
    labels: tuple[str, ...] = ()  # of categories: the most frequent ones, then "other" if there are more
    first: tuple[float, ...]  # P, or the test positives: shares of the present values
    second: tuple[float, ...]  # U, or the test negatives


class ColumnAudit(Record):
    """What a column says about the side of a row."""

    name: str
    read_as: Literal["number", "category"]
    verdict: Verdict = "shown"
    reasons: tuple[str, ...] = ()  # sentences; empty if the column is shown only
    missing_p: float  # share of missing values
    missing_u: float
    told: tuple[Told, ...]
    histogram: Histogram | None = None  # of P and U

    @property
    def most(self) -> Told | None:
        """Return the property that says most; None if too few values are present.

        A comparison with incoming rows counts only if there is no other one, since no method makes it.
        """
        return max(self.told, key=lambda told: (told.sides != "U and incoming", told.says_low, told.says), default=None)


class Audited(Record):
    """Audit of all columns, those in doubt first, then by how much they say."""

    n_p: int
    n_u: int
    n_test: tuple[int, int] | None = None  # positives and negatives of the test file
    tests: int  # comparisons among which false discoveries are controlled
    columns: tuple[ColumnAudit, ...]
    notes: tuple[str, ...] = ()  # values of ids that stand on two sides
    kin: Kin | None = None  # copies of rows, groups on both sides, times

    def of(self, verdict: Verdict) -> tuple[ColumnAudit, ...]:
        """Return the columns with a verdict."""
        return tuple(column for column in self.columns if column.verdict == verdict)

    def remarks(self) -> list[str]:
        """Return a line on each column that is noted, and on the number of further ones."""
        noted = self.of("noted")
        lines = [f"column {column.name!r} {'; it '.join(column.reasons)}" for column in noted[:_REMARKS]]
        return lines + ([f"{len(noted) - _REMARKS} further columns are noted"] if len(noted) > _REMARKS else [])


def ranked(columns: list[ColumnAudit]) -> tuple[ColumnAudit, ...]:
    """Return columns in doubt first, each kind by how much it says."""
    return tuple(sorted(columns, key=_place))


def _place(column: ColumnAudit) -> tuple[int, float, float]:
    most = column.most
    return (_ORDER.index(column.verdict), *((-most.says_low, -most.says) if most else (0.0, 0.0)))
