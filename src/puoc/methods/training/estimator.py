"""The estimator contract: ``fit(X_p, X_u)``, then ``decision_function(X)``; higher = more likely positive."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as pydantic_dataclass

from puoc.records import Array, content_id

#: Decorator of every method class: hyperparameters are typed fields without defaults, an unknown one is an error.
typed = pydantic_dataclass(kw_only=True, config=ConfigDict(extra="forbid"))

#: What to change where a class prior cannot be estimated from so few rows, in a message of ``check_counts``.
FEWER_FOLDS_OF_PRIOR = "Give more rows, a number by --prior, or an entry with fewer folds by --settings"


class PUSample(NamedTuple):
    """Rows of one draw for a method. Methods get neither the labels of ``X_u`` nor the test rows."""

    X_p: Array  # (n_p, *shape) labelled positives, float32
    X_u: Array | None  # (n_u, *shape) unlabelled rows; None for an OC method
    alpha: float | None  # class prior p(y=1 | s=0) given to the method
    seed: int


@dataclass(frozen=True)
class Compute:
    """Options of the computation. None of them may change a result beyond rounding, except ``numerics``."""

    device: str = "cpu"
    lane_map: Literal["auto", "loop", "vmap"] = "auto"
    numerics: Literal["fp32", "bf16"] = "fp32"  # changes results, and is therefore part of the id of a fit
    #: folder for the state of a long training, one file for each set of lanes; absent: no state is written
    checkpoints: Path | None = None
    lanes: tuple[str, ...] = ()  # names of the lanes in these files, in the order of the samples

    def checkpoint(self, places: Sequence[int]) -> Path | None:
        """Return the file of the lanes at these places; another set of lanes has another file."""
        if self.checkpoints is None:
            return None
        return self.checkpoints / f"{content_id([self.lanes[i] for i in places])}.pt"

    def forget(self) -> None:
        """Remove the files, after the training has ended or failed."""
        for places in (range(len(self.lanes)), *([i] for i in range(len(self.lanes)))):
            path = self.checkpoint(places)
            if path is not None:
                path.unlink(missing_ok=True)


class RowChecks:
    """Checks of rows before anything is trained, so that a long fit does not fail because of its inputs.

    ``puoc fit`` and the plan for user data call them on the encoder, the prior and the method of a fit. The defaults
    accept all rows. A class overrides them if its fit rejects some numbers or shapes of rows.
    """

    def check_counts(self, n_p: int, n_u: int) -> None:
        """Check the numbers of rows.

        Parameters
        ----------
        n_p, n_u : labelled positives and unlabelled rows to learn from; n_u is 0 for a fit that sees no U.

        Raises
        ------
        ValueError : the numbers got, those expected, and what to change. The message may name options of ``puoc fit``,
            such as ``--params folds=N``; for a plan they become keys of params.yaml.
        """

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """Check the shape of one row. Not called where only the fit of an encoder shows the shape.

        Raises
        ------
        ValueError : the shape got and the one expected.
        """


class Estimator(RowChecks, ABC):
    """Base of all methods.

    Fitted attributes end in ``_``. After a fit, ``curve_`` holds the objective (name to values, by epoch, or before and
    after an exact solution) and ``alpha_hat_`` the class prior where the method estimates one.
    """

    name: ClassVar[str]  # set by @method
    kind: ClassVar[Literal["oc", "pu", "pu_oc", "encoder"]]
    twin: ClassVar[str | None] = None  # of a PU-OC method: the OC method it extends
    inputs: ClassVar[frozenset[str]] = frozenset({"vector"})  # of: image, vector, sequence
    libraries: ClassVar[tuple[str, ...]] = ()  # what a fit imports; a runner does so once for all workers
    precisions: ClassVar[frozenset[str]] = frozenset({"fp32"})  # of: fp32, bf16
    needs_alpha: ClassVar[bool] = True  # of a PU method: whether its fit reads the class prior
    estimates_alpha: ClassVar[bool] = False  # whether its alpha_hat_ may serve other methods as class prior

    curve_: dict[str, list[float]]
    alpha_hat_: float | None
    lane_map_: str  # how it was trained: loop, vmap

    def fit(self, X_p: Array, X_u: Array | None = None, *, alpha: float | None = None, seed: int = 0) -> Self:
        """Fit one copy.

        Parameters
        ----------
        X_p : (n_p, *shape) labelled positives.
        X_u : (n_u, *shape) unlabelled rows; an OC method does not look at them.
        alpha : class prior p(y=1 | s=0), in (0, 1).
        seed : the only source of randomness.

        Raises
        ------
        ValueError : shapes of X_p and X_u differ, or a PU method gets no X_u.
        """
        fitted = self.fit_lanes([PUSample(X_p, X_u, alpha, seed)])[0]
        self.__dict__.update(fitted.__dict__)
        return self

    @property
    def one_class(self) -> bool:
        """Return True for OC methods and encoders, which learn from the labelled positives alone."""
        return self.kind in ("oc", "encoder")

    @property
    def keeps_training_rows(self) -> bool:
        """Return True if the fitted model contains training rows (support vectors, a memory bank)."""
        return False

    @abstractmethod
    def fit_lanes(self, samples: Sequence[PUSample], compute: Compute = Compute()) -> list[Self]:
        """Fit one independent copy per sample of equal shapes; a copy must not depend on its companions."""

    @abstractmethod
    def decision_function(self, X: Array) -> Array:
        """Return float scores (n,), higher = more likely positive. A score must not depend on the other rows."""

    @abstractmethod
    def state(self) -> dict[str, Array]:
        """Return the fitted model as named arrays, from which ``restore`` makes it again."""

    @abstractmethod
    def restore(self, state: dict[str, Array], shape: tuple[int, ...]) -> Self:
        """Restore the fitted model from its arrays. ``shape`` is that of one row."""


class Encoder(Estimator):
    """A representation that is learned from the labelled positives; all methods that use it share one fit."""

    kind = "encoder"
    frozen: ClassVar[bool] = False  # whether no sample changes it

    def encoded_shape(self, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the shape of an encoded row for rows of ``shape``; None, the default, where only a fit shows it."""
        return None

    @abstractmethod
    def encode(self, X: Array) -> Array:
        """Encode rows (n, *shape) as vectors (n, d), float32. A vector must not depend on the other rows."""


