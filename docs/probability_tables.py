"""The table of docs/python.md about probabilities, from the rows of bench/probabilities.py; imported by generate.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from puoc import PUClassifier

EVIDENCE = Path(__file__).parent / "evidence"
Lines = list[list[str]]
_PRIORS = {"told": "told", "tice": "TIcE"}


def probabilities() -> Lines:
    """How far off a method is, by the alpha that it has, and whether its estimator has ``predict_proba``."""
    rows = pd.read_parquet(EVIDENCE / "probabilities.parquet")
    rows = rows[rows["way"] == "as said"]
    by_table = rows.groupby(["method", "prior", "table"])[["error", "skill"]].mean()
    means = by_table["error"].groupby(["method", "prior"]).mean()
    lines = [["method"]]
    for words in _PRIORS.values():
        lines[0] += [f"error, {words}", "largest of a table", f"skill, {words}", "lowest of a table"]
    lines[0].append("`predict_proba`")
    for method in means.xs("tice", level="prior").sort_values().index:
        cells = []
        for prior in _PRIORS:
            part = by_table.loc[(method, prior)]
            shown = [part["error"].mean(), part["error"].max(), part["skill"].mean(), part["skill"].min()]
            cells += [f"{value:.2f}" for value in shown]
        lines.append([f"`{method}`", *cells, "yes" if hasattr(PUClassifier(method), "predict_proba") else ""])
    return lines
