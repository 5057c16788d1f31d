"""Tables of docs/published.md about the profile paper_small, for generate.py: lines of cells, the head first."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from ruamel.yaml import YAML
from told_alpha import entry_name, told_alpha

from puoc.analysis.paper.published import AVERAGE_COLUMN, RESULT_TABLES, numbers
from puoc.analysis.tables.summary import CHANCE, below_chance

EVIDENCE = Path(__file__).parent / "evidence"
PROFILE = Path(__file__).parents[1] / "profiles" / "paper_small.yaml"
TEN = ["oc_svm", "pu_svm", "csi", "pu_csi", "drocc", "pu_drocc", "oc_cnn", "pu_cnn", "drpu", "pan"]


def hidden(rows: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return the cells below chance that the average of a table and entry hides, in brackets; "" if there are none.

    A cell is below chance if its mean AUC over seeds is below .5.
    """
    means = rows.groupby(["table", "entry", "cell"], sort=False)["auc"].mean()
    found = {}
    for (table, entry), part in means.groupby(["table", "entry"], sort=False):
        of_cell = part.droplevel(["table", "entry"])
        text = below_chance(of_cell.to_dict()) if len(of_cell) > 1 else ""
        found[table, entry] = f" (hides {text})" if text else ""
    return found


def small_map() -> list[list[str]]:
    """The tables of ten image methods: the mean AUC over a table's columns, averaged over seeds, and the paper's."""
    means, seeds = _means()
    low = _below_chance()
    asked = YAML(typ="safe", pure=True).load(PROFILE)["tables"]
    printed = numbers(*RESULT_TABLES)
    printed = printed[printed["column"] != AVERAGE_COLUMN].groupby(["published", "method"])["value"].mean()
    told = told_alpha("paper_small")
    lines = [["table", "columns", "seeds", *(entry_name(entry, told) for entry in TEN)]]
    for table, part in means.groupby("table", sort=False):
        found = part.set_index("entry")
        if set(TEN) <= set(found.index):
            aucs = [f"{found.at[entry, 'auc']:.2f}{low.get((table, entry), '')}" for entry in TEN]
            lines.append([f"`{table}`", str(found["columns"].max()), str(seeds[table]), *aucs])
            name = asked[table].get("published")
            if name in printed.index.get_level_values("published"):
                lines.append(["the paper's", "", "", *(f"*{printed[name, entry]:.2f}*" for entry in TEN)])
    return lines


def small_map_rest() -> list[list[str]]:
    """The other tables: the mean AUC over a table's columns, averaged over seeds."""
    means, seeds = _means()
    low = _below_chance()
    told = told_alpha("paper_small")
    lines = [["table", "columns", "seeds", "mean held-out AUC"]]
    for table, part in means.groupby("table", sort=False):
        if not set(TEN) <= set(part["entry"]):
            aucs = ", ".join(
                f"{entry_name(one.entry, told)} {one.auc:.2f}{low.get((table, one.entry), '')}"
                for one in part.itertuples()
            )
            lines.append([f"`{table}`", str(part["columns"].max()), str(seeds[table]), aucs])
    return lines


def _below_chance() -> dict[tuple[str, str], str]:
    """Return the number of columns below chance and the lowest mean AUC, by table and entry; "" if there are none."""
    rows = pd.read_parquet(EVIDENCE / "paper_small.parquet")
    means = rows.groupby(["table", "entry", "cell"], sort=False)["auc"].mean()
    found = {}
    for key, part in means.groupby(["table", "entry"], sort=False):
        low = part[part < CHANCE]
        if len(part) > 1 and len(low):
            found[key] = f" ({len(low)} below .5, least {low.min():.2f})"
    return found


def _means() -> tuple[pd.DataFrame, dict[str, int]]:
    """Mean AUC and number of columns by table and entry, as they stand in the rows; and the seeds of each table."""
    rows = pd.read_parquet(EVIDENCE / "paper_small.parquet")
    by_seed = rows.groupby(["table", "entry", "seed"], sort=False)["auc"].mean()
    means = by_seed.groupby(["table", "entry"], sort=False).mean().reset_index()
    columns = rows.groupby(["table", "entry"])["cell"].nunique().rename("columns").reset_index()
    return means.merge(columns, on=["table", "entry"]), {
        str(table): int(part["seed"].nunique()) for table, part in rows.groupby("table")
    }
