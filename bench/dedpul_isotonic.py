"""Compare the class priors dedpul_alpha and dedpul_isotonic on Gaussians.

    python bench/dedpul_isotonic.py .5 .95 --seeds 12 --first 100

P is a sample of N(0, 1) in 5 dimensions, and the negatives of U have a mean 3 away. Both priors see the same scores:
those of a perceptron, out of fold, with the values of ``puoc fit``.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from puoc.cli.console import say
from puoc.methods.priors import make
from puoc.methods.training.estimator import Compute, PUSample

PARAMS = {
    "lr": 1e-3, "lr_decay": 0.99, "epochs": 50, "batch_size": 64, "batching": "union", "classifier": "network",
    "folds": 3, "bandwidth_p": 0.1, "bandwidth_u": 0.05, "share": "positive",
}  # fmt: skip
N_P, N_U, DIMENSIONS, DISTANCE = 500, 1000, 5, 3.0


def drawn(alpha: float, seed: int) -> PUSample:
    """Return P (500, 5) and U (1000, 5) with a share alpha of positives."""
    rng = np.random.default_rng(seed)
    positives = round(alpha * N_U)
    away = np.eye(DIMENSIONS)[0] * DISTANCE
    X_p = rng.normal(size=(N_P, DIMENSIONS))
    X_u = np.r_[rng.normal(size=(positives, DIMENSIONS)), rng.normal(size=(N_U - positives, DIMENSIONS)) + away]
    return PUSample(X_p.astype(np.float32), X_u.astype(np.float32), None, seed)


def compare(alphas: list[float], seeds: list[int]) -> None:
    """Print the estimated share of negatives in U: mean, standard deviation and mean error over seeds."""
    priors: list[Any] = [make(name, PARAMS) for name in ("dedpul_alpha", "dedpul_isotonic")]
    say("share of negatives, seeds, prior, mean, standard deviation, mean absolute error")
    for alpha in alphas:
        found = np.empty((len(seeds), len(priors)))
        for at, seed in enumerate(seeds):
            ((_, f_p, f_u),) = priors[0].cross_fit([drawn(alpha, seed)], Compute())
            found[at] = [prior.decompose(f_p, f_u).alpha_neg for prior in priors]
        error = np.abs(found - (1 - alpha)).mean(axis=0)
        for prior, mean, sd, off in zip(priors, found.mean(axis=0), found.std(axis=0, ddof=1), error, strict=True):
            say(f"{1 - alpha:.2f}, {len(seeds)}, {prior.name}, {mean:.3f}, {sd:.3f}, {off:.3f}")


def main() -> None:
    """Read the shares of positives and the seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("alphas", type=float, nargs="+", metavar="alpha", help="share of positives in U")
    parser.add_argument("--seeds", type=int, default=12, help="number of seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    compare(given.alphas, list(range(given.first, given.first + given.seeds)))


if __name__ == "__main__":
    main()
