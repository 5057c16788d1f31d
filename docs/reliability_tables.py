"""Tables of docs/reliability.md from the rows in docs/evidence, as lists of lines; ``generate.py`` writes them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

EVIDENCE = Path(__file__).parent / "evidence"
FAMILIES = ["OC", "PU-OC", "PU"]
Lines = list[list[str]]


def _false_alarms(rows: pd.DataFrame, by: list[str]) -> Lines:
    """A line for each procedure: over scorers the highest rate with its 95 % upper bound, for each kind of data."""
    kinds = list(rows["kind"].unique())
    lines = [[*by, "allowed", "draws", *kinds]]
    for key, part in rows.groupby(by, sort=False):
        cells = []
        for kind in kinds:
            worst = part[part["kind"] == kind].sort_values("rate").iloc[-1]
            cells.append(f"{worst['rate']:.3f} ({worst['upper']:.3f})")
        lines.append([*map(_text, key), f"{part['nominal'].iloc[0]:g}", f"{part['draws'].min():,}", *cells])
    return lines


def _level(alpha: float, new_rows: bool) -> pd.DataFrame:
    rows = pd.read_parquet(EVIDENCE / "false_alarms.parquet")
    return rows[(rows["alpha"] == alpha) & (rows["alpha_v"].notna() == new_rows)]


def false_alarms_none() -> Lines:
    """U without negatives: how often negatives are reported."""
    rows = _level(1.0, False)
    return _false_alarms(rows[~rows["procedure"].str.startswith("interval")], ["procedure"])


def false_alarms_interval() -> Lines:
    """U with a half of negatives: how often the interval misses that share."""
    rows = _level(0.5, False)
    rows = rows[rows["procedure"].str.startswith("interval")]
    # the lower end assumes that a scorer puts the best quarter of P above all negatives: a trained PU scorer
    low = rows["procedure"].str.startswith("interval too low")
    return _false_alarms(rows[~low | (rows["scorer"] == "least_squares")], ["procedure"])


def false_alarms_shift() -> Lines:
    """V with no new negatives and alphas of its own: how often new ones are reported."""
    return _false_alarms(_level(0.5, True), ["procedure", "alpha_v"])


def power_alpha() -> Lines:
    """How often a lower bound above 0 is found for the share of negatives, by the PU scorer."""
    rows = pd.read_parquet(EVIDENCE / "power.parquet")
    rows = rows[(rows["procedure"] == "bound above 0, both halves") & (rows["scorer"] == "least_squares")]
    return _wide(rows, ["kind", "n_u"], "alpha")


def power_shift() -> Lines:
    """How often new negatives are found, by both scorers together, at a share ``new`` of V's negatives."""
    rows = pd.read_parquet(EVIDENCE / "power.parquet")
    rows = rows[(rows["procedure"] == "mixture, both halves") & (rows["scorer"] == "both scorers")]
    return _wide(rows, ["kind", "n_u", "alpha"], "new")


def _wide(rows: pd.DataFrame, by: list[str], column: str) -> Lines:
    values = sorted(rows[column].unique(), reverse=column == "alpha")
    lines = [[*("rows of U" if name == "n_u" else name for name in by), "draws", *(f"{column} {v:g}" for v in values)]]
    for key, part in rows.groupby(by, sort=True):
        rates = part.set_index(column)["rate"]
        lines.append([*map(_text, key), str(part["draws"].min()), *(f"{rates[value]:.2f}" for value in values)])
    return lines


def robustness() -> Lines:
    """Mean AUC of each family by region, the best in bold."""
    table = pd.read_csv(EVIDENCE.parents[1] / "src" / "puoc" / "analysis" / "reliability" / "robustness.csv")
    lines = [["test negatives", "rows of U", "alpha", "situations", *FAMILIES, "PU-OC worst"]]
    for row in table.sort_values(["shift", "n_u", "alpha"], ascending=[False, True, True]).to_dict("records"):
        aucs = [row[f"{family}_auc"] for family in FAMILIES]
        shown = [f"**{value:.3f}**" if value == max(aucs) else f"{value:.3f}" for value in aucs]
        kind = "new" if row["shift"] == "new" else "as in U"
        about = [kind, f"{row['n_u']:,}", f"{row['alpha']:g}", str(row["n"])]
        lines.append([*about, *shown, f"{100 * row['base_worst']:.0f} %"])
    return lines


def left_out() -> Lines:
    """As ``judged``, of the tasks that the map is learned on."""
    return _regrets(pd.read_parquet(EVIDENCE / "left_out.parquet"))


def judged() -> Lines:
    """Mean and worst AUC regret of the advice and of each constant policy."""
    return _regrets(pd.read_parquet(EVIDENCE / "judged.parquet"))


def _regrets(rows: pd.DataFrame) -> Lines:
    lines = [["data", "cells", "abstained", *(f"{policy}: mean, worst" for policy in ("assess", *FAMILIES))]]
    for name, part in [*rows.groupby("data", sort=False), ("all", rows)]:
        best = part[FAMILIES].max(axis=1)
        regrets = [part["regret"], *(best - part[family] for family in FAMILIES)]
        shown = [f"{regret.mean():.3f}, {regret.max():.3f}" for regret in regrets]
        lines.append([name, str(len(part)), f"{100 * (part['answer'] == 'cannot tell').mean():.0f} %", *shown])
    return lines


def judged_shift() -> Lines:
    """The same by what comes in, with how often new negatives were reported."""
    rows = pd.read_parquet(EVIDENCE / "judged.parquet")
    reported = rows["evidence"].str.contains('"new_negatives": true')
    lines = [["incoming", "cells", "new negatives reported", "mean regret: assess", *FAMILIES]]
    for name, part in rows.groupby("shift", sort=False):
        best = part[FAMILIES].max(axis=1)
        regrets = [part["regret"], *(best - part[family] for family in FAMILIES)]
        told = f"{100 * reported[part.index].mean():.0f} %"
        lines.append([name, str(len(part)), told, *(f"{regret.mean():.3f}" for regret in regrets)])
    return lines


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
