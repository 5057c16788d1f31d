"""Plans by which the rows in docs/evidence were computed, as far as a comparison with the paper needs them."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from ruamel.yaml import YAML

from puoc.analysis.paper.published import columns
from puoc.store.cells import Cell
from puoc.store.plans import EntryPlan, TablePlan

EVIDENCE = Path(__file__).parent / "evidence"
PROFILES = Path(__file__).parents[1] / "profiles"
Lines = list[list[str]]


def plan_of(rows: pd.DataFrame, published: str | None, published_as: dict[str, str] | None = None) -> TablePlan:
    """Return the plan of recorded rows of one table, compared with a table of the paper."""
    heads = rows.drop_duplicates("entry")
    entries = [_entry(row, (published_as or {}).get(row["entry"])) for row in heads.to_dict("records")]
    first = rows.drop_duplicates("cell").set_index("cell").to_dict("index")
    names = [name for name in columns("ova") if name in first] if published == "ova" else list(first)
    top = rows.iloc[0].to_dict()
    return TablePlan(
        table=str(top["table"]),
        title=str(top["table"]),
        scenario=str(top["scenario"]),
        dataset=str(top["dataset"]),
        data_digest="",  # the rows have none
        draw_digest=str(top.get("draw_digest", "")),
        scoring_digest=str(top.get("scoring_digest", "")),
        seeds=tuple(sorted(int(seed) for seed in rows["seed"].unique())),
        cells=tuple(_cell(name, first[name]) for name in names),
        configs="published",
        published=published,
        entries_by_name={entry.entry: entry for entry in entries},
    )


def lstm_rows() -> pd.DataFrame:
    """Return the rows of both LSTMs on PenDigits with what their profile declares and the rows have not."""
    rows = pd.read_parquet(EVIDENCE / "lstm_pendigits.parquet")
    section = profile_sections("lstm_pendigits")[0]["pen"]
    sizes = {name: section[name] for name in _SIZES}
    classes = {name: json.dumps([section[name]]) for name in ("pos", "neg")}
    rows = rows.assign(**sizes, **classes, scenario=section["scenario"], dataset=section["dataset"])
    kinds = {"oc_lstm": "oc", "pu_lstm": "pu_oc"}
    return rows.assign(kind=rows["method"].map(kinds), **UNRECORDED)


#: Columns of rows of which all trials are ok.
UNRECORDED = {"status": "ok", "reason": None, "attempts": 1, "fit_id": ""}
UNRECORDED |= {"device": "cpu", "torch_version": "2.14.1", "numerics": "fp32"}
#: The entries of lstm_pendigits with the published setting.
LSTM_ENTRIES = {"oc": "oc_lstm", "pu": "pu_lstm"}


def profile_sections(name: str) -> tuple[dict, dict]:
    """Return the tables and the methods of a profile."""
    params = YAML(typ="safe", pure=True).load(PROFILES / f"{name}.yaml")
    return params["tables"], params["methods"]


def _entry(row: dict, published_as: str | None) -> EntryPlan:
    return EntryPlan(
        entry=row["entry"],
        method=row.get("method", row["entry"]),
        kind=row["kind"],
        twin=row.get("twin") if isinstance(row.get("twin"), str) else None,
        labels=row.get("labels", "pu"),
        prior=None,  # the rows have these two, and deviations are found there
        encoder=None,
        numerics=row.get("numerics", "fp32"),
        code_digest=row["code_digest"],
        skip=None,
        published_as=published_as,
    )


def _cell(name: str, row: dict) -> Cell:
    """Return the cell of a row. Rows of the small map have no classes or sizes, and its cells get any."""
    sizes = {key: int(row[key]) if row.get(key) == row.get(key, 1) else 0 for key in _SIZES if key in row}
    classes = {key: tuple(json.loads(row[key])) for key in ("pos", "neg") if isinstance(row.get(key), str)}
    return Cell(**({"pos": (0,), "neg": (1,)} | dict.fromkeys(_SIZES, 1) | classes | sizes), scenario="", name=name)


_SIZES = ("n_pos_lab", "n_pos_unl", "n_neg_unl")
