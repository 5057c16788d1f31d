"""Own data in a project's folder, and params that ask about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from own_files import Said, puoc
from PIL import Image

from puoc.run.stages import run_part

PARAMS = """
compute: {workers: 1, lane_map: loop, models: all, device: cpu}
datasets:
  mine: DATA
tables:
  table: {scenario: own, dataset: mine, seeds: 2, configs: published, methods: [oc_svm, pu_svm]MORE}
tune: {}
methods:
  oc_svm: {encoder: flatten, params: {kernel: linear, nu: 0.5}}
  pu_svm:
    encoder: flatten
    prior: {fixed: 0.4}
    params: {solver: exact, kernel: linear, risk: non_negative, lam: 0.01}
  pu_told:
    method: pu_svm
    prior: true
    params: {solver: exact, kernel: linear, risk: non_negative, lam: 0.01}
  oracle:
    method: naive
    labels: oracle
    params: {lr: 1.0e-2, lr_decay: 1.0, epochs: 1, batch_size: 64, batching: union}
  oc_lstm:
    params: {lr: 1.0e-2, lr_decay: 1.0, epochs: 2, batch_size: 32, batching: p, hidden: 4, pooling: last, nu: 0.5,
             training: alternating}
"""
PLAIN = "{kind: table, positives: own/p.csv, unlabelled: own/u.csv}"
TESTED = "{kind: table, positives: own/p.csv, unlabelled: own/u.csv, test: own/t.csv, label: y}"


def people(n: int, seed: int, shift: float) -> pd.DataFrame:
    """Rows whose first column tells the classes apart."""
    rng = np.random.default_rng(seed)
    values = {"size": rng.normal(shift, 1, n).round(3), "age": rng.normal(size=n).round(3)}
    return pd.DataFrame({**values, "city": rng.choice(["Ulm", "Rom"], n)})


def tables(root: Path, shared: int = 0, repeated: int = 0) -> None:
    """40 labelled positives, 60 unlabelled rows and 40 test rows.

    Parameters
    ----------
    shared : labelled positives that are test rows too, beside the 40.
    repeated : labelled positives that stand among the unlabelled rows, too.
    """
    (root / "own").mkdir(exist_ok=True)
    p = people(40, 1, 1.5)
    u = pd.concat([people(24, 2, 1.5), people(36, 3, -1.5), p.iloc[:repeated]])
    test = [people(20, 4, 1.5).assign(y=1), people(20, 5, -1.5).assign(y=0), p.iloc[:shared].assign(y=1)]
    for name, rows in (("p", p), ("u", u), ("t", pd.concat(test))):
        rows.to_csv(root / "own" / f"{name}.csv", index=False)


def texts(root: Path) -> None:
    """Texts, one a line, with test texts in a folder."""
    (root / "own" / "test").mkdir(parents=True)
    rng = np.random.default_rng(0)
    words = {"ham": ["cake", "tea", "home", "dinner", "walk"], "spam": ["prize", "win", "cash", "offer", "call"]}

    def lines(kind: str, n: int) -> list[str]:
        return [" ".join([*rng.choice(words[kind], 3), *rng.choice(["the", "a", "now", "me"], 2)]) for _ in range(n)]

    found = {"p": lines("ham", 30), "u": [*lines("ham", 20), *lines("spam", 20)]}
    found |= {"test/positive": lines("ham", 10), "test/negative": lines("spam", 10)}
    known = set(found["p"]) | set(found["u"])
    for name, of in found.items():
        kept = [line for line in dict.fromkeys(of) if "test" not in name or line not in known]
        (root / "own" / f"{name}.txt").write_text("\n".join(kept) + "\n")


def pictures(root: Path) -> None:
    """Grey pictures: noise with a bright half, on the left of positives and on the right of negatives."""
    rng = np.random.default_rng(0)
    for name, left, right in (("p", 30, 0), ("u", 20, 20), ("test/positive", 8, 0), ("test/negative", 0, 8)):
        folder = root / "own" / name
        folder.mkdir(parents=True)
        for i in range(left + right):
            picture = rng.integers(0, 120, (12, 12)).astype(np.uint8)
            picture[:, slice(0, 6) if i < left else slice(6, 12)] += 120
            Image.fromarray(picture).save(folder / f"{i:02d}.png")


def ask(root: Path, data: str = PLAIN, more: str = "", *changes: tuple[str, str]) -> Said:
    """Write params and plan them."""
    text = PARAMS.replace("DATA", data).replace("MORE", f", {more}" if more else "")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (root / "params.yaml").write_text(text)
    return puoc("plan")


def does(*commands: str, expect: int = 0) -> str:
    """Run commands that must end with this code; what the last one said."""
    said = ""
    for command in commands:
        code, said = puoc(*command.split())
        assert code == expect, f"{command}: {said}"
    return said


def computes(*names: str) -> None:
    """Compute tables and sweeps of the project here, as their commands do but for MLflow, which takes seconds."""
    for name in names:
        part: Any = "tables" if Path(f"work/plan/tables/{name}.json").exists() else "tune"
        assert run_part(Path(), part, name)["failed"] == 0


def rows(root: Path, name: str = "table") -> list[dict[str, Any]]:
    """Rows of a table's results."""
    found: list[dict[str, Any]] = pd.read_parquet(root / "results" / "tables" / f"{name}.parquet").to_dict("records")
    return found
