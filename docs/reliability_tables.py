"""Tables of docs/reliability.md from the rows in docs/evidence, as lists of lines; ``generate.py`` writes them."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
from scipy import stats

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


def assess_power_alpha() -> Lines:
    """How often `puoc assess` reports negatives in U, and how often its interval misses the true share."""
    rows = pd.read_parquet(EVIDENCE / "assess_power.parquet")
    lines = [["data", "rows of U", "alpha", "draws", "negatives reported", "interval misses alpha"]]
    for (kind, n_u, alpha), part in rows[rows["new"].isna()].groupby(["kind", "n_u", "alpha"], sort=True):
        of = part.set_index("finding")
        shown = [_rate(of.loc[finding]) for finding in ("negatives in U", "interval misses alpha")]
        lines.append([kind, str(n_u), f"{alpha:g}", str(part["draws"].iloc[0]), *shown])
    return lines


def assess_power_shift() -> Lines:
    """How often `puoc assess` reports new negatives, at a share ``new`` of V's negatives; at 0 it is a false alarm."""
    rows = pd.read_parquet(EVIDENCE / "assess_power.parquet")
    rows = rows[rows["new"].notna()]
    shares = sorted(rows["new"].unique())
    lines = [["data", "rows of U and of V", "alpha", "draws", *(f"new {share:g}" for share in shares)]]
    for (kind, n_u, alpha), part in rows.groupby(["kind", "n_u", "alpha"], sort=True):
        of = part.set_index("new")
        shown = [_rate(of.loc[share]) for share in shares]
        lines.append([kind, str(n_u), f"{alpha:g}", str(part["draws"].iloc[0]), *shown])
    return lines


def _rate(row: pd.Series) -> str:
    return f"{row['rate']:.2f} ({row['low']:.2f} to {row['high']:.2f})"


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


def judged_saving() -> Lines:
    """Regret of each policy, and what the advice saves against it: mean over the datasets, with a t interval."""
    rows = pd.read_parquet(EVIDENCE / "judged.parquet")
    best = rows[FAMILIES].max(axis=1)
    regrets = {f"always {family}": best - rows[family] for family in FAMILIES}
    for against, name in (("v", "the best withheld AUC of P against V"), ("u", "the best withheld AUC of P against U")):
        regrets[name] = best - [_of_best_auc(row, against) for row in rows.to_dict("records")]
    lines = [["policy", "mean regret", "worst", "saving of assess by dataset (95 % interval)"]]
    lines.append(["the advice of assess", f"{rows['regret'].mean():.3f}", f"{rows['regret'].max():.3f}", ""])
    for name, regret in regrets.items():
        saving = (regret - rows["regret"]).groupby(rows["data"]).mean()
        low, high = stats.t.interval(0.95, len(saving) - 1, saving.mean(), stats.sem(saving))
        shown = f"{saving.mean():.4f} ({low:.3f} to {high:.3f}), n = {len(saving)}"
        lines.append([name, f"{regret.mean():.3f}", f"{regret.max():.3f}", shown])
    return lines


def _of_best_auc(row: dict[str, Any], against: str) -> float:
    """AUC of the family that ranks withheld P best above the rows of one sample."""
    evidence = json.loads(row["evidence"])
    gained = evidence["incoming"]["gained"] if against == "v" else evidence["gained"]
    auc: float = row[max(gained, key=lambda one: one["auc"])["family"]]
    return auc


def judged_odds() -> Lines:
    """How often the first family was better than the next, by the probability that assess states."""
    lines = [["stated probability", "left out: cells", "stated", "better", "judged: cells", "stated", "better"]]
    samples = [pd.read_parquet(EVIDENCE / f"{name}.parquet") for name in ("left_out", "judged")]
    for low, high in pairwise((0.5, 0.6, 0.7, 0.8, 1.0)):
        line = [f"{low:g} to {high:g}"]
        for rows in samples:
            part = rows[(rows["probability"] >= low) & (rows["probability"] < high + (high == 1))]
            line += [str(len(part)), f"{part['probability'].mean():.2f}", f"{_better(part).mean():.2f}"]
        lines.append(line)
    return lines


