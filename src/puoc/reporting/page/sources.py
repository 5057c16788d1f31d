"""Sources of the numbers of a table: draws and configurations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from puoc.store.plans import EntryPlan, TablePlan

_SIZES = (
    ("n_pos_lab", "labelled positives"),
    ("n_pos_unl", "unlabelled positives"),
    ("n_neg_unl", "unlabelled negatives"),
    ("n_unl", "unlabelled rows of unknown classes"),
)
_CONFIG = ("params", "config_source", "encoder", "numerics", "prior", "prior_alpha")
_SHOWN = 4  # more values than this are shown as a range


def draw_sentence(rows: pd.DataFrame | Mapping[str, Sequence[float | None]]) -> str:
    """Return a sentence on the training data of a trial: the sizes and the share of positives in U.

    Parameters
    ----------
    rows : of the trials, or the values of their columns by name.
    """
    parts = [f"{words}: {values}" for name, words in _SIZES if (values := _values(rows, name))]
    if alphas := _values(rows, "alpha"):
        parts.append(f"share of positives in U (alpha): {alphas}")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:]


def config_views(plan: TablePlan, rows: pd.DataFrame) -> list[dict[str, str]]:
    """Return one row per entry: its method, its twin and every configuration it was run with."""
    views = []
    known = rows.reindex(columns=["entry", *_CONFIG]).drop_duplicates()  # few: one for all cells and seeds of an entry
    by_entry = {str(name): group for name, group in known.groupby("entry", sort=False)}
    for entry in plan.entries:
        of_entry = by_entry.get(entry.entry, known[:0])
        view = {"entry": entry.entry, "method": entry.method, "twin": entry.twin or ""}
        views.append(view | {name: _texts(of_entry, name) for name in _CONFIG})
    return views


def config_badge(rows: pd.DataFrame | None, entry: EntryPlan) -> str:
    """Return ``selected`` if a sweep's choice replaced the configuration of params.yaml; empty if nothing was recorded.

    Otherwise return ``published`` if that configuration has the values that the paper prints, and else ``default``.
    A table that uses selected configurations runs that of params.yaml if there was no sweep or none was better.
    """
    if rows is None or "config_source" not in rows:
        return ""
    sources = rows.loc[rows["entry"] == entry.entry, "config_source"].dropna()
    if sources.empty:
        return ""
    if sources.str.startswith("selected").any():
        return "selected"
    return "published" if entry.printed else "default"


def _values(rows: pd.DataFrame | Mapping[str, Sequence[float | None]], name: str) -> str:
    found: Iterable[float | None] = rows.get(name, [])
    values = sorted({value for value in found if value is not None and value == value})
    shown = [f"{value:g}" for value in values]
    return f"{shown[0]} to {shown[-1]}" if len(shown) > _SHOWN else ", ".join(shown)


def _texts(rows: pd.DataFrame, name: str) -> str:
    if name not in rows:
        return ""
    values = rows[name].dropna().unique()
    texts = sorted({f"{value:g}" if isinstance(value, float) else str(value) for value in values})
    return f"{texts[0]} to {texts[-1]}" if name == "prior_alpha" and len(texts) > _SHOWN else "; ".join(texts)
