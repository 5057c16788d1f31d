"""Checks of an estimator's arguments that ``puoc fit`` has no need for, since its options are texts."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

_CHOICES: dict[str, tuple[Any, ...]] = {
    "threshold": ("alpha", "recall", None),
    "scaling": ("minmax", "standard"),
    "repeats": ("together", "apart", None),
}
_SHARES = ("recall", "withhold")


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Check the arguments of an estimator, by name.

    Raises
    ------
    ValueError : an argument is of another type or outside its values. The message names it and what is expected.
    """
    for name, choices in _CHOICES.items():
        value = arguments[name]
        if not isinstance(value, str | None) or value not in choices:
            expected = [repr(choice) for choice in choices]
            raise ValueError(f"{name}: got {value!r}; expected {', '.join(expected[:-1])} or {expected[-1]}")
    for name in _SHARES:
        value = arguments[name]
        if not isinstance(value, Real) or not 0 < float(value) < 1:
            raise ValueError(f"{name}: got {value!r}; expected a share in (0, 1)")
    for name in ("method", "encoder"):
        value = arguments.get(name)
        if not isinstance(value, str | None):
            raise ValueError(f"{name}: got {value!r}; expected a name")
    if not isinstance(arguments.get("params"), Mapping | None):
        raise ValueError(f"params: got {arguments['params']!r}; expected a dict, such as {{'lr': 0.001}}")
    prior = arguments["class_prior"]
    if not isinstance(prior, str | Real | None):
        raise ValueError(f"class_prior: got {prior!r}; expected a number in (0, 1) or the name of an estimator")
