"""One file per method family. Each file registers its methods.

"The paper" is Bagirov, Ivanov and Shpilman; its equations and tables are cited by their labels in its source.
"Released" is the code they published. Rows are (n, d) vectors, (n, channels, height, width) images in [0, 1] or
(n, T, 1 + d) sequences; a score is (n,), higher = more likely positive. The values of
hyperparameters are in params.yaml and the profiles; each docstring names the published ones and their source. An
optional hyperparameter selects the behaviour of the released code, or belongs to another hyperparameter.
"""

from __future__ import annotations

from puoc.methods.training import from_params as making
from puoc.methods.training.estimator import Estimator
from puoc.records import Params
from puoc.registry import METHODS

__all__ = ["METHODS", "inputs_of", "make", "normalise"]


def make(name: str, params: Params) -> Estimator:
    """Make a method with its hyperparameters, not yet fitted. Raises ValueError as ``making.make``."""
    made: Estimator = making.make(METHODS, name, params)
    return made


def normalise(name: str, params: Params) -> Params:
    """Return validated hyperparameters as plain JSON types, as ``making.normalise``. Raises ValueError as ``make``."""
    return making.normalise(METHODS, name, params)


def inputs_of(name: str, params: Params) -> frozenset[str]:
    """Return the kinds of rows that a method takes (``image``, ``vector``, ``sequence``). Raises as ``make``."""
    made = make(name, params)
    taken: frozenset[str] = getattr(made, "takes", made.inputs)
    return taken
