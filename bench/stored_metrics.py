"""Count the metrics that stored results determine: no fit is computed, and nothing but the stored files is read.

    python bench/stored_metrics.py published/paper docs/evidence
    python bench/stored_metrics.py PROJECT/results/tables --out metrics.csv

A folder of published results has ROC curves. A folder of Parquet files may have rows of tables: those of this version
have the metrics of the ledger's scores, or of the curves of published results, and older ones have the AUCs alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pandas as pd

from puoc.analysis.metrics import curve_metrics, metrics
from puoc.analysis.metrics.curve import StoredCurve
from puoc.analysis.statistics import roc

_AUCS = ("auc", "auc_val_pu")


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


def main() -> None:
    """Print a line for each file, and write all values if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, help="CSV file with one row for each trial and one column for each metric")
    args = parser.parse_args()
    found = []
    say("| rows of | stored | rows | metrics determined (rows) |\n|---|---|---|---|")
    for path in [path for folder in args.folders for path in sorted(folder.glob("*.parquet"))]:
        rows = pd.read_parquet(path)
        stored, values = _published(rows) if "trials" in rows else _table(rows)
        if not values:
            continue
        counts = {name: sum(name in one for one in values) for name in metrics()}
        said = ", ".join(f"{name} ({n})" for name, n in counts.items() if n)
        say(f"| `{path}` | {stored} | {len(values)} | {said} |")
        found += [{"file": str(path)} | one for one in values]
    say(f"\n{len(found)} rows, 0 fits computed")
    if args.out is not None:
        pd.DataFrame(found).to_csv(args.out, index=False)


def _published(rows: pd.DataFrame) -> tuple[str, list[dict[str, float]]]:
    """Return the metrics of published trials, which have their ROC curves."""
    values = []
    for text in rows["trials"]:
        for trial in json.loads(text):
            curve = StoredCurve(trial["auc"], roc.decode(trial["roc"]), trial["n_pos"], trial["n_neg"])
            values.append({"trial_id": trial["trial_id"]} | curve_metrics(curve))
    return "ROC curves", values


def _table(rows: pd.DataFrame) -> tuple[str, list[dict[str, float]]]:
    """Return the metrics of rows of a table; none for files that have no AUC of a trial."""
    if "auc" not in rows or not {"trial_id", "tune", "method"} & set(rows.columns):
        return "", []
    ok = rows[rows["status"] == "ok"] if "status" in rows else rows
    values = []
    for row in ok.to_dict("records"):
        read = [json.loads(row[key]) for key in ("metrics", "metrics_val_pu") if isinstance(row.get(key), str)]
        known = {name: row[name] for name in _AUCS if name in row and pd.notna(row[name])}
        trial = {"trial_id": row.get("trial_id", "")}
        values.append(trial | known | {name: value for one in read for name, value in one.items()})
    return "metrics" if "metrics" in ok else "AUCs", values


if __name__ == "__main__":
    main()
