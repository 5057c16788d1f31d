"""Which metrics the stored rows have, for tables and sentences of docs; imported by generate.py.

python docs/evidence_metrics.py labelling FOLDER    # metrics of a project that computed the same trials again

A row takes the metrics of its trial from FOLDER if the AUC is the same to the last bit.

``FEWER`` is the one place that names the files of docs/evidence with rows of fewer than eight metrics, with the reason.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import cache
from pathlib import Path

import pandas as pd

from puoc.analysis.metrics import curve_metrics
from puoc.analysis.metrics.curve import StoredCurve
from puoc.analysis.statistics import roc

EVIDENCE = Path(__file__).parent / "evidence"
PUBLISHED = Path(__file__).parents[1] / "published" / "paper"
ENOUGH = 8  # metrics of a row
Lines = list[list[str]]

_CURVES = "the results that they come from keep ROC curves instead of scores, and computed again they had another AUC"
_LOST = "no scores of these runs were kept, so the AUC is all that is known"
_STUDY = "a script of `bench/` measures the AUC alone, outside of a ledger"
_RUNS = ("cifar10_methods", "cifar10_small", "enlarged", "grids", "lstm_pendigits", "paper_small")
_STUDIES = (
    *("assess_fresh", "assess_judged", "assess_tables", "autoencoder", "beside_libraries", "collapse"),
    *("defaults_by_halves", "judged", "last_epoch", "left_out", "machines", "outside_map", "robustness_map"),
)
#: The files that have rows with fewer metrics, and why.
FEWER = {"tabular": _CURVES, "cifar10": f"{_LOST}; they used a GPU"}
FEWER |= dict.fromkeys(_RUNS, _LOST) | dict.fromkeys(_STUDIES, _STUDY)


@cache
def metric_counts() -> pd.DataFrame:
    """Return a row for each file of docs/evidence that has AUCs: its rows, and those with ``ENOUGH`` metrics.

    A fit of a row without a result counts as neither.
    """
    found = []
    for path in sorted(EVIDENCE.glob("*.parquet")):
        rows = pd.read_parquet(path)
        if any(is_auc(str(name)) for name in rows):
            ok = rows[rows["status"] == "ok"] if "status" in rows else rows
            found.append({"file": path.stem, "rows": len(ok), "enough": int((number_of_metrics(ok) >= ENOUGH).sum())})
    return pd.DataFrame(found).set_index("file")


def is_auc(column: str) -> bool:
    """Return True for a column of a file of docs/evidence that holds AUCs of fits."""
    return column.startswith("auc") or column in ("OC", "OC none", "oc_svm")


def number_of_metrics(rows: pd.DataFrame) -> pd.Series:
    """Return the number of metrics of test rows that each row has: 1, the AUC, for rows without others."""
    if "metrics" not in rows:
        return pd.Series(1, index=rows.index)
    return rows["metrics"].map(lambda text: len({"auc", *json.loads(text)}) if isinstance(text, str) else 1)


def rows_with_metrics() -> Lines:
    """Rows of each file with eight metrics or more, and why others have fewer."""
    lines = [["file of `docs/evidence`", "rows", "with eight metrics or more", "why others have fewer"]]
    counts = metric_counts()
    for file, (rows, enough) in counts.sort_values("enough", ascending=False, kind="stable").iterrows():
        lines.append([f"`{file}`", f"{rows:,}", f"{enough:,}", FEWER.get(str(file), "")])
    return lines


def published_metrics() -> Lines:
    """Metrics that the ROC curves of published/paper determine."""
    names = ["auc", "precision_at_recall_90", "recall_at_fpr_01"]
    lines = [["rows of", "stored", "rows", *(f"`{name}`" for name in names)]]
    for path in sorted(PUBLISHED.glob("*.parquet")):
        trials = [one for text in pd.read_parquet(path, columns=["trials"])["trials"] for one in json.loads(text)]
        values = [
            curve_metrics(StoredCurve(one["auc"], roc.decode(one["roc"]), one["n_pos"], one["n_neg"])) for one in trials
        ]
        counts = [str(sum(name in one for one in values)) for name in names]
        lines.append([f"`published/paper/{path.name}`", "ROC curves", str(len(values)), *counts])
    return lines


def sentence(file: str) -> str:
    """Return what stands beside a table: which metrics the rows of a file have, and why."""
    counts = metric_counts()
    rows, enough = (int(number) for number in counts.loc[file])
    if enough == rows:
        said = f"Each of the {rows:,} rows has eight metrics or more."
    elif enough:
        said = f"{enough:,} of the {rows:,} rows of `{file}` have eight metrics or more. For the others, {FEWER[file]}."
    else:
        said = f"The {rows:,} rows of `{file}` have fewer than eight metrics: {FEWER[file]}."
    return f"{said}\n"


def fill(file: str, project: Path) -> str:
    """Give rows of a file the metrics of their trials in a project, and return what was done.

    Raises
    ------
    ValueError : the project has no results of tables.
    """
    paths = sorted((project / "results" / "tables").glob("*.parquet"))
    if not paths:
        raise ValueError(f"{project}: no results/tables/*.parquet there; expected a project that computed these trials")
    rows = pd.read_parquet(EVIDENCE / f"{file}.parquet")
    keys = ["trial_id"] if "trial_id" in rows else ["table", "entry", "cell", "seed"]
    again = pd.concat([pd.read_parquet(path, columns=[*keys, "auc", "metrics"]) for path in paths])
    again = again.dropna(subset="metrics").drop_duplicates(keys)
    found = rows[[*keys, "auc"]].merge(again.rename(columns={"auc": "found"}), on=keys, how="left", validate="m:1")
    same = found["found"] == found["auc"]
    more = same & (number_of_metrics(found) > number_of_metrics(rows))
    if more.any():
        rows["metrics"] = rows["metrics"].mask(more, found["metrics"])
        rows.to_parquet(EVIDENCE / f"{file}.parquet", index=False, compression="zstd")
    metric_counts.cache_clear()
    n, other, got = (int(which.sum()) for which in (same, found["found"].notna() & ~same, more))
    return f"{n} rows were computed again with the same AUC, and {other} with another; {got} got more metrics"


def main() -> None:
    """Fill a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", choices=("labelling", "tabular"), help="file of docs/evidence")
    parser.add_argument("folder", type=Path, help="a project that computed trials of the file")
    asked = parser.parse_args()
    try:
        sys.stdout.write(f"{fill(asked.file, asked.folder)}\n")
    except (ValueError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
