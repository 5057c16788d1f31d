"""Learners of other libraries, kept as the rows that they learned from and a seed, and fitted again to score.

Their fitted objects would have to be pickled, and to load a pickle is to run code from a file. A learner that is
decided by its rows, its settings and a seed needs no such file: ``restore`` takes the rows, and the first score fits
the learner again.
"""

from __future__ import annotations

import json
import random
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, signature
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from puoc.methods.training.array_model import ArrayModel
from puoc.methods.training.estimator import Compute, PUSample
from puoc.records import Array

_SEEDS = 2**32  # numpy's generators take seeds below
_LARGEST = np.finfo(np.float64).max
_AT_ONCE = 65536  # rows
_FEW = 64  # rows; with as many, the learners with usual settings are fitted
_TRIED_COLUMNS = 3


def parsed(settings: str) -> dict[str, Any]:
    """Read ``n_neighbors=10, method=mean``; values are numbers, true, false, null, lists of these, or texts."""
    read: dict[str, Any] = {}
    for part in re.split(r",\s*(?=\w+\s*=)", settings) if settings else ():
        name, sign, value = (word.strip() for word in part.partition("="))
        if not sign or not value or not name.isidentifier() or name in read:
            raise PydanticCustomError("settings", "Input should be arguments name=value, with commas between them")
        try:
            read[name] = json.loads(f"0{value}" if value.startswith(".") else value)
        except ValueError:
            read[name] = value
    return read


def _readable(settings: str) -> str:
    parsed(settings)
    return settings


#: Arguments of a class of a library. One text, since hyperparameters have plain values everywhere.
Settings = Annotated[str, AfterValidator(_readable)]


class Refitted(ArrayModel):
    """Base of adapters. ``train`` makes the learner of the library, and ``raw_scores`` asks it."""

    package: ClassVar[str]  # of PyPI, and the extra of puoc that brings it
    keeps_rows = True
    learner_: Any

    @abstractmethod
    def train(self, arrays: Mapping[str, Array], seed: int) -> Any:
        """Fit the learner of the library to rows, float64, by the names of the state."""

    @abstractmethod
    def raw_scores(self, learner: Any, X: Array) -> Array:
        """Return scores (n,) of rows (n, d), float64 and n > 0; higher = more likely positive."""

    def check_counts(self, n_p: int, n_u: int) -> None:
        """See ``RowChecks``: the library is installed, and it takes random rows if there are few.

        What a learner takes at least is nowhere written, so it is tried.
        """
        self.check_installed()
        if n_p < _FEW or (not self.one_class and n_u < _FEW):
            rng, d = np.random.default_rng(0), _TRIED_COLUMNS
            counts = {"positives": min(n_p, _FEW)} | ({} if self.one_class else {"unlabelled": min(n_u, _FEW)})
            self._trained({name: rng.normal(size=(n, d)) for name, n in counts.items()}, 0)

    def check_installed(self) -> None:
        """Raise ValueError if the library is missing, with the commands that install it."""
        if find_spec(self.package) is None:
            raise ValueError(
                f"method {self.name}: the package {self.package} is not installed; expected it here: "
                f"python -m pip install {self.package}, or in a checkout of puoc make install EXTRAS={self.package}"
            )

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Keep the rows, and fit the learner to them."""
        self.check_shape(sample.X_p.shape[1:])
        self.check_installed()
        self.arrays_ = {"positives": sample.X_p.copy(), "seed": np.array([float(sample.seed % _SEEDS)])}
        if not self.one_class and sample.X_u is not None:
            self.arrays_["unlabelled"] = sample.X_u.copy()
        self.learner_ = self._fitted_again()

    def check_arrays(self, d: int) -> None:
        """See ``ArrayModel``: rows are there, and the seed is one. The learner is fitted when it is asked."""
        (seed,) = self.arrays_["seed"].tolist()
        empty = [name for name, array in self.arrays_.items() if len(array) == 0]
        if empty or seed != int(seed) or not 0 <= seed < _SEEDS:
            raise ValueError(f"{self.name}: rows and a whole seed expected, got {empty or seed}")
        self.learner_ = None

    def decision_function(self, X: Array) -> Array:
        """Return scores (n,), float64."""
        if self.learner_ is None:
            self.check_installed()
            self.learner_ = self._fitted_again()
        scores = np.empty(len(X))
        for start in range(0, len(X), _AT_ONCE):
            part = np.ascontiguousarray(X[start : start + _AT_ONCE], dtype=np.float64)
            found = np.asarray(self.raw_scores(self.learner_, part), dtype=np.float64)
            scores[start : start + len(part)] = np.clip(found, -_LARGEST, _LARGEST)
        return scores

    def _fitted_again(self) -> Any:
        rows = {name: array.astype(np.float64) for name, array in self.arrays_.items() if name != "seed"}
        return self._trained(rows, int(self.arrays_["seed"][0]))

    def _trained(self, rows: Mapping[str, Array], seed: int) -> Any:
        try:
            with _own_generators(seed):
                return self.train(rows, seed)
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            if str(error).startswith("hyperparameter "):
                raise
            counts = " and ".join(f"{len(array)} {name}" for name, array in rows.items())
            reason = str(error).splitlines()[0] if str(error) else "no reason given"
            raise ValueError(
                f"{self.name}: {self.package} cannot be fitted to {counts} ({type(error).__name__}: {reason}); "
                "expected more rows, or other settings"
            ) from error


def library_class(package: str, module: str, name: str) -> Any:
    """Import a class of a library that puoc does not need otherwise."""
    return getattr(import_module(f"{package}.{module}" if module else package), name)


def made(cls: Any, settings: str, given: Mapping[str, Any], field: str) -> Any:
    """Make an object of a library's class.

    Parameters
    ----------
    settings : arguments as ``parsed`` reads them.
    given : arguments that puoc sets, of which those are passed that the class takes.
    field : the hyperparameter that ``settings`` are, for messages.

    Raises
    ------
    ValueError : an argument that the class does not take, or that puoc sets.
    """
    taken = [
        name
        for name, one in signature(cls.__init__).parameters.items()
        if name != "self" and one.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    ]
    free = [name for name in taken if name not in given and name not in ("n_jobs", "verbose", "device")]
    chosen = parsed(settings)
    for name in chosen:
        if name not in free:
            near = get_close_matches(name, free, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(
                f"hyperparameter {field!r}: got {name!r}{hint}, expected arguments of {cls.__name__}: {', '.join(free)}"
            )
    return cls(**{name: value for name, value in given.items() if name in taken}, **chosen)


@contextmanager
def _own_generators(seed: int) -> Iterator[None]:
    """Seed the global generators, which some learners draw from, and put back what they were."""
    kept, kept_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with torch.random.fork_rng(devices=[]):
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002
            torch.default_generator.manual_seed(seed)
            yield
    finally:
        random.setstate(kept)
        np.random.set_state(kept_numpy)  # noqa: NPY002
