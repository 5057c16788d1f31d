"""The section of the page on the paper: published numbers compared with ours, and claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from puoc.analysis.paper.published import AVERAGE_COLUMN, columns
from puoc.analysis.paper.verdicts import STATES
from puoc.analysis.tables.frames import present, records
from puoc.reporting.page.format import number, signed, spread

_UNDERLINES = ("confirmed", "reversed", "not confirmed", "cannot tell", "void", "not run")
_LEVELS = {"raw": "underline_raw", "Holm": "underline_holm"}
#: CSS class of each verdict; the cell also shows the word.
_CLASSES = {"reproduced": "same", "differs": "other", "not decided": "open", "void": "void"}


@dataclass(frozen=True)
class PaperCell:
    """One published number, and ours."""

    printed: str
    marks: str  # CSS classes for the paper's bold and underlined numbers: best, holm
    ours: str  # empty if nothing was run
    verdict: str
    look: str
    title: str


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper compared with one of ours."""

    anchor: str
    title: str
    caption: str
    columns: list[str]
    rows: list[tuple[str, list[PaperCell | None]]]
    run: bool
    notes: list[tuple[str, str]]  # rows and columns, remarks on them


def paper_view(verdicts: pd.DataFrame, claims: pd.DataFrame) -> dict[str, Any]:
    """Return the content of the section on the paper: counts, tables, underlines, claims."""
    groups = _groups(verdicts)
    answered = verdicts[verdicts["n"] > 0]
    tables = [_table(f"p{at}", name, ours, rows) for at, (name, ours, rows) in enumerate(groups)]
    return {
        "n_numbers": int((~verdicts.duplicated(["published", "method", "column"])).sum()),
        "n_answered": int((~answered.duplicated(["published", "method", "column"])).sum()),
        "states": STATES,
        "counts": [_counts(table, rows) for table, (_, _, rows) in zip(tables, groups, strict=True)],
        "tables": tables,
        "underlines": _underlines(verdicts),
        "underline_states": _UNDERLINES,
        "n_underlined": int((verdicts["underlined"] & ~verdicts.duplicated(["published", "method", "column"])).sum()),
        "claims": records(claims),
        "claims_run": bool((claims["verdict"] != "not run").any()),
        "paper_says": _claim_sentence(claims["paper_verdict"]),
        "we_say": _claim_sentence(claims["verdict"]),
    }


def _groups(verdicts: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame]]:
    """Group rows by table of the paper and table of ours; unmatched numbers are in each group, to complete the grid."""
    groups: list[tuple[str, str, pd.DataFrame]] = []
    for name, rows in verdicts.groupby("published", sort=False):
        unmatched = rows["table"].isna()
        ours = list(dict.fromkeys(rows["table"].dropna()))
        groups += [(str(name), str(table), rows[(rows["table"] == table) | unmatched]) for table in ours]
        groups += [] if ours else [(str(name), "", rows)]
    return groups


def _table(anchor: str, name: str, ours: str, rows: pd.DataFrame) -> PaperTable:
    heads = columns(name)
    by_key = {(row["method"], row["column"]): row for row in records(rows)}
    lines = list(dict.fromkeys(zip(rows["row"], rows["method"], strict=True)))
    return PaperTable(
        anchor=anchor,
        title=f"{name}{f' beside {ours}' if ours else ''}",
        caption=_caption(rows, ours),
        columns=heads,
        rows=[(row, [_cell(by_key.get((method, head))) for head in heads]) for row, method in lines],
        run=bool((rows["n"] > 0).any()),
        notes=_notes(rows),
    )


def _caption(rows: pd.DataFrame, ours: str) -> str:
    label = rows["label"].iloc[0]
    if not (rows["n"] > 0).any():
        why = f"{ours} was not run" if ours else "no table of this plan stands beside it"
        return f"Table {label} of the paper; {why}."
    held_out = sorted({row["row"] for row in records(rows) if row["scored_on"] == "held out"})
    scored = {
        0: "scored on the training pool, as the released scripts do",
        rows["row"].nunique(): "scored on held-out rows",
    }.get(len(held_out), f"scored on the training pool, but {', '.join(held_out)} on held-out rows")
    return f"Table {label} of the paper: the printed number, below it ours, mean ± standard deviation, {scored}."


def _cell(row: dict[str, Any] | None) -> PaperCell | None:
    if row is None:
        return None
    marks = " ".join(name for name, key in (("best", "bold"), ("holm", "underlined")) if row[key])
    run = present(row["mean"])
    return PaperCell(
        printed=row["printed"],
        marks=marks,
        ours=spread(row["mean"], row["std"]) if run else "",
        verdict=row["verdict"],
        look=_CLASSES.get(row["verdict"], ""),
        title=_title(row) if run else str(row["note"]),
    )


def _title(row: dict[str, Any]) -> str:
    parts = [f"n = {row['n']}, difference {signed(row['difference'])}"]
    if present(row["low"]):
        parts[0] += f", interval {signed(row['low'])} to {signed(row['high'])}"
    if present(row["other_mean"]):
        where = "held out" if row["scored_on"] == "training pool" else "training pool"
        parts.append(f"{where}: {number(row['other_mean'], 3)}, {row['other_verdict']}")
    parts += [f"underlined by the paper: {row['underline_raw']}, after Holm {row['underline_holm']}"] * row[
        "underlined"
    ]
    parts += [f"not as published: {row['differs_in']}"] if row["differs_in"] else []
    return "; ".join([*parts, *([row["note"]] if row["note"] else [])])


def _notes(rows: pd.DataFrame) -> list[tuple[str, str]]:
    """Return each distinct note once, with the cells to which it applies."""
    cells_by_note: dict[str, list[str]] = {}
    cells = rows[rows["table"].notna() & (rows["column"] != AVERAGE_COLUMN)]
    for row in records(cells):
        differs = f"not as published: {row['differs_in']}" if row["differs_in"] else ""
        for text in filter(None, (row["note"], differs)):
            cells_by_note.setdefault(text, []).append(f"{row['row']} {row['column']}")
    return [
        ("all cells" if len(where) == len(cells) else ", ".join(where), text) for text, where in cells_by_note.items()
    ]


def _counts(table: PaperTable, rows: pd.DataFrame) -> dict[str, Any]:
    run = rows["n"] > 0
    return {
        "table": table,
        "n": len(rows),
        "by_state": [int((rows["verdict"] == state).sum()) for state in STATES],
        "otherwise": int((run & rows["differs_in"].fillna("").ne("") & rows["verdict"].ne("void")).sum()),
    }


def _underlines(verdicts: pd.DataFrame) -> list[dict[str, Any]]:
    marked = verdicts[verdicts["underlined"]]
    return [
        {"level": level, "n": len(marked), "by_state": [int((marked[column] == state).sum()) for state in _UNDERLINES]}
        for level, column in _LEVELS.items()
    ]


def _claim_sentence(verdicts: pd.Series[str]) -> str:
    """Return the counts of verdicts in words, such as ``12 hold, 3 fail``."""
    words = {"holds": "hold", "fails": "fail"} | {word: word for word in ("not decided", "not printed", "not run")}
    counts = {plural: int((verdicts == word).sum()) for word, plural in words.items()}
    return ", ".join(f"{n} {plural}" for plural, n in counts.items() if n)
