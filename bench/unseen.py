"""Measure the rules for rows that are unlike the training rows.

``far``: pairs of samples of one distribution, 20 columns each, in which no value is out of place. A table counts the
pairs in which a column is noted, by the rule of puoc and by a rule that notes every value more than the width of the
training range outside of it; and the pairs in which a first column times 1,000 is noted.

``constant``: each of the ten classes of scikit-learn's 8x8 digits as positives. Many pixels have one value in all of
them. A table has the mean AUC of a one-class SVM without these columns, with them in raw units, and with a column that
says whether a row has the value of the training rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.readers.training_range import Far, TrainingRange

Rows = NDArray[np.float64]
_COLUMNS = 20
_SIZES = ((50, 50), (50, 1000), (500, 500), (500, 1))  # training and new rows
_SHAPES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Rows]] = {
    "uniform": lambda rng, size: rng.random(size),
    "normal": lambda rng, size: rng.normal(size=size),
    "exponential": lambda rng, size: rng.exponential(size=size),
    "t, 2 degrees": lambda rng, size: rng.standard_t(2, size),
    "lognormal, sigma 1": lambda rng, size: rng.lognormal(0, 1, size),
    "lognormal, sigma 2": lambda rng, size: rng.lognormal(0, 2, size),
    "Cauchy": lambda rng, size: rng.standard_cauchy(size),
    "Pareto .7": lambda rng, size: rng.pareto(0.7, size),
    "80 % zeros": lambda rng, size: rng.pareto(1.5, size) * (rng.random(size) < 0.2),
    "Poisson .2": lambda rng, size: rng.poisson(0.2, size).astype(float),
    "Zipf 2": lambda rng, size: rng.zipf(2.0, size).astype(float),
}


def far(pairs: int) -> None:
    """Print the table of ``far``: counts of pairs."""
    _say("| distribution | training rows | new rows | noted | noted by the simple rule | times 1,000 noted |")
    _say("|---|---|---|---|---|---|")
    for name, draw in _SHAPES.items():
        for n, m in _SIZES:
            noted = simple = scaled = 0
            for pair in range(pairs):
                rng = np.random.default_rng([pair, n, m])
                train, new = draw(rng, (_COLUMNS, n)), draw(rng, (_COLUMNS, m))
                known = [(TrainingRange.of(p), v) for p, v in zip(train, new, strict=True) if p.min() < p.max()]
                noted += any(_noted(one, v) for one, v in known)
                simple += any(_far(one, v)[:2] != (0, 0) for one, v in known)
                scaled += bool(known) and _noted(known[0][0], 1000 * known[0][1])
            _say(f"| {name} | {n} | {m} | {noted} | {simple} | {scaled} |")


def _far(known: TrainingRange, x: Rows) -> Far:
    low, high = known.limits
    return Far(int((x < low).sum()), int((x > high).sum()), float(x.min()), float(x.max()))


def _noted(known: TrainingRange, x: Rows) -> bool:
    return known.is_noted(_far(known, x), len(x), _COLUMNS) or known.factor(x) is not None


def constant(draws: int) -> None:
    """Print the table of ``constant``: mean AUCs over classes and draws."""
    from sklearn.datasets import load_digits
    from sklearn.metrics import roc_auc_score
    from sklearn.svm import OneClassSVM

    X, y = load_digits(return_X_y=True)
    _say("| kernel | positives | left out | raw units | as the value or not |\n|---|---|---|---|---|")
    for kernel in ("linear", "rbf"):
        for n in (30, 100):
            found: dict[str, list[float]] = {"left out": [], "raw": [], "as the value": []}
            for number in range(10):
                for draw in range(draws):
                    rng = np.random.default_rng([number, draw])
                    positives = X[rng.permutation(np.flatnonzero(y == number))]
                    negatives = X[rng.permutation(np.flatnonzero(y != number))[:300]]
                    test = np.concatenate([positives[n:], negatives])
                    truth = np.arange(len(test)) < len(positives) - n
                    for way, aucs in found.items():
                        P, T = _prepared(positives[:n], test, way)
                        svm = OneClassSVM(kernel=kernel, nu=0.5).fit(P)
                        aucs.append(float(roc_auc_score(truth, svm.decision_function(T))))
            means = " | ".join(f"{np.mean(aucs):.3f}" for aucs in found.values())
            _say(f"| {kernel} | {n} | {means} |")


def _prepared(P: Rows, T: Rows, way: str) -> tuple[Rows, Rows]:
    low, high = P.min(axis=0), P.max(axis=0)
    varies = high > low
    first, other = ((part[:, varies] - low[varies]) / (high - low)[varies] for part in (P, T))
    fixed = [part[:, ~varies] - low[~varies] for part in (P, T)]
    if way == "left out":
        return first, other
    if way == "as the value":
        fixed = [(part == 0).astype(float) for part in fixed]
    return np.hstack([first, fixed[0]]), np.hstack([other, fixed[1]])


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Measure as asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("far", "constant"))
    parser.add_argument("--repeats", type=int, help="pairs of samples (200), or draws of each class (10)")
    asked = parser.parse_args()
    if asked.what == "far":
        far(asked.repeats or 200)
    else:
        constant(asked.repeats or 10)


if __name__ == "__main__":
    main()
