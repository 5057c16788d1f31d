"""DEDPUL (Ivanov, 2020) as a classifier: the posterior of the positive class in U by densities of scores.

Bagirov et al. compare it in their table of PU methods. See ``puoc.methods.priors.dedpul`` for the densities.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Literal, Self

import numpy as np

from puoc.methods.priors.crossfit import PvsU
from puoc.methods.priors.dedpul import Densities
from puoc.methods.training.estimator import Compute, Estimator, PUSample, check_sample, typed
from puoc.records import Array
from puoc.registry import method

_TIE = 1e-6  # maximum difference of scores with equal posteriors


class FittedMixture(Estimator):
    """A plain class, since a fitted mixture is no hyperparameter."""

    classifiers_: list[PvsU]
    knots_: tuple[Array, Array]  # logits (n_u,) of U, ascending, and posteriors there


SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("dedpul")
@typed
class DEDPUL(Densities, FittedMixture):
    """Perceptron on vectors, small convolutional network on images.

    Each fold's classifier gives a row a logit and so a posterior; the score is the mean of the posteriors. They are 1
    above a logit and flat in places, so ties are broken by the mean logit f: f / (1 + |f|) with a weight of 1e-6.
    The paper publishes no values; DEDPUL's authors: bandwidths .1 of P and .05 of U, 3 folds; released: 8 epochs of lr
    1e-3 and one fold.
    """

    kind = "pu"
    inputs = PvsU.inputs
    needs_alpha = False
    libraries = PvsU.libraries
    precisions = frozenset({"fp32", "bf16"})
    estimates_alpha = True
    too_few_rows = "Give more rows, or fewer by --params folds=N"

    interpolation: Literal["linear", "swapped"]  # between the logits of U; swapped: as released

    def fit_lanes(self, samples: Sequence[PUSample], compute: Compute = Compute()) -> list[Self]:  # noqa: B008
        """Fit one copy per sample; the classifiers of a fold are lanes.

        Raises
        ------
        ValueError : samples of unequal shapes, no unlabelled rows, or fewer rows of P or of U than folds.
        FloatingPointError : the loss of a classifier is no longer finite.
        """
        for sample in samples:
            check_sample(self, sample)
        lanes = []
        for classifiers, f_p, f_u in self.cross_fit(samples, compute):
            one = copy(self)
            mixture = self.decompose(f_p, f_u)
            one.classifiers_, one.knots_ = classifiers, (mixture.f_u, mixture.posterior)
            one.alpha_hat_, one.lane_map_ = self.named_share(mixture), classifiers[0].lane_map_
            one.curve_ = {"loss": np.mean([of.curve_["loss"] for of in classifiers], axis=0).tolist()}
            lanes.append(one)
        return lanes

    def decision_function(self, X: Array) -> Array:
        """Return posteriors (n,), float64, with ties broken: in [-1e-6, 1 + 1e-6]."""
        logits = np.array([of.decision_function(X) for of in self.classifiers_], dtype=np.float64)  # (folds, n)
        between = np.interp if self.interpolation == "linear" else swapped
        posterior = between(logits, *self.knots_).mean(axis=0)
        f = logits.mean(axis=0)
        score: Array = posterior + _TIE * f / (1 + np.abs(f))
        return score

    def state(self) -> dict[str, Array]:
        """Return the classifiers' arrays by fold, the logits of U and their posteriors."""
        arrays = dict(zip(("f_u", "posterior"), self.knots_, strict=True))
        for i, of in enumerate(self.classifiers_):
            arrays |= {f"fold{i}.{key}": array for key, array in of.state().items()}
        return arrays

    def restore(self, state: dict[str, Array], shape: tuple[int, ...]) -> Self:
        """Restore the fitted model on the CPU.

        Raises
        ------
        ValueError : the arrays are not those of this model.
        """
        rest = dict(state)
        self.classifiers_ = []
        for i in range(self.folds):
            own = [key for key in rest if key.startswith(f"fold{i}.")]
            arrays = {key.removeprefix(f"fold{i}."): rest.pop(key) for key in own}
            self.classifiers_.append(self.p_vs_u().restore(arrays, shape))
        if rest.keys() != {"f_u", "posterior"}:
            raise ValueError(f"{self.name}: f_u and posterior expected beside {self.folds} folds, got {list(rest)}")
        self.knots_ = rest["f_u"], rest["posterior"]
        return self


def swapped(f: Array, f_u: Array, posterior: Array) -> Array:
    """Interpolate as the released code: the nearer neighbour has the smaller weight, and 0 beyond all logits of U.

    Parameters
    ----------
    f : logits to interpolate at.
    f_u, posterior : (n_u,) logits in ascending order, and values there.
    """
    above = np.clip(np.searchsorted(f_u, f, side="left"), 1, len(f_u) - 1)
    low, high = f_u[above - 1], f_u[above]
    weight = np.divide(f - low, high - low, out=np.zeros_like(f), where=high > low)  # 1 at the upper neighbour
    values = weight * posterior[above - 1] + (1 - weight) * posterior[above]
    found: Array = np.where((f >= f_u[0]) & (f <= f_u[-1]), values, 0.0)
    return found
