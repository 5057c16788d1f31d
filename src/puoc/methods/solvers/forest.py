"""Decision trees as arrays: kept in a model file without pickle, and evaluated without the library that grew them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from puoc.records import Array

_PLACES_AT_ONCE = 4_000_000  # rows times trees in one pass


class Tree(NamedTuple):
    """One tree. Node 0 is the root, and a child comes after its parent."""

    feature: Array  # (nodes,) column that a node compares; -1: a leaf
    threshold: Array  # (nodes,) a row goes left if its value is at most this
    left: Array  # (nodes,) number of the left child; of a leaf, anything
    right: Array
    value: Array  # (nodes,) of a leaf


class Forest(NamedTuple):
    """Trees one after the other. A row gets one value from each tree."""

    roots: Array  # (trees,) node numbers
    nodes: Array  # (nodes, 5): feature, threshold, left, right, value; the children by number in this array

    def leaves(self, X: Array) -> Array:
        """Return the number of the leaf that each row reaches in each tree: (n, trees)."""
        X = np.asarray(X, dtype=np.float32)
        feature, threshold = self.nodes[:, 0].astype(np.intp), self.nodes[:, 1]
        children = self.nodes[:, 2:4].astype(np.intp)
        node = np.tile(self.roots.astype(np.intp), len(X))
        row = np.repeat(np.arange(len(X)), len(self.roots))
        active = np.flatnonzero(feature[node] >= 0)
        while len(active):
            at = node[active]
            goes_right = X[row[active], feature[at]] > threshold[at]
            at = children[at, goes_right.astype(np.intp)]
            node[active] = at
            active = active[feature[at] >= 0]
        return node.reshape(len(X), len(self.roots))

    def splits(self, d: int) -> Array:
        """Return the number of nodes that compare each column of rows of length ``d``: (d,)."""
        feature = self.nodes[:, 0].astype(np.intp)
        return np.bincount(feature[feature >= 0], minlength=d).astype(np.float64)

    def mean(self, X: Array) -> Array:
        """Return the mean over the trees of the leaves' values: (n,)."""
        return self.mean_of(self.nodes[:, 4], X)

    def mean_of(self, values: Array, X: Array) -> Array:
        """Return the mean over the trees of any values by node, (nodes,) or (nodes, m): (n,) or (n, m)."""
        found = np.empty((len(X), *values.shape[1:]))
        at_once = max(_PLACES_AT_ONCE // max(len(self.roots), 1), 1)
        for start in range(0, len(X), at_once):
            found[start : start + at_once] = values[self.leaves(X[start : start + at_once])].mean(axis=1)
        return found


def join(trees: Iterable[Tree]) -> Forest:
    """Return a forest of single trees."""
    roots, parts, n = [], [], 0
    for tree in trees:
        inner = tree.feature >= 0
        left, right = (np.where(inner, child + n, 0) for child in (tree.left, tree.right))
        parts.append(np.stack([tree.feature, np.where(inner, tree.threshold, 0), left, right, tree.value], axis=1))
        roots.append(n)
        n += len(tree.feature)
    return Forest(np.array(roots, dtype=np.float64), np.concatenate(parts).astype(np.float64))


def check(name: str, forest: Forest, d: int) -> None:
    """Check trees that come from a file.

    Raises
    ------
    ValueError : a number that is not finite, a column that rows of length ``d`` do not have, or a child that is no
        later node, so that a row would never reach a leaf.
    """
    roots, nodes = forest
    n = np.arange(len(nodes))
    is_sound = bool(len(roots)) and bool(np.isfinite(nodes).all()) and _are_indexes(roots, 0, len(nodes))
    if is_sound:
        feature, children = nodes[:, 0], nodes[:, 2:4]
        inner = feature >= 0
        is_sound = _are_indexes(feature + 1, 0, d + 1) and _are_indexes(children, 0, len(nodes))
        is_sound = is_sound and bool((children[inner] > n[inner, None]).all())
    if not is_sound:
        raise ValueError(f"{name}: trees of rows of length {d} expected, got other columns or nodes in the arrays")


def _are_indexes(numbers: Array, low: int, high: int) -> bool:
    return bool(np.isfinite(numbers).all() and ((numbers >= low) & (numbers < high) & (numbers % 1 == 0)).all())


def grown(tree: Any, value: Array) -> Tree:
    """Return a tree of scikit-learn, the attribute ``tree_`` of an estimator, with a value (nodes,) for each node."""
    feature = np.where(tree.children_left < 0, -1, tree.feature)
    return Tree(feature, tree.threshold, tree.children_left, tree.children_right, value)


def boosted(nodes: Array) -> Tree:
    """Return a tree of scikit-learn's gradient boosting on histograms: a structured array of its nodes."""
    feature = np.where(nodes["is_leaf"].astype(bool), -1, nodes["feature_idx"].astype(np.intp))
    return Tree(
        feature, nodes["num_threshold"], nodes["left"].astype(np.intp), nodes["right"].astype(np.intp), nodes["value"]
    )
