"""Count the verdicts on the published numbers from results/compare alone, by pyarrow and without the package.

    python tests/count_verdicts.py PROJECT

prints the counts by table as JSON. A number counts once: by its row that is closest to the paper's setup, then by the
row with the most seeds, then by the first row of the file.
"""

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq

STATES = ["reproduced", "differs", "not decided", "void", "not run"]


def closeness(row: dict) -> int:
    if not row["n"] or row["verdict"] == "not run":
        return 0
    if row["verdict"] == "void":
        return 1
    return 2 if row["differs_in"] else 3


def chosen(rows: list[dict]) -> dict:
    best = rows[0]
    for row in rows[1:]:
        if closeness(row) > closeness(best) or (closeness(row) == closeness(best) and row["n"] > best["n"]):
            best = row
    return best


def main() -> None:
    folder = Path(sys.argv[1]) / "results" / "compare"
    numbers: dict[str, list[dict]] = {}
    for row in pq.read_table(folder / "verdicts.parquet").to_pylist():
        numbers.setdefault("\n".join([row["published"], row["method"], row["column"]]), []).append(row)
    kept = [chosen(rows) for rows in numbers.values()]
    tables: dict[str, dict[str, int]] = {"all": dict.fromkeys([*STATES, "changed"], 0)}
    own = dict.fromkeys(STATES, 0)
    for row in kept:
        counts = tables.setdefault(row["published"], dict.fromkeys([*STATES, "changed"], 0))
        for part in (tables["all"], counts):
            part[row["verdict"]] += 1
            part["changed"] += closeness(row) == 2
        own[row["verdict_own_spread"] or "not run"] += 1
    claims: dict[str, int] = {}
    for row in pq.read_table(folder / "claims.parquet", columns=["verdict"]).to_pylist():
        claims[row["verdict"]] = claims.get(row["verdict"], 0) + 1
    sys.stdout.write(json.dumps({"tables": tables, "own": own, "claims": claims}))


if __name__ == "__main__":
    main()
