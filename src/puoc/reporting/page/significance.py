"""The twin tests of a table for the page, and sentences on what its seeds can show."""

from __future__ import annotations

from typing import Any

import pandas as pd

from puoc.analysis.tables.frames import present, records
from puoc.analysis.tables.results import UNTESTED
from puoc.reporting.page.format import p_value
from puoc.store.counting import counted

#: Level at which the page calls a difference significant.
ALPHA = 0.05


def test_views(tests: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of the significance table, with verdicts. The average of a single cell is not repeated.

    A pair that could not be tested in any cell, for one reason, gets a single row.
    """
    single = len(tests) > 0 and tests["cell_index"].max() == 1
    shown = tests[~tests["is_average"]] if single else tests
    views = []
    for _, pair in shown.groupby(["entry", "twin_entry"], sort=False):
        rows = records(pair)
        if pair["p"].isna().all() and len(set(pair.loc[~pair["is_average"], "note"])) == 1:
            rows = [rows[0] | {"cell": "all cells"}]
        views += [row | {"verdict": _verdict(row)} for row in rows]
    return views


def evidence_sentences(tests: pd.DataFrame, *, run: bool, tested: bool = True) -> list[str]:
    """Return sentences on what the tests of a table show, or why they cannot show anything.

    Parameters
    ----------
    tested : whether there are labelled test rows.
    """
    if not run:
        return ["This table was not run."]
    if not tested:
        return [f"There are {UNTESTED}, so there is no AUC and nothing is tested."]
    if tests.empty:
        return ["This table has no twin pair (a PU-OC method and the OC method it extends), so nothing is tested."]
    sentences = [_family_sentence(tests[~tests["is_average"]], "cells")]
    if tests["cell_index"].max() > 1:
        sentences.append(_family_sentence(tests[tests["is_average"]], "averages"))
    return sentences


def _family_sentence(family: pd.DataFrame, plural: str) -> str:
    tested = family[family["p"].notna()]
    if tested.empty:
        return f"No pair of {plural} could be tested: {family['note'].iloc[0]}."
    n, size = int(tested["n"].max()), int(tested["family_size"].max())
    floor = float(tested["min_p_adjusted"].min())
    seeds = counted(n, "seed")
    if floor >= ALPHA:
        where = "in this table" if plural == "cells" else "between averages"
        return (
            f"With {seeds} no difference {where} can be significant after Holm "
            f"({counted(size, 'twin test')} of {plural}, smallest attainable adjusted p {p_value(floor)})."
        )
    found = int((tested["p_adjusted"] < ALPHA).sum())
    return (
        f"Of {counted(size, 'twin test')} of {plural}, {found} {'is' if found == 1 else 'are'} significant after Holm "
        f"at {ALPHA} ({seeds}; smallest attainable adjusted p {p_value(floor)})."
    )


def _verdict(row: dict[str, Any]) -> str:
    if not present(row["p"]):
        return "not tested"
    if present(row["p_adjusted"]) and row["p_adjusted"] < ALPHA:
        return "PU-OC better" if row["shift"] > 0 else "OC better"
    if row["p"] < ALPHA:
        return "raw p only"
    if present(row["min_p_adjusted"]) and row["min_p_adjusted"] >= ALPHA:
        return "cannot tell"
    return "no difference shown"
