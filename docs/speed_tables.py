"""Tables of docs/benchmarks.md that `make bench` measures; imported by generate.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

EVIDENCE = Path(__file__).parent / "evidence"
Lines = list[list[str]]
_ENOUGH = 1.2  # plain / puoc
_MEASURES = {
    "cpu": ("processor time", "s"),
    "wall": ("wall time", "s"),
    "memory": ("memory", "MiB"),
    "training": ("training", "s"),
    "outside": ("outside of training", "s"),
}


def floor() -> Lines:
    """Seconds per epoch of each network beside the floor of this processor, the slowest ratio first."""
    rows = pd.read_parquet(EVIDENCE / "floor.parquet").dropna(subset="ratio").sort_values("ratio", ascending=False)
    lines = [["method", "rows", "P + U", "10^9 operations", "s per epoch", "times the floor", "n"]]
    for row in rows.to_dict("records"):
        ratio = f"{row['ratio']:.1f} ({row['ratio_least']:.1f} to {row['ratio_most']:.1f})"
        sizes = f"{row['n_p']:,}" + (f" + {row['n_u']:,}" if row["n_u"] else "")
        work = f"{row['gflop']:.3g}"
        lines.append([f"`{row['method']}`", row["inputs"], sizes, work, f"{row['seconds']:.3g}", ratio, str(row["n"])])
    return lines


def epoch_summary() -> Lines:
    """The ratios of the tables of epochs, over their networks: plain / puoc, and two workers / one."""
    names = ("epoch.parquet", "networks.parquet", "networks_together.parquet")
    epoch, networks, together = (pd.read_parquet(EVIDENCE / name) for name in names)
    single = pd.concat([epoch, networks], ignore_index=True)
    key = ["method", "inputs", "numerics"]
    known = single[key].merge(together[key], how="left", indicator=True)["_merge"] == "both"
    alone = single[~known.to_numpy() & single["numerics"].isin(together["numerics"])]
    shares = ["geometric mean", "smallest", "1.2 or more", "two workers / one, median"]
    lines = [["models", "numerics", "networks", *shares]]
    for models, rows in (("one by one", single), ("8 at once", pd.concat([alone, together], ignore_index=True))):
        for numerics, part in rows.groupby("numerics", sort=False):
            least = part.loc[part["ratio"].idxmin()]
            smallest = f"{least['ratio']:.2f} (`{least['method']}`, {least['inputs']})"
            second = part["second"].dropna()
            enough = f"{int((part['ratio'] >= _ENOUGH).sum())} of {len(part)}"
            mean = f"{np.exp(np.log(part['ratio']).mean()):.2f}"
            workers = f"{second.median():.2f} (n = {len(second)})"
            lines.append([models, str(numerics), str(len(part)), mean, smallest, enough, workers])
    return lines


def forecasts() -> Lines:
    """What `puoc plan` forecasts for a fit of each method, over what it then takes, the longest fits first."""
    rows = pd.read_parquet(EVIDENCE / "forecasts.parquet").sort_values("seconds", ascending=False)
    rows = rows[rows["seconds"] >= 0.1]  # shorter ones are below what processor time can tell
    lines = [["method", "rows", "s", "forecast / actual: table", "short fits", "n"]]
    for row in rows.to_dict("records"):
        ratios = [f"{row[by] / row['seconds']:.2f}" for by in ("by_table", "by_short_fits")]
        lines.append([f"`{row['method']}`", row["inputs"], f"{row['seconds']:.2f}", *ratios, str(row["n"])])
    return lines


def commands() -> Lines:
    """What each command used, with the spread over repetitions."""
    rows = pd.read_parquet(EVIDENCE / "commands.parquet")
    rows = rows[rows["measure"].isin(["cpu", "wall", "memory"]) & ~rows["name"].str.startswith("run of ")]
    names = ["cpu", "wall", "memory"]
    lines = [["command", *(f"{_MEASURES[name][0]} ({_MEASURES[name][1]})" for name in names), "n"]]
    for command, part in rows.groupby("name", sort=False):
        lines.append([f"`{command}`", *_cells(part, names), str(part["n"].iloc[0])])
    return lines


def overhead() -> Lines:
    """What a fit of a run costs, in milliseconds, by the number of workers."""
    rows = pd.read_parquet(EVIDENCE / "commands.parquet")
    rows = rows[rows["name"].str.startswith("run of ")].copy()
    rows[["value", "least", "most"]] *= 1000
    names = ["wall", "training", "outside"]
    lines = [["run", *(f"{_MEASURES[name][0]} (ms a fit)" for name in names), "n"]]
    for run, part in rows.groupby("name", sort=False):
        lines.append([str(run).removeprefix("run of "), *_cells(part, names), str(part["n"].iloc[0])])
    return lines


def _cells(part: pd.DataFrame, names: list[str]) -> list[str]:
    found = part.set_index("measure")
    spread = [[_digits(found.at[name, of]) for of in ("value", "least", "most")] for name in names]
    return [f"{value} ({least} to {most})" for value, least, most in spread]


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
