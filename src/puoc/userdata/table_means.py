"""Mean AUCs of one-class methods on KEEL's tables with packaged hyperparameters, beside those of ``knn``."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from puoc.datasets.readers.preprocess import TablePreparing
from puoc.userdata.settings import Settings, settings

BESIDE = "knn"


class Mean(NamedTuple):
    """Mean AUC of a method over tables."""

    auc: float
    tables: int


@cache
def means() -> dict[str, Mean]:
    """Return the rows of ``table_means.csv``, which ``bench/defaults_by_halves.py`` writes, by method."""
    text = files("puoc.userdata").joinpath("table_means.csv").read_text(encoding="utf-8")
    return {row["method"]: Mean(float(row["auc"]), int(row["tables"])) for row in csv.DictReader(text.splitlines())}


def note_on(chosen: Settings, preparing: object) -> str | None:
    """Return a sentence where ``knn`` has a higher mean AUC than the method that was chosen.

    The means hold for columns, without an encoder and with the packaged hyperparameters. In other cases, and for
    methods without a mean, None is returned.

    Parameters
    ----------
    preparing : how the rows of the files are prepared; that of a table is a ``TablePreparing``.
    """
    known = means()
    if chosen.method not in known or chosen.encoder is not None or not isinstance(preparing, TablePreparing):
        return None
    if chosen.params != settings(chosen.method).for_inputs("vector").params:
        return None
    own, other = known[chosen.method], known[BESIDE]
    if round(own.auc, 3) >= round(other.auc, 3):
        return None
    return (
        f"{BESIDE} has a higher mean AUC on {other.tables} tables of KEEL, {other.auc:.3f} against {own.auc:.3f} of "
        f"{chosen.method}; on a single table either may be better (docs/tables.md)"
    )
