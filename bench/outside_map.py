"""`puoc assess` judged outside of the robustness map: fewer positives in U, more labelled ones, rows of one value.

    python bench/outside_map.py --parts PARTS                                   # computes what is missing
    python bench/outside_map.py --parts PARTS --merge --out docs/evidence/outside_map.parquet

The data are those that the map was computed on, with another seed, so that only the named quantity is outside of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import torch
from judged import answered
from populations import Blobs, learned_on, measured, together

from puoc.scenarios.drawing.simulate import Population

SEED = 400
N_U = 500
MANY = 800  # labelled positives


class Cell(NamedTuple):
    """A situation outside of the map, by what is outside."""

    outside: str
    name: str
    population: Population
    n_p: int
    n_u: int
    alpha: float


def cells() -> Iterator[Cell]:
    """What is judged. The map has alphas from .3, 80 to 300 labelled positives and rows of 2 to 784 values."""
    named = learned_on()
    for name, (population, n_p) in named.items():
        for alpha in (0.02, 0.1):
            yield Cell(f"alpha {alpha:g}", name, population, n_p, N_U, alpha)
        if isinstance(population, Blobs):
            for alpha in (0.3, 0.5, 0.8):
                yield Cell(f"{MANY} labelled positives", name, population, MANY, N_U, alpha)
    for seed, alpha in product((4, 5), (0.3, 0.5, 0.8)):
        yield Cell("rows of one value", f"blobs, 1 value, {seed}", Blobs(1, 4.0, seed), 300, N_U, alpha)


def main() -> None:
    """Compute the parts that are missing, or put them together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=Path, required=True)
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.merge:
        answered(together(asked.parts)).to_parquet(asked.out)
        return
    asked.parts.mkdir(parents=True, exist_ok=True)
    for at, cell in enumerate(cells()):
        path = asked.parts / f"{at:03d}.parquet"
        if not path.exists():
            rows = measured(cell.name, cell.population, cell.n_p, SEED, cell.n_u, cell.alpha)
            pd.DataFrame([row | {"outside": cell.outside} for row in rows]).to_parquet(path.with_suffix(".tmp"))
            path.with_suffix(".tmp").rename(path)


if __name__ == "__main__":
    main()