def _better(rows: pd.DataFrame) -> pd.Series:
    """1 where the first family had a higher AUC than the second, 0 where a lower one; a half where equal."""
    first, second = (
        pd.Series([row[row[place]] for row in rows.to_dict("records")], index=rows.index)
        for place in ("first", "second")
    )
    return (first > second) + 0.5 * (first == second)


_GROUPS = [f"{v} V, {kind}" for v in ("without", "with") for kind in ("negatives as in U", "new negatives")]
_RULES = ["assess", "earlier", *FAMILIES, "P against U", "P against V", "logistic or OC", "logistic"]


def assess_judged() -> Lines:
    """Mean regret over data sets of each policy, and its difference to assess with a t interval over data sets."""
    return _regret_of_policies(("tables", "cells"), _RULES)


def assess_fresh() -> Lines:
    """The same on draws that were made after model and rule, of the same tables."""
    return _regret_of_policies(("fresh",), [rule for rule in _RULES if rule != "earlier"])


def _regret_of_policies(parts: tuple[str, ...], rules: list[str]) -> Lines:
    rows = pd.read_parquet(EVIDENCE / "assess_judged.parquet")
    halves = [(half, group) for half in parts for group in _GROUPS]
    lines = [["policy", *(f"{_HALF[half]}: {group}" for half, group in halves)]]
    for policy in rules:
        line = [policy]
        for half, group in halves:
            of = (
                rows[(rows["of"] == half) & (rows["group"] == group)]
                .groupby("data")[list(dict.fromkeys((policy, "assess")))]
                .mean()
            )
            above = (of[policy] - of["assess"]).dropna()
            shown = f"{of[policy].mean():.3f}" if len(above) else ""
            if above.abs().max() > 0:  # False where there is none
                low, high = stats.t.interval(0.95, len(above) - 1, above.mean(), stats.sem(above))
                shown += f" ({low:.3f} to {high:.3f})"
            line.append(shown)
        lines.append(line)
    return lines


_HALF = {"tables": "23 tables", "cells": "7 data sets", "fresh": "fresh draws"}


def assess_answers() -> Lines:
    """How often there is an answer, and how often it is the best and the worst family."""
    rows = pd.read_parquet(EVIDENCE / "assess_judged.parquet")
    groups = [
        (f"{_HALF[half]}: {group}", rows[(rows["of"] == half) & (rows["group"] == group)])
        for half in _HALF
        for group in _GROUPS
    ]
    return _answers(groups)


def assess_biased() -> Lines:
    """The same by mechanism of labelling, on the tables, with the regrets."""
    rows = pd.read_parquet(EVIDENCE / "assess_judged.parquet")
    rows = rows[rows["of"] == "tables"]
    return _answers(
        [
            (f"{mechanism}, {'with' if with_v else 'without'} V", part[(part["V"] != "") == with_v])
            for mechanism, part in rows.groupby("mechanism")
            for with_v in (False, True)
        ]
    )


def _answers(groups: list[tuple[str, pd.DataFrame]]) -> Lines:
    lines = [["group", "assessments", "regret", "answers", "best family", "worst family"]]
    for name, part in groups:
        given = part[part["answer"] != "cannot tell"]
        shares = [f"{given[which].mean():.2f}" if len(given) else "" for which in ("is_best", "is_worst")]
        regret = part.groupby("data")["assess"].mean().mean()
        lines.append([name, str(len(part)), f"{regret:.3f}", str(len(given)), *shares])
    return lines


def outside_map() -> Lines:
    """Outside of the situations of the model: regrets, and how often the first family was better than the next."""
    rows = pd.read_parquet(EVIDENCE / "outside_map.parquet")
    lines = [["outside", "cells", "stated", "better", "mean regret: assess", *FAMILIES]]
    for name, part in rows.groupby("outside", sort=False):
        best = part[FAMILIES].max(axis=1)
        regrets = [part["regret"], *(best - part[family] for family in FAMILIES)]
        stated = f"{part['probability'].mean():.2f}", f"{_better(part).mean():.2f}"
        lines.append([name, str(len(part)), *stated, *(f"{regret.mean():.3f}" for regret in regrets)])
    return lines


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
