"""TIcE (Bekker and Davis, 2018): the class prior by way of the label frequency c = p(s=1 | y=1).

Any subset of the rows in P and U bounds c from below: its labelled share is at most c, and equal to c where it holds no
negatives. A decision tree looks for such subsets, rows it has not seen give the bounds, the largest is the estimate.
Alpha comes out too high where no subset is free of negatives, and too low where the largest of many bounds is chance:
the larger delta and the smaller k, the more so.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveInt

from puoc.methods.training.estimator import FEWER_FOLDS_OF_PRIOR, PriorEstimator, PUSample, check_finite, typed
from puoc.records import Array
from puoc.registry import prior

_COLUMNS = 64  # binned at once
_AT_ONCE = 2**22  # values counted at once


class Part(NamedTuple):
    """Rows of P and U: their bins, by which they are split, and their labels."""

    bins: Array  # (n, d) whole numbers from 0
    labelled: Array  # (n,) bool


class _Subset(NamedTuple):
    """A subset to be split; the first two fields, unequal for any two, order a heap of them."""

    priority: float  # the lower, the sooner
    number: int
    tree: Array  # its rows in the tree's part
    estimation: Array  # and in the other
    available: Array  # (d,) attributes by which it has not been split


@prior("tice")
@typed
class TIcE(PriorEstimator):
    """Rows of any shape, flattened; the bins suit features of similar range, such as an autoencoder's."""

    inputs = frozenset({"image", "vector"})

    scaling: Literal["minmax", "none"]  # of each feature to [0, 1] over P and U; the bins are those of [0, 1]
    k: NonNegativeFloat  # an attribute is as good as its best bin's labelled / (rows + k)
    delta: float | None = Field(default=None, gt=0, lt=1)  # chance of a wrong bound; absent: the paper's, by size
    folds: int = Field(ge=2)  # each is the tree's part once, the other folds give the bounds
    splits: PositiveInt  # borders in (0, 1): an attribute has splits + 1 bins of equal width
    max_splits: PositiveInt  # attributes split, per tree
    min_size: PositiveInt  # rows of a subset that gives a bound or is split further
    iterations: PositiveInt  # the first takes c = 1/2 for the variance of a bound, each further one the last estimate

    def check_counts(self, n_p: int, n_u: int) -> None:
        """See ``RowChecks``: at least one row of each, and as many together as folds."""
        if min(n_p, n_u) < 1 or n_p + n_u < self.folds:
            raise ValueError(
                f"{self.name} cuts {n_p} labelled and {n_u} unlabelled rows into {self.folds} folds; expected "
                f"{self.folds} rows at least, with 1 of each. {FEWER_FOLDS_OF_PRIOR}"
            )

    def estimate(self, sample: PUSample) -> float:
        """See ``PriorEstimator``: alpha = n_p (1 - c) / (c n_u), the positives that c leaves for U."""
        c, n_p, n_u = self.label_frequency(sample), *_sizes(sample)
        return float(np.clip(n_p * (1 - c) / (c * n_u), 0, 1))

    def label_frequency(self, sample: PUSample) -> float:
        """Estimate c of the pooled rows, between their labelled share and 1.

        Raises
        ------
        ValueError : no labelled or no unlabelled rows, fewer of both together than folds, or values that are not
            finite.
        """
        n_p, n_u = _sizes(sample)
        if min(n_p, n_u) < 1 or n_p + n_u < self.folds:
            raise ValueError(
                f"tice: got {n_p} labelled and {n_u} unlabelled rows; at least 1 of each and {self.folds} together, "
                f"the number of folds, expected"
            )
        for name, rows in (("X_p", sample.X_p), ("X_u", sample.X_u)):
            check_finite(name, np.asarray(rows))
        X = np.concatenate([sample.X_p.reshape(n_p, -1), np.asarray(sample.X_u).reshape(n_u, -1)])
        pooled = Part(self.binned(X), np.arange(n_p + n_u) < n_p)
        rng = np.random.default_rng(sample.seed)
        order = np.concatenate([rng.permutation(n_p), n_p + rng.permutation(n_u)])
        fold_of = np.empty(n_p + n_u, dtype=int)
        fold_of[order] = np.arange(n_p + n_u) % self.folds  # of equal sizes and labelled shares
        return self.averaged(pooled, fold_of)

    def binned(self, X: Array) -> Array:
        """Return the bin (n, d) of every value; values outside of [0, 1] are in the first or the last bin."""
        borders = np.linspace(0, 1, self.splits + 2)[1:-1]
        bins = np.empty(X.shape, dtype=np.min_scalar_type(self.splits))
        for start in range(0, X.shape[1], _COLUMNS):  # all in float64 would be eight times the bins
            values = X[:, start : start + _COLUMNS].astype(np.float64)
            if self.scaling == "minmax":
                low, high = values.min(axis=0), values.max(axis=0)
                values = (values - low) / np.where(high > low, high - low, 1)
            bins[:, start : start + _COLUMNS] = np.searchsorted(borders, values, side="right")
        return bins

    def averaged(self, pooled: Part, fold_of: Array) -> float:
        """Return the mean over the folds of the best bound on c, at least the labelled share of all rows."""
        c = 0.5
        for _ in range(self.iterations):
            parts = ((_where(pooled, fold_of == fold), _where(pooled, fold_of != fold)) for fold in range(self.folds))
            c = float(np.mean([self.best_bound(tree, estimation, c) for tree, estimation in parts]))
        return max(c, float(pooled.labelled.mean()))

    def best_bound(self, tree: Part, estimation: Part, c: float) -> float:
        """Return the largest bound on the label frequency that a subset of ``estimation`` gives, or its labelled share.

        Best first: the subset whose rows in ``tree`` give the largest bound is split next. ``c`` is the label frequency
        by which the variance of a bound is judged.
        """
        delta = automatic_delta(len(estimation.labelled)) if self.delta is None else self.delta
        spread = c * (1 - c) * (1 - delta) / delta
        (n, d), width = tree.bins.shape, self.splits + 1
        best, least, pushed = float(estimation.labelled.mean()), 1.0, 0
        queue = [_Subset(0.0, 0, np.arange(n), np.arange(len(estimation.labelled)), np.ones(d, dtype=bool))]
        for _ in range(self.max_splits):
            if not queue or best >= 1:
                break
            subset = heappop(queue)
            in_tree, in_tree_labelled = _counts(tree, subset.tree, width)
            rows, labelled = _counts(estimation, subset.estimation, width)
            useful = subset.available & (labelled.max(axis=1) >= least)
            split = self._attribute(in_tree, in_tree_labelled, useful)
            if split is None or np.count_nonzero(rows[split]) == 1:
                continue  # nothing tells the rows of this subset apart
            bounds = _bound(labelled[split], rows[split], spread)
            best = max(best, float(bounds.max(where=rows[split] >= self.min_size, initial=0)))
            # of fewer labelled rows even a subset of nothing else gives no larger bound
            least = spread / (1 - best) ** 2 if best < 1 else np.inf
            useful[split] = False
            priorities = -_bound(in_tree_labelled[split], in_tree[split], spread)
            pure = (in_tree_labelled[split] == 0) | (in_tree_labelled[split] == in_tree[split])
            for value in np.flatnonzero((labelled[split] > least) & (in_tree[split] > self.min_size) & ~pure):
                pushed += 1
                of_tree = subset.tree[tree.bins[subset.tree, split] == value]
                of_estimation = subset.estimation[estimation.bins[subset.estimation, split] == value]
                heappush(queue, _Subset(float(priorities[value]), pushed, of_tree, of_estimation, useful))
        return best

    def _attribute(self, rows: Array, labelled: Array, useful: Array) -> int | None:
        """Return the useful attribute (d,) with the highest labelled / (rows + k) of its best bin."""
        quality = np.divide(labelled, rows + self.k, out=np.zeros(rows.shape), where=rows > 0).max(axis=1) * useful
        best = int(np.argmax(quality))
        return best if quality[best] > 0 else None


