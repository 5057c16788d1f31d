"""Tables of docs/tables.md from the rows of the profiles tabular and tabular_more; imported by generate.py.

python docs/tabular_tables.py FOLDER                           # rows of a project that ran tabular to docs/evidence
python docs/tabular_tables.py FOLDER --profile tabular_more    # the same for the learners that came later

FOLDER can also be one that ``puoc published published/tabular --no-track`` opened. Its rows have the AUCs of the
published ones, and of the other metrics only those that a ROC curve determines.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from ruamel.yaml import YAML

from puoc.analysis.statistics.holm import holm
from puoc.analysis.statistics.signed_rank import signed_rank_test

HERE = Path(__file__).parent
EVIDENCE = HERE / "evidence" / "tabular.parquet"
MORE = HERE / "evidence" / "tabular_more.parquet"
HALVES = HERE / "evidence" / "defaults_by_halves.parquet"
BESIDE = HERE / "evidence" / "beside_libraries.parquet"
PROFILES = HERE.parent / "profiles"
FAMILIES = {"oc": "OC", "pu_oc": "PU-OC", "pu": "PU"}
_KEPT = ["table", "entry", "kind", "labels", "cell", "seed", "status", "auc", "fit_seconds", "metrics"]
_DRAWS = 10_000
_NEW = "new negatives"
Lines = list[list[str]]


def _rows(*files: Path) -> pd.DataFrame:
    rows = pd.concat([pd.read_parquet(path) for path in files or (EVIDENCE,)], ignore_index=True)
    rows.loc[rows["status"] == "failed", "auc"] = 0.5  # a fit that is refused ranks nothing
    shift = rows["table"].str.endswith("_shift")
    rows["column"] = np.where(shift, _NEW, rows["cell"].str.replace("=", " "))
    return rows


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC over seeds, by table and column, of each entry."""
    return rows.pivot_table(index=["table", "column"], columns="entry", values="auc", aggfunc="mean")


def _columns(rows: pd.DataFrame) -> list[str]:
    return [*sorted(set(rows["column"]) - {_NEW}), _NEW]


def tabular_ranks() -> Lines:
    """Mean AUC of each method by column, its mean rank over tables, and its lead over ``knn`` with a test."""
    return _ranked(_rows())


def more_ranks() -> Lines:
    """The same for all learners of both profiles, on the seeds of the second one.

    Raises
    ------
    ValueError : the profiles differ in an AUC of ``knn``, so that their rows are not the same.
    """
    rows = _rows(EVIDENCE, MORE)
    rows = rows[rows["seed"].isin(pd.read_parquet(MORE)["seed"].unique())]
    cell = ["table", "entry", "cell", "seed"]
    twice = rows[rows["entry"] == "knn"].groupby(cell)["auc"].agg(["nunique", "size"])
    if not (twice == [1, 2]).all(axis=None):
        raise ValueError(f"tabular and tabular_more: {(twice['nunique'] > 1).sum()} AUCs of knn differ; expected 0")
    return _ranked(rows.drop_duplicates(cell))


def _ranked(rows: pd.DataFrame) -> Lines:
    means, kinds = _means(rows), rows.groupby("entry")["kind"].first()
    known = means[means.index.get_level_values("column") != _NEW]
    by_table = known.groupby("table").mean()
    ranks = by_table.rank(axis=1, ascending=False).mean()
    leads = by_table.sub(by_table["knn"], axis=0).drop(columns="knn")
    raw = {entry: signed_rank_test(leads[entry].to_numpy()).p for entry in leads}
    adjusted = dict(zip(raw, holm(list(raw.values())), strict=True))
    columns = _columns(rows)
    lines = [["method", "family", *columns, "mean rank", "lowest table", "lead over `knn`", "p (Holm)"]]
    for entry in ranks.sort_values().index:
        aucs = [f"{means[entry].xs(column, level='column').mean():.3f}" for column in columns]
        lead = ["", ""] if entry == "knn" else [f"{leads[entry].mean():+.3f}", _p(adjusted[entry])]
        lines.append(
            [f"`{entry}`", FAMILIES[kinds[entry]], *aucs, f"{ranks[entry]:.1f}", f"{by_table[entry].min():.2f}", *lead]
        )
    return lines


def tabular_families() -> Lines:
    """How often each family has the best method of a cell, and the leads of the best PU and PU-OC over the best OC.

    ``oc_svm`` is left out: its linear kernel takes a direction from the centre, and the encoder centres by P and U.
    """
    rows = _rows()
    rows = rows[rows["entry"] != "oc_svm"]
    means, kinds = _means(rows), rows.groupby("entry")["kind"].first()
    best = pd.DataFrame({name: means[kinds.index[kinds == kind]].max(axis=1) for kind, name in FAMILIES.items()})
    lines = [
        ["cells", "tables", *(f"{name} best" for name in FAMILIES.values()), "PU - OC", "PU-OC - OC", "PU-OC - PU"]
    ]
    for column in _columns(rows):
        part = best.xs(column, level="column")
        often = part.idxmax(axis=1).value_counts()
        lines.append(
            [
                column,
                str(len(part)),
                *(str(often.get(name, 0)) for name in FAMILIES.values()),
                *(_interval(part[a] - part[b]) for a, b in (("PU", "OC"), ("PU-OC", "OC"), ("PU-OC", "PU"))),
            ]
        )
    return lines


