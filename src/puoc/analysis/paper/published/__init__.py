"""The paper's numbers, settings and claims, as it prints them (Bagirov, Ivanov and Shpilman).

There is one csv file per result table, with one row per number; ``table`` is the label in the paper's source. Two
figures print AUCs in their captions (``synth1``, ``synth2``). ``protocol.csv`` lists the data and the numbers of rows
of each table, ``settings.csv`` the hyperparameters of the appendix by our names, and ``claims.csv`` the claims of the
text (see ``puoc.analysis.paper.claims``).

pandas is imported by the functions that return frames, because a plan asks for the names of columns alone.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AVERAGE_COLUMN",
    "CAPTIONS",
    "REPETITIONS",
    "RESULT_TABLES",
    "TWINS",
    "UNPRINTED",
    "Claim",
    "PrintedNumber",
    "PrintedSetup",
    "all_claims",
    "columns",
    "methods",
    "numbers",
    "protocol",
    "read",
    "scored_on",
    "settings",
]

#: The paper's result tables, by the names of our files.
RESULT_TABLES = (
    *("ova", "shift", "bird_shift", "shift_mecha", "shift_anima", "cntrs", "cntrs2", "abnormal", "lstm", "twitter"),
    *("pu_sotas", "oc_ova"),
)
#: Figures whose captions print AUCs.
CAPTIONS = ("synth1", "synth2")
#: Subjects of the text without a readable number: curves over alpha and over |U|, and the property that a PU-OC method
#: equals its OC twin if U has no negatives.
UNPRINTED = ("unl_alpha", "unl_size", "collapse")

#: Column of class averages.
AVERAGE_COLUMN = "avg"
#: PU-OC methods and the OC methods that they extend, if a printed table has both.
TWINS = {"pu_svm": "oc_svm", "pu_csi": "csi", "pu_drocc": "drocc", "pu_cnn": "oc_cnn", "pu_lstm": "oc_lstm"}
#: Number of repetitions over which the paper averages.
REPETITIONS = 10

_MIN_DIGITS = 2  # in a row of two digits, 0.5 means 0.50


@dataclass(frozen=True)
class PrintedNumber:
    """One number of a printed table."""

    published: str  # the table, by our name
    table: str  # the table, by the paper's label
    row: str  # as printed
    method: str  # our id
    column: str  # named like our cells
    printed: str
    value: float
    rounding: float  # half a unit of the last digit
    underlined: bool
    bold: bool


@dataclass(frozen=True)
class PrintedSetup:
    """The setup of a printed column, as texts."""

    published: str
    column: str  # "*" for all columns of the table
    datasets: str  # our names, separated by |; empty if the data are not available
    n_pos_lab: str  # empty if not stated, as the next two
    n_pos_unl: str
    n_neg_unl: str
    scored_on: str  # training pool if a released script scores it, otherwise held out

    @property
    def sizes(self) -> dict[str, str]:
        """Return the numbers of rows of each kind, by the name of the column in our rows."""
        return {"n_pos_lab": self.n_pos_lab, "n_pos_unl": self.n_pos_unl, "n_neg_unl": self.n_neg_unl}


@dataclass(frozen=True)
class Claim:
    """One row of ``claims.csv``, as texts; see ``puoc.analysis.paper.claims``."""

    id: str
    place: str
    claim: str
    rule: str
    published: str
    first: str
    second: str
    columns: str
    need: str
    low: str
    high: str


def numbers(*names: str) -> pd.DataFrame:
    """Return every printed number of these tables (by default all result tables), in the paper's order.

    The columns are those of ``PrintedNumber``.

    Raises
    ------
    ValueError : there is no such table.
    """
    import pandas as pd

    return pd.concat([_numbers(name) for name in names or RESULT_TABLES], ignore_index=True)


def columns(name: str) -> list[str]:
    """Return the columns of a printed table, in order; see ``numbers``."""
    return _names(name, "column")


def methods(name: str) -> list[str]:
    """Return our ids of the methods in a printed table's rows, in order; see ``numbers``."""
    return _names(name, "method")


def protocol(published: str, column: str) -> PrintedSetup:
    """Return the setup of a printed column."""
    known = _protocols()
    return known.get((published, column)) or known[published, "*"]


@cache
def all_claims() -> list[Claim]:
    """Return the claims of the paper's text."""
    from puoc.analysis.tables.frames import rows_of

    return rows_of(read("claims"), Claim)


def settings(method: str) -> dict[str, dict[str, str]]:
    """Return the printed hyperparameters of the appendix, by setting.

    A setting is a positive class, ``vehicles``, ``abnormal``, or ``*``.
    """
    return _settings().get(method, {})


def scored_on(published: str, method: str, column: str) -> str:
    """Return which of our AUCs a printed number is compared with: ``training pool`` or ``held out``.

    Seven released scripts score the training rows. The script for DRPU, PAN and VPU scores test rows, as the text
    states for all methods. No script is released for Abnormal1001, sequences and Twitter, so the text is followed.
    """
    return "held out" if method in ("drpu", "pan", "vpu") else protocol(published, column).scored_on


def _check(name: str) -> None:
    known = (*RESULT_TABLES, *CAPTIONS)
    if name not in known:
        raise ValueError(f"the paper has no table {name!r}; expected one of {', '.join(known)}")


def _names(name: str, field: str) -> list[str]:
    """Return the values of a field of a printed table, each once, in the order of the file."""
    _check(name)
    with (files(__package__) / f"{name}.csv").open(encoding="utf-8") as file:
        return list(dict.fromkeys(row[field] for row in csv.DictReader(file)))


@cache
def _numbers(name: str) -> pd.DataFrame:
    _check(name)
    table = read(name)
    digits = table["printed"].str.partition(".")[2].str.len().clip(lower=_MIN_DIGITS)
    return table.assign(
        published=name,
        value=table["printed"].astype(float),
        rounding=0.5 * 10.0**-digits,
        underlined=table["underlined"] == "true",
        bold=table["bold"] == "true",
    )


@cache
def _protocols() -> dict[tuple[str, str], PrintedSetup]:
    from puoc.analysis.tables.frames import rows_of

    return {(row.published, row.column): row for row in rows_of(read("protocol"), PrintedSetup)}


@cache
def _settings() -> dict[str, dict[str, dict[str, str]]]:
    settings_by_method: dict[str, dict[str, dict[str, str]]] = {}
    for method, setting, parameter, printed in read("settings").itertuples(index=False):
        settings_by_method.setdefault(method, {}).setdefault(setting, {})[parameter] = printed
    return settings_by_method


@cache
def read(name: str) -> pd.DataFrame:
    """Read a packaged csv file. Every column is text; an empty cell is the empty text."""
    import pandas as pd

    with (files(__package__) / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype=str, keep_default_na=False)
