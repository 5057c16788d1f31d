"""The means as files that ``dvc metrics show`` and ``dvc plots show`` read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from puoc.analysis.tables.summary import SummaryRow
from puoc.store.atomic import write_bytes

METRICS, CURVES = "metrics.json", "curves"
_COLUMNS = ("entry", "cell", "cell_index", "n", "mean", "std")


def write_dvc_files(folder: Path, summary: Sequence[SummaryRow]) -> None:
    """Write the averages over the cells to ``metrics.json``, and the means of each table to ``curves/TABLE.csv``.

    Equal results give equal bytes. Files of tables that are not compared any more are removed.
    """
    averages: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for row in summary:
        if row.is_average and row.mean is not None:
            numbers = {"mean": row.mean, "n": row.n} | ({} if row.std is None else {"std": row.std})
            averages.setdefault(row.table, {}).setdefault(row.entry, {})[row.metric] = numbers
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(folder / METRICS, f"{json.dumps(averages, indent=1, sort_keys=True)}\n".encode())
    curves = folder / CURVES
    curves.mkdir(exist_ok=True)
    by_table: dict[str, list[SummaryRow]] = {}
    for row in summary:
        if not row.is_average and row.mean is not None:
            by_table.setdefault(row.table, []).append(row)
    for table, rows in by_table.items():
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows(["" if (value := getattr(row, name)) is None else value for name in _COLUMNS] for row in rows)
        write_bytes(curves / f"{table}.csv", out.getvalue().encode())
    for path in curves.glob("*.csv"):
        if path.stem not in by_table:
            path.unlink()