class PriorEstimator(RowChecks, ABC):
    """Base of estimators of the class prior. Hyperparameters are typed fields without defaults, as a method's."""

    name: ClassVar[str]  # set by @prior
    inputs: ClassVar[frozenset[str]] = frozenset({"vector"})
    libraries: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def estimate(self, sample: PUSample) -> float:
        """Estimate alpha = p(y=1 | s=0), in [0, 1], from X_p and X_u; ``sample.seed`` is the only randomness.

        Raises
        ------
        ValueError : no labelled or no unlabelled rows, or too few of them for this estimator.
        """


class LaneLoop(Estimator):
    """Base of estimators without gradient training: lanes are a plain loop over ``fit_one``."""

    @abstractmethod
    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Fit this copy."""

    def fit_lanes(self, samples: Sequence[PUSample], compute: Compute = Compute()) -> list[Self]:
        """Fit one copy per sample, one after the other."""
        fitted = []
        for sample in samples:
            check_sample(self, sample)
            one = copy(self)
            one.alpha_hat_, one.curve_, one.lane_map_ = None, {}, "loop"
            one.fit_one(sample, compute)
            fitted.append(one)
        return fitted


def check_sample(estimator: Estimator, sample: PUSample) -> None:
    """Check a sample before anything is trained.

    Raises
    ------
    ValueError : no rows, rows of different shapes or with values that are not finite, or a PU method without unlabelled
        rows.
    """
    X_p, X_u = sample.X_p, sample.X_u
    if len(X_p) == 0:
        raise ValueError(f"{estimator.name}: no labelled positives, at least 1 expected")
    check_finite("X_p", X_p)
    if estimator.one_class:
        return
    if X_u is None or len(X_u) == 0:
        raise ValueError(f"{estimator.name} is a PU method: no unlabelled rows, at least 1 expected")
    if X_u.shape[1:] != X_p.shape[1:]:
        raise ValueError(f"rows of X_u have shape {X_u.shape[1:]} but those of X_p have {X_p.shape[1:]}")
    check_finite("X_u", X_u)


def check_finite(name: str, X: Array) -> None:
    """Raise ValueError with the row for NaN and infinity, which some methods would turn into a number."""
    if X.dtype.kind != "f" or not X.size or (np.isfinite(X.min()) and np.isfinite(X.max())):
        return
    first = int(np.argmin(np.isfinite(X.reshape(len(X), -1)).all(axis=1)))
    raise ValueError(f"{name}: row {first} has a value that is NaN or infinite; finite values expected")