def automatic_delta(n: int) -> float:
    """Return the paper's delta for bounds from a part of ``n`` rows, max(.025, 1 / (1 + .004 n))."""
    return max(0.025, 1 / (1 + 0.004 * n))


def _bound(labelled: Array, rows: Array, spread: float) -> Array:
    """Return Cantelli's lower bound on the label frequency by subsets of so many rows; very low for no rows."""
    at_least_one = np.maximum(rows, 1)
    bound: Array = labelled / at_least_one - np.sqrt(spread / at_least_one)
    return bound


def _sizes(sample: PUSample) -> tuple[int, int]:
    return len(sample.X_p), 0 if sample.X_u is None else len(sample.X_u)


def _where(part: Part, kept: Array) -> Part:
    return Part(part.bins[kept], part.labelled[kept])


def _counts(part: Part, subset: Array, width: int) -> tuple[Array, Array]:
    """Count the rows of a subset, and its labelled rows, in each bin of each attribute; (d, width) both."""
    d, is_labelled = part.bins.shape[1], part.labelled[subset]
    found = np.empty((2, d, width), dtype=np.int64)
    at_once = max(_AT_ONCE // max(len(subset), 1), 1)
    for start in range(0, d, at_once):
        columns = slice(start, min(start + at_once, d))
        n = columns.stop - start
        places = part.bins[subset, columns] + np.arange(n) * width
        for side, of in enumerate((places, places[is_labelled])):
            found[side, columns] = np.bincount(of.ravel(), minlength=n * width).reshape(n, width)
    return found[0], found[1]
