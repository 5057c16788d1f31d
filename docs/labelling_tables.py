"""Tables and picture of docs/labelling.md, from the rows of the profile labelling; imported by generate.py.

python docs/labelling_tables.py FOLDER    # rows of a project that ran the profile to docs/evidence, and the picture

FOLDER can also be one that ``puoc published published/labelling`` opened. Its rows have the AUCs of the published ones,
and of the other metrics only those that a ROC curve determines.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from ruamel.yaml import YAML
from scipy import stats
from told_alpha import entry_name, told_alpha

from puoc.analysis.statistics.holm import holm
from puoc.analysis.statistics.signed_rank import signed_rank_test

HERE = Path(__file__).parent
EVIDENCE, PICTURE = HERE / "evidence" / "labelling.parquet", HERE / "labelling.svg"
PROFILE = HERE.parent / "profiles" / "labelling.yaml"
FAMILIES = {"oc": "OC", "pu_oc": "PU-OC", "pu": "PU"}
#: Columns of the tables, in their order, by what cells have.
COLUMNS = ["SCAR", "clear first", "ambiguous first", "linear", "a class never", "5 % negatives", "20 % negatives"]
_KEPT = ["table", "entry", "kind", "labels", "cell", "seed", "alpha", "status", "auc", "trial_id", "metrics"]
#: Metrics by which the families are compared, besides the AUC.
METRICS = {
    "average_precision": "average precision",
    "precision_at_recall_90": "precision at 90 % recall",
    "recall_at_fpr_01": "recall at 1 % false positives",
}
_DRAWS = 10_000
Lines = list[list[str]]


def _rows() -> pd.DataFrame:
    rows = pd.read_parquet(EVIDENCE)
    rows["data"] = rows["table"].str.removesuffix("_noise")
    rows["column"] = rows["cell"].map(_column)
    return rows.drop_duplicates(["data", "column", "entry", "seed"])  # both tables have the cell SCAR


def _column(cell: str) -> str:
    """Return the column of a cell of either table."""
    if cell.startswith("p_noise="):
        share = float(cell.removeprefix("p_noise="))
        return f"{share:.0%} negatives".replace("%", " %") if share else "SCAR"
    return {"scar": "SCAR", "by_class": "a class never"}.get(cell.split()[0], cell.split()[0].replace("_", " "))


def labelling_aucs() -> Lines:
    """Mean AUC over tables and seeds, by method and labelling. *a class never* is of fewer tables than the others."""
    rows = _rows()
    means = rows.groupby(["entry", "column", "data"], sort=False)["auc"].mean().groupby(["entry", "column"]).mean()
    heads = rows.drop_duplicates("entry").set_index("entry")
    lines = [["method", "family", *COLUMNS]]
    for entry, head in heads.iterrows():
        family = "reference" if head["labels"] == "oracle" else FAMILIES[head["kind"]]
        name = entry_name(str(entry), told_alpha("labelling"))
        lines.append([name, family, *(f"{means[entry, column]:.2f}" for column in COLUMNS)])
    tables = rows.groupby("column")["data"].nunique()
    return [*lines, ["tables", "", *(str(tables[column]) for column in COLUMNS)]]


def best_of_families(rows: pd.DataFrame, metric: str = "auc") -> pd.DataFrame:
    """Return the highest AUC of each family by table, seed and labelling; both PU families together as ``any PU``.

    Parameters
    ----------
    metric : column of the rows that stands for the AUC.
    """
    honest = rows[rows["labels"] == "pu"]
    best = honest.pivot_table(index=["column", "data", "seed"], columns="kind", values=metric, aggfunc="max")
    best["any PU"] = best[[kind for kind in ("pu", "pu_oc") if kind in best]].max(axis=1)
    return best


def _families(best: pd.DataFrame) -> dict[str, str]:
    """Return the families that the rows have, by their kind."""
    return {kind: name for kind, name in FAMILIES.items() if kind in best}


def labelling_families() -> Lines:
    """Best AUC of each family by labelling, and the lead of the best PU or PU-OC method over the best OC method."""
    best = best_of_families(_rows())
    best["lead"] = best["any PU"] - best["oc"]
    families = _families(best)
    by_table = best.groupby(["column", "data"])[[*families, "lead"]].mean()
    scar = by_table.loc["SCAR", "lead"]
    changes = {column: (by_table.loc[column, "lead"] - scar).dropna() for column in COLUMNS[1:]}
    tests = [
        [signed_rank_test(change.to_numpy()).p for change in changes.values()],
        [float(stats.ttest_1samp(change, 0).pvalue) for change in changes.values()],
    ]
    shown = [column for raw in tests for column in (raw, holm(raw))]
    by_column = {column: [f"{p:.3f}" for p in ps] for column, *ps in zip(changes, *shown, strict=True)}
    lines = [["labelling", *families.values(), "OC is best in", "lead of PU over OC", "change from SCAR"]]
    lines[0] += ["signed rank: p", "Holm", "t: p", "Holm"]
    for column in COLUMNS:
        part, cells = by_table.loc[column], best.loc[column]
        ahead = f"{int((cells['lead'] < 0).sum())} of {len(cells)}"
        means = [f"{part[kind].mean():.2f}" for kind in families]
        test = [""] * 5
        if column in changes:
            test = [_interval(changes[column]), *by_column[column]]
        lines.append([column, *means, ahead, _interval(part["lead"]), *test])
    return lines


def labelling_metrics() -> Lines:
    """In how many draws a one-class method is the best one, by labelling and metric.

    Tables that have a fit without scores, from which the metrics are computed, are left out.
    """
    rows = _rows()
    values = pd.DataFrame(
        [json.loads(text) if isinstance(text, str) else {} for text in rows["metrics"]], index=rows.index
    )
    rows = rows.join(values[list(METRICS)])
    without = rows.loc[rows[list(METRICS)].isna().any(axis=1), "data"]
    rows = rows[~rows["data"].isin(without)]
    names = {"auc": "ROC AUC", **METRICS}
    lines = [["labelling", "draws", *names.values()]]
    best = {metric: best_of_families(rows, metric) for metric in names}
    for column in [one for one in COLUMNS if one in best["auc"].index]:
        parts = [best[metric].loc[column] for metric in names]
        lines.append([column, str(len(parts[0])), *(str(int((one["oc"] > one["any PU"]).sum())) for one in parts)])
    return lines


def labelling_turns() -> Lines:
    """The best family of each table by labelling, with its mean AUC and its lead over the next family."""
    best = best_of_families(_rows())
    best = best.groupby(["column", "data"])[list(_families(best))].mean()
    lines = [["table", *COLUMNS]]
    for data in dict.fromkeys(_rows()["data"]):
        cells = []
        for column in COLUMNS:
            if (column, data) not in best.index:
                cells.append("")
                continue
            ranked = best.loc[(column, data)].sort_values(ascending=False)
            cells.append(f"{FAMILIES[ranked.index[0]]} {ranked.iloc[0]:.2f} (+{ranked.iloc[0] - ranked.iloc[1]:.2f})")
        lines.append([data, *cells])
    return lines


def _interval(values: pd.Series) -> str:
    """Return the mean with its 95 % interval by a bootstrap over tables."""
    drawn = np.random.default_rng(0).choice(values.to_numpy(), (_DRAWS, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{values.mean():+.2f} ({low:+.2f} to {high:+.2f})"


def picture(path: Path) -> None:
    """Draw the best AUC of each family over the labellings, a panel for each table."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams |= {"svg.hashsalt": "labelling", "svg.fonttype": "none"}  # equal rows give an equal, small file
    best = best_of_families(_rows())
    best = best.groupby(["column", "data"])[list(_families(best))].mean()
    tables = list(dict.fromkeys(_rows()["data"]))
    across = (len(tables) + 1) // 2
    figure = Figure(figsize=(3.4 * across, 7), layout="constrained")
    panels = figure.subplots(2, across, sharex=True, sharey=True).ravel()
    for axes, data in zip(panels, tables, strict=False):
        there = [column for column in COLUMNS if (column, data) in best.index]
        places = [COLUMNS.index(column) for column in there]
        for kind, name in _families(best).items():
            values = [best.loc[(column, data), kind] for column in there]
            axes.plot(places, values, marker="o", markersize=4, linewidth=1, label=name)
        axes.axhline(0.5, color="grey", linewidth=0.8, linestyle="--")
        axes.set_title(data)
        axes.set_xticks(range(len(COLUMNS)), COLUMNS, rotation=60, ha="right")
    for axes in panels[len(tables) :]:
        axes.set_visible(False)
    panels[0].legend(fontsize=8)
    figure.supylabel("highest AUC of a method of the family")
    figure.savefig(path, metadata={"Date": None})


def keep(project: Path) -> str:
    """Bring the rows of a project's tables together, draw the picture, and return what is left out.

    Tables without results, and methods without a result in some trial, are left out as a whole.
    """
    names = YAML(typ="safe", pure=True).load(PROFILE)["tables"]
    paths = {name: project / "results" / "tables" / f"{name}.parquet" for name in names}
    missing = {name.removesuffix("_noise") for name, path in paths.items() if not path.exists()}
    found = [path for name, path in paths.items() if name.removesuffix("_noise") not in missing]
    if not found:
        raise ValueError(f"{project}: no results of {', '.join(names)}; expected those of profiles/labelling.yaml")
    rows = pd.concat([pd.read_parquet(path)[_KEPT] for path in found], ignore_index=True)
    partly = set(rows.loc[rows["status"] != "ok", "entry"])
    rows = rows[~rows["entry"].isin(partly)]
    rows.to_parquet(EVIDENCE, index=False, compression="zstd")
    picture(PICTURE)
    return ", ".join(sorted(missing | partly)) or "nothing"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a project that ran profiles/labelling.yaml")
    try:
        sys.stdout.write(f"left out: {keep(parser.parse_args().folder)}\n")
    except (ValueError, OSError) as error:
        parser.error(str(error))
