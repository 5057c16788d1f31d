"""A classifier of P against U whose scores of the training rows are out of fold, as estimates of densities need them.

The non-traditional classifier of Elkan and Noto (2008): it learns g(x) = p(s=1 | x), whose odds are proportional to
p_p(x) / p_u(x). A network's scores of the rows it was fitted on overstate how far P and U are apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import torch
from pydantic import PositiveFloat, PositiveInt
from torch import Tensor, nn

from puoc.methods.training.deep import Batching, Deep, Noise
from puoc.methods.training.estimator import FEWER_FOLDS_OF_PRIOR, Compute, PUSample, typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import linear, net_for
from puoc.methods.training.risks import logistic, mean
from puoc.records import Array

Classifier = Literal["network", "linear"]

_OF_CLASSIFIER = ("classifier", "lr", "lr_decay", "epochs", "batch_size", "batching")


@typed
class PvsU(Deep):
    """Cross-entropy of s; the score is the logit of g. Perceptron on vectors, small convolutional network on images."""

    name = "p_vs_u"
    kind = "pu"
    inputs = frozenset({"image", "vector"})
    needs_alpha = False

    classifier: Classifier  # linear: an affine function of the row's values instead

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``."""
        if self.classifier == "linear" and len(shape) in (1, 3):
            return nn.Sequential(nn.Flatten(1), linear(prod(shape)))
        return net_for(shape)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return the mean logistic loss over the rows of the batch, s = 1 on P and s = 0 on U."""
        return mean(torch.cat([logistic(net(x_p)), logistic(-net(x_u))]))


class CrossFitted(NamedTuple):
    """The classifiers of one sample and their logits of its rows."""

    classifiers: list[PvsU]  # one for each fold, fitted to the other folds
    f_p: Array  # (n_p,) logits out of fold, float64
    f_u: Array  # (n_u,)


@typed
class CrossFit:
    """Hyperparameters of cross-fitted classifiers."""

    name: ClassVar[str]
    too_few_rows: ClassVar[str] = FEWER_FOLDS_OF_PRIOR  # what a user may change

    classifier: Classifier
    lr: PositiveFloat
    lr_decay: PositiveFloat  # factor per epoch
    epochs: PositiveInt
    batch_size: PositiveInt
    batching: Batching
    folds: PositiveInt  # 1: one classifier, which scores the rows it was fitted on

    def check_counts(self, n_p: int, n_u: int) -> None:
        """Check that every fold gets rows of P and of U, as ``RowChecks.check_counts``."""
        if min(n_p, n_u) < self.folds:
            raise ValueError(
                f"{self.name} cuts {n_p} labelled and {n_u} unlabelled rows into {self.folds} folds; expected "
                f"{self.folds} of each at least. {self.too_few_rows}"
            )

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """Check that there is a classifier for rows of ``shape``, as ``RowChecks.check_shape``."""
        self.p_vs_u().check_shape(shape)

    def p_vs_u(self) -> PvsU:
        """Return the classifier, not yet fitted."""
        return PvsU(**{name: getattr(self, name) for name in _OF_CLASSIFIER})

    def cross_fit(self, samples: Sequence[PUSample], compute: Compute) -> list[CrossFitted]:
        """Cross-fit every sample; of equal shapes, for a fold's classifiers are trained as lanes.

        Raises
        ------
        ValueError : fewer rows of P or of U than folds; else as ``Deep.fit_lanes``.
        """
        # a fold is a training of its own, with its own checkpoints
        by_fold = [
            replace(compute, lanes=tuple(f"{lane} fold {fold}" for lane in compute.lanes)) for fold in range(self.folds)
        ]
        try:
            found = self._by_folds(samples, by_fold)
        except Exception:
            _forget(by_fold)
            raise
        _forget(by_fold)
        return found

    def _by_folds(self, samples: Sequence[PUSample], by_fold: Sequence[Compute]) -> list[CrossFitted]:
        parts = [self._parts(sample) for sample in samples]
        logits = [(np.empty(len(sample.X_p)), np.empty(_rows_of_u(sample))) for sample in samples]
        classifiers: list[list[PvsU]] = [[] for _ in samples]
        for fold, compute in enumerate(by_fold):
            fitted = self.p_vs_u().fit_lanes([of_sample[fold].fitted_to for of_sample in parts], compute)
            for i, (one, sample) in enumerate(zip(fitted, samples, strict=True)):
                part = parts[i][fold]
                logits[i][0][part.in_p] = one.decision_function(sample.X_p[part.in_p])
                logits[i][1][part.in_u] = one.decision_function(np.asarray(sample.X_u)[part.in_u])
                classifiers[i].append(one)
        return [CrossFitted(of, *scores) for of, scores in zip(classifiers, logits, strict=True)]

    def _parts(self, sample: PUSample) -> list[_Part]:
        n_p, n_u = len(sample.X_p), _rows_of_u(sample)
        if min(n_p, n_u) < self.folds:
            raise ValueError(
                f"got {n_p} labelled and {n_u} unlabelled rows for {self.folds} folds; "
                f"at least as many of each as folds expected"
            )
        X_p, X_u, rng = sample.X_p, np.asarray(sample.X_u), np.random.default_rng(sample.seed)
        fold_p, fold_u = (rng.permutation(n) % self.folds for n in (n_p, n_u))
        parts = []
        for fold in range(self.folds):
            in_p, in_u = fold_p == fold, fold_u == fold
            rest_p, rest_u = (in_p, in_u) if self.folds == 1 else (~in_p, ~in_u)
            parts.append(_Part(in_p, in_u, PUSample(X_p[rest_p], X_u[rest_u], None, int(rng.integers(2**62)))))
        return parts


class _Part(NamedTuple):
    in_p: Array  # (n_p,) whether a row is in the fold
    in_u: Array
    fitted_to: PUSample  # the rows of the other folds


def _rows_of_u(sample: PUSample) -> int:
    return 0 if sample.X_u is None else len(sample.X_u)


def _forget(computes: Sequence[Compute]) -> None:
    for compute in computes:
        compute.forget()
