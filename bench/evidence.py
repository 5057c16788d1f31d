"""Compute a profile with the present code and write its rows to docs/evidence, from which the docs' tables are made.

    python bench/evidence.py quick
    python bench/evidence.py cifar10_small --project build/evidence/cifar10_small

``make evidence PROFILE=quick`` does the same. The profile runs by ``dvc repro`` in its own project with its own ledger,
so that no row comes from records of earlier code. After an interruption run it again: the ledger keeps each fit. The
file keeps the columns that it has, and gets those of the metrics.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import yaml

ROOT = Path(__file__).resolve().parents[1]
EVIDENCE = ROOT / "docs" / "evidence"
_COPIED = ("dvc.yaml", "data.dvc", "tuning", "profiles")
_LINKED = ("src", "data", ".venv")
_METRICS = ("metrics", "metrics_val_pu")


def make_project(folder: Path, profile: str) -> None:
    """Make a project with this repository's code and data, and the profile as its params.yaml."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in _COPIED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)
    (ROOT / "data").mkdir(exist_ok=True)
    for name in _LINKED:
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    (folder / "own").mkdir(exist_ok=True)
    shutil.copy2(ROOT / "profiles" / f"{profile}.yaml", folder / "params.yaml")
    if not (folder / ".dvc").exists():
        subprocess.run([sys.executable, "-m", "dvc", "init", "--no-scm", "--quiet"], cwd=folder, check=True)


def collect(folder: Path) -> pd.DataFrame:
    """Return the rows of all tables of a finished project, in the order of its params.yaml.

    Raises
    ------
    ValueError : a trial has no record or has failed.
    """
    names = yaml.safe_load((folder / "params.yaml").read_text())["tables"]
    tables = [pd.read_parquet(folder / "results" / "tables" / f"{name}.parquet") for name in names]
    rows = pd.concat(tables, ignore_index=True)
    bad = rows[rows["status"].isin(["missing", "failed"])]
    if len(bad):
        first = bad.iloc[0]
        place = f"{first['table']}, {first['entry']}, {first['cell']}, seed {first['seed']}"
        raise ValueError(f"{len(bad)} trials have no result, the first is {place}: {first['reason']}")
    return rows


def write(rows: pd.DataFrame, path: Path) -> None:
    """Write rows with the columns of the file that is there and those of metrics, or with all of them."""
    columns = [name for name in pq.read_schema(path).names if name in rows] if path.exists() else list(rows)
    columns += [name for name in _METRICS if name in rows and rows[name].notna().any() and name not in columns]
    rows[columns].to_parquet(path, index=False)


def main() -> None:
    """Compute the profile, write its rows and the tables of the docs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profile", help="name of a file of profiles/, without its suffix")
    parser.add_argument("--project", type=Path, help="where to compute; default build/evidence/PROFILE")
    options = parser.parse_args()
    folder = (options.project or ROOT / "build" / "evidence" / options.profile).resolve()
    make_project(folder, options.profile)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run([sys.executable, "-m", "dvc", "repro"], cwd=folder, check=True, env={**os.environ, "PATH": path})
    write(collect(folder), EVIDENCE / f"{options.profile}.parquet")
    subprocess.run([sys.executable, ROOT / "docs" / "generate.py"], check=True)


if __name__ == "__main__":
    main()