def tabular_halves() -> Lines:
    """Mean AUC of each method on two halves of the tables, by family and by the half that chose the defaults.

    The first, third, ... table by name is in that half. ``oc_svm`` is left out as in ``tabular_families``.
    """
    rows = _rows()
    rows = rows[(rows["entry"] != "oc_svm") & (rows["column"] != _NEW)]
    means, kinds = _means(rows).groupby("table").mean(), rows.groupby("entry")["kind"].first()
    seconds = rows.groupby("entry")["fit_seconds"].mean()
    lines = [["family", "method", "half that chose", "half that judged", "seconds of a fit"]]
    for kind, family in FAMILIES.items():
        part = means[kinds.index[kinds == kind]].sort_index()
        halves = part.iloc[::2].mean(), part.iloc[1::2].mean()
        lines += [
            [family, f"`{entry}`", *(f"{half[entry]:.3f}" for half in halves), f"{seconds[entry]:.2f}"]
            for entry in halves[0].sort_values(ascending=False).index
        ]
    return lines


def oc_halves() -> Lines:
    """Mean AUC of the packaged one-class methods on both halves, and of the best other candidate of the first half."""
    rows = pd.read_parquet(HALVES)
    means = (
        rows.groupby(["method", "change", "packaged", "half"], sort=False)["auc"].mean().unstack("half").reset_index()
    )
    lowest = rows.groupby(["method", "change"])["auc"].min()
    head = ["method", "half that chose", "half that judged", "lowest table"]
    lines = [[*head, "best other candidate on the first half", "there", "half that judged"]]
    packaged = means[means["packaged"]].sort_values("judge", ascending=False)
    for _, own in packaged.iterrows():
        found = [f"{own['choose']:.3f}", f"{own['judge']:.3f}", f"{lowest[own['method'], own['change']]:.2f}"]
        others = means[(means["method"] == own["method"]) & ~means["packaged"]]
        other = others.loc[others["choose"].idxmax()]
        change = other["change"] or "as released"
        lines.append([f"`{own['method']}`", *found, change, f"{other['choose']:.3f}", f"{other['judge']:.3f}"])
    return lines


def beside_libraries() -> Lines:
    """Mean AUC of each method that was called without puoc, and the largest difference of the adapter's scores."""
    rows = pd.read_parquet(BESIDE)
    n = rows["table"].nunique()
    lines = [["library", "its own call", f"mean AUC on {n} tables", "adapter of puoc, largest difference of a score"]]
    for (source, method), part in rows.groupby(["source", "method"], sort=False):
        if source != "puoc":
            far = part["difference"].max()
            by = "none" if np.isnan(far) else "0" if far == 0 else f"{far:.0e}"
            lines.append([str(source), f"`{method}`", f"{part['auc'].mean():.3f}", by])
    return lines


def best_in_registry() -> Lines:
    """How often the best method of a table is one that puoc has, its adapters with and without."""
    rows = pd.read_parquet(BESIDE)
    ours = rows["source"] == "puoc"
    kinds = {"methods of puoc": ours, "and detectors and classifiers that its adapters take": rows["in_registry"]}
    best = rows.groupby("table")["auc"].max()
    lines = [["methods", "number", "tables on which one of them is the best", "largest distance to the best"]]
    for name, mask in kinds.items():
        behind = best - rows[mask].groupby("table")["auc"].max()
        number = str(rows[mask].groupby(["source", "method"]).ngroups)
        lines.append([name, number, f"{(behind <= 0).sum()} of {len(best)}", f"{behind.max():.4f}"])
    return lines


def _interval(differences: pd.Series) -> str:
    """Mean with a 95 % bootstrap interval over tables."""
    values = differences.to_numpy()
    draws = np.random.default_rng(0).choice(values, (_DRAWS, len(values))).mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return f"{values.mean():+.3f} ({low:+.3f} to {high:+.3f})"


def _p(value: float) -> str:
    return "< .001" if value < 0.001 else f"{value:.3f}"


def main() -> None:
    """Write the rows of a project."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--profile", choices=("tabular", "tabular_more"), default="tabular")
    asked = parser.parse_args()
    names = YAML(typ="safe").load(PROFILES / f"{asked.profile}.yaml")["tables"]
    rows = pd.concat([pd.read_parquet(asked.folder / "results" / "tables" / f"{name}.parquet") for name in names])
    missing = rows[~rows["status"].isin(["ok", "failed"])]
    if len(missing):
        raise SystemExit(f"{len(missing)} trials without a result, the first: {missing.iloc[0].to_dict()}")
    path = MORE if asked.profile == "tabular_more" else EVIDENCE
    rows[_KEPT].to_parquet(path, index=False, compression="zstd")


if __name__ == "__main__":
    main()
