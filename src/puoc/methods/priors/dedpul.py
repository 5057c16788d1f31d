"""DEDPUL (Ivanov, 2020): the class prior and the posteriors of U from the densities of a classifier's scores.

Let d = p_p / p_u be the ratio of the densities of P and U in the space of a classifier's scores. The posterior of the
positive class in U is alpha d, at most 1, and alpha is the mean of the posteriors over U.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from pydantic import PositiveFloat

from puoc.methods.priors.crossfit import CrossFit
from puoc.methods.training.estimator import Compute, PriorEstimator, PUSample, typed
from puoc.records import Array
from puoc.registry import prior

Share = Literal["positive", "negative"]

_LARGEST_LOGIT = np.log(1e8 - 1)  # probabilities are clipped to [1e-8, 1 - 1e-8]
_NARROWEST = 1e-3  # standard deviation of a kernel where all scores are alike
_LARGEST_RATIO = 50
_TOLERANCE, _ITERATIONS = 1e-5, 1000  # of the fixed point
_GRID = np.arange(0, 1, 0.0025)  # candidates of the share of negatives
_NEAR = 0.05  # how much more than the mean posterior a candidate may be
_AT_ONCE = 256  # scores against all kernels


class Mixture(NamedTuple):
    """U as a mixture of positives and negatives."""

    alpha_pos: float  # shares of U, together 1
    alpha_neg: float
    f_u: Array  # (n_u,) logits, ascending
    posterior: Array  # (n_u,) of the positive class at these logits, not descending


@typed
class Densities(CrossFit):
    """Hyperparameters of DEDPUL."""

    bandwidth_p: PositiveFloat  # of the kernels, in standard deviations of the logits of P
    bandwidth_u: PositiveFloat  # and of U
    share: Share  # what is called alpha: the share of positives in U, or that of negatives as the release returns it

    def decompose(self, f_p: Array, f_u: Array) -> Mixture:
        """Return shares and posteriors by logits (n_p,) of P and (n_u,) of U, both out of fold."""
        ascending, ratio = density_ratio(f_p, f_u, self.bandwidth_p, self.bandwidth_u)
        alpha = fixed_point(ratio)
        return Mixture(alpha, 1 - alpha, ascending, posteriors(ratio, alpha))

    def named_share(self, mixture: Mixture) -> float:
        """Return the share that ``share`` names."""
        return mixture.alpha_pos if self.share == "positive" else mixture.alpha_neg


@prior("dedpul_alpha")  # the method of that name estimates alpha along the way
@typed
class DedpulPrior(Densities, PriorEstimator):
    """Perceptron on vectors, small convolutional network on images, trained on the CPU."""

    inputs = frozenset({"image", "vector"})
    libraries = ("torch._dynamo",)

    def estimate(self, sample: PUSample) -> float:
        """See ``PriorEstimator``."""
        ((_, f_p, f_u),) = self.cross_fit([sample], Compute())
        return self.named_share(self.decompose(f_p, f_u))


def density_ratio(f_p: Array, f_u: Array, bandwidth_p: float, bandwidth_u: float) -> tuple[Array, Array]:
    """Return the logits of U, ascending, and p_p / p_u there, not descending.

    Kernel estimates in the space of logits; the ratio is made monotone among the likelier positives by its running
    maximum, smoothed by running medians, and in the end sorted.
    """
    p, u = (np.clip(np.sort(f.astype(np.float64)), -_LARGEST_LOGIT, _LARGEST_LOGIT) for f in (f_p, f_u))
    ratio = np.minimum(density(p, u, bandwidth_p) / density(u, u, bandwidth_u), _LARGEST_RATIO)
    ratio = running_median(ratio, 5)
    likely = sigmoid(u) >= (sigmoid(p).mean() + sigmoid(u).mean()) / 2
    ratio[likely] = np.maximum.accumulate(ratio[likely])
    return u, np.sort(running_median(ratio, len(u) // 20))


def density(of: Array, at: Array, bandwidth: float) -> Array:
    """Return the Gaussian kernel estimate (m,) of the density of the values (n,) ``of`` at the values (m,) ``at``."""
    width = max(bandwidth * of.std(ddof=min(1, len(of) - 1)), _NARROWEST)
    chunks = [at[start : start + _AT_ONCE, None] for start in range(0, len(at), _AT_ONCE)]
    sums = [np.exp(-(((chunk - of) / width) ** 2) / 2).mean(axis=1) for chunk in chunks]
    found: Array = np.concatenate(sums) / (width * np.sqrt(2 * np.pi))
    return found


def running_median(values: Array, half: int) -> Array:
    """Return the median of each value with ``half`` others before and after it; near the ends with fewer."""
    n = len(values)
    reach = np.minimum(half, np.minimum(np.arange(n), np.arange(n)[::-1]))
    return np.array([np.median(values[i - r : i + r + 1]) for i, r in enumerate(reach)])


def posteriors(ratio: Array, alpha: float) -> Array:
    """Return p(y=1 | x) of unlabelled rows by their density ratios."""
    return np.minimum(alpha * ratio, 1.0)


def fixed_point(ratio: Array) -> float:
    """Return the share of positives that is the mean of its own posteriors.

    Expectation maximisation from 1 down. 0 is a fixed point too, and noise in the ratio can lead there past the right
    one, which then shows as a bend: where alpha falls below it, alpha less the mean posterior ceases to fall.
    """
    alpha = float(posteriors(ratio, 1).mean())
    for _ in range(_ITERATIONS):
        posterior = posteriors(ratio, alpha)
        mean = float(posterior.mean())
        if abs(mean - alpha) < _TOLERANCE or posterior.max() < 1:
            break
        alpha = mean
    excess = np.array([1 - negatives - posteriors(ratio, 1 - negatives).mean() for negatives in _GRID])
    bend = np.where(excess[1:-1] < _NEAR, np.diff(excess, 2), -np.inf)
    at_bend = float(1 - _GRID[1:-1][np.argmax(bend)]) if bend.max() > _TOLERANCE else 0.0
    crosses = (excess < 0).sum() > 1 and alpha > _GRID[1]
    return alpha if at_bend <= alpha or crosses else at_bend


def sigmoid(f: Array) -> Array:
    """Return 1 / (1 + exp(-f)) of clipped logits."""
    found: Array = 1 / (1 + np.exp(-f))
    return found
