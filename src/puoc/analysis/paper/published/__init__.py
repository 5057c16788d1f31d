"""The paper's numbers, settings and claims, as it prints them (Bagirov, Ivanov and Shpilman).

One csv a result table, one row a number; ``table`` is the label in the paper's source. Two figures print AUCs in their
captions (``synth1``, ``synth2``). ``protocol.csv`` says which data and how many rows a table was made with,
``settings.csv`` holds the appendix' hyperparameters by our names, ``claims.csv`` what the text says (``claim_parts``).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import pandas as pd

#: The paper's result tables, by the names of our files.
RESULT_TABLES = (
    *("ova", "shift", "bird_shift", "shift_mecha", "shift_anima", "cntrs", "cntrs2", "abnormal", "lstm", "twitter"),
    *("pu_sotas", "oc_ova"),
)
#: Figures whose captions print AUCs.
CAPTIONS = ("synth1", "synth2")
#: What the text speaks about without a number that could be read: curves over alpha and over |U|; the property that a
#: PU-OC method is its OC twin where U has no negatives.
UNPRINTED = ("unl_alpha", "unl_size", "collapse")

#: Column of class averages.
AVERAGE_COLUMN = "avg"
#: PU-OC methods and what they extend, as far as a printed table has both.
TWINS = {"pu_svm": "oc_svm", "pu_csi": "csi", "pu_drocc": "drocc", "pu_cnn": "oc_cnn", "pu_lstm": "oc_lstm"}
#: A number of the paper is a mean over so many repetitions.
REPETITIONS = 10

_LEAST_DIGITS = 2  # where a row of two digits prints 0.5, it stands for 0.50


def numbers(*names: str) -> pd.DataFrame:
    """Every printed number of these tables (all result tables where none is named), in the paper's order.

    Columns: ``published`` (our name), ``table`` (the paper's label), ``row`` (as printed), ``method`` (our id),
    ``column`` (named as our cells are), ``printed`` (text), ``value``, ``rounding`` (half a unit of the last digit),
    ``underlined``, ``bold``.

    Raises
    ------
    ValueError : there is no such table.
    """
    return pd.concat([_numbers(name) for name in names or RESULT_TABLES], ignore_index=True)


def columns(name: str) -> list[str]:
    """Columns of a printed table, in order; see ``numbers``."""
    return list(_numbers(name)["column"].unique())


def methods(name: str) -> list[str]:
    """Our ids of a printed table's rows, in order; see ``numbers``."""
    return list(_numbers(name)["method"].unique())


def protocol(published: str, column: str) -> dict[str, str]:
    """What a printed column was made with, as texts.

    ``datasets`` (our names, separated by |; empty: data that cannot be had), ``n_pos_lab``, ``n_pos_unl``,
    ``n_neg_unl`` (empty: not said), ``scored_on``: training pool where a released script scores it so, else held out.
    """
    known = _protocols()
    return known.get((published, column)) or known[published, "*"]


def settings(method: str) -> dict[str, dict[str, str]]:
    """The appendix' hyperparameters as printed, by setting (a positive class, ``vehicles``, ``abnormal``, or ``*``)."""
    return _settings().get(method, {})


def scored_on(published: str, method: str, column: str) -> str:
    """Which AUC of ours a printed number is compared with: ``training pool`` or ``held out``.

    Seven released scripts score the training rows; the one for DRPU, PAN and VPU scores test rows, as the text says all
    do. For Abnormal1001, sequences and Twitter no script is released, so the text is followed.
    """
    return "held out" if method in ("drpu", "pan", "vpu") else protocol(published, column)["scored_on"]


@cache
def _numbers(name: str) -> pd.DataFrame:
    known = (*RESULT_TABLES, *CAPTIONS)
    if name not in known:
        raise ValueError(f"the paper has no table {name!r}; one of {', '.join(known)} expected")
    table = read(name)
    digits = table["printed"].str.partition(".")[2].str.len().clip(lower=_LEAST_DIGITS)
    return table.assign(
        published=name,
        value=table["printed"].astype(float),
        rounding=0.5 * 10.0**-digits,
        underlined=table["underlined"] == "true",
        bold=table["bold"] == "true",
    )


@cache
def _protocols() -> dict[tuple[str, str], dict[str, str]]:
    rows = read("protocol").to_dict("records")
    return {(row["published"], row["column"]): {str(name): str(value) for name, value in row.items()} for row in rows}


@cache
def _settings() -> dict[str, dict[str, dict[str, str]]]:
    found: dict[str, dict[str, dict[str, str]]] = {}
    for method, setting, parameter, printed in read("settings").itertuples(index=False):
        found.setdefault(method, {}).setdefault(setting, {})[parameter] = printed
    return found


@cache
def read(name: str) -> pd.DataFrame:
    """A packaged csv; every column is text, an empty cell is the empty text."""
    with (files(__package__) / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype=str, keep_default_na=False)
