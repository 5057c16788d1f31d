"""Metrics as views of stored scores: none of them needs a fit, and none changes the id of one.

A metric is one function with the decorator ``metric``, in any file of this package. ``METRICS`` finds it by its name.
The metrics of test rows get the scores of both classes, ``Scores``; those of withheld rows, which need no label of U,
get the scores of withheld positives and of withheld unlabelled rows, ``Withheld``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from inspect import cleandoc
from pkgutil import iter_modules
from typing import Literal, NamedTuple

from puoc.analysis.metrics.counts import Scores, Withheld
from puoc.analysis.metrics.curve import StoredCurve

#: What is used if params.yaml names none; the paper reports it.
DEFAULT = "auc"


class Metric(NamedTuple):
    """A metric: its function, and what a stored ROC curve says of it where scores were not kept."""

    name: str
    said: str  # what it is, one sentence
    source: str
    rows: Literal["test", "withheld"]
    function: Callable[[Scores], float | None] | Callable[[Withheld], float | None]
    from_curve: Callable[[StoredCurve], float | None] | None = None
    higher_is_better: bool = True
    needs_alpha: bool = False  # it depends on the share of positives in U, so on the cell

    @property
    def compares(self) -> bool:
        """Return True if params.yaml may name it as its metric: all methods have it, and higher is better."""
        return self.rows == "test" and self.higher_is_better


_REGISTERED: dict[str, Metric] = {}


def metric(
    source: str,
    *,
    rows: Literal["test", "withheld"] = "test",
    from_curve: Callable[[StoredCurve], float | None] | None = None,
    higher_is_better: bool = True,
    needs_alpha: bool = False,
    name: str | None = None,
) -> Callable[[Callable[..., float | None]], Callable[..., float | None]]:
    """Register a function as a metric, under its name. The first sentence of its docstring is shown to users.

    Parameters
    ----------
    source : where the metric comes from.
    rows : ``test`` for a function of ``Scores``, ``withheld`` for one of ``Withheld``.
    from_curve : the value that a stored ROC curve determines, or None where it does not.

    Raises
    ------
    ValueError : another function has the name already.
    """

    def register(function: Callable[..., float | None]) -> Callable[..., float | None]:
        key = name or function.__name__
        known = _REGISTERED.get(key)
        if known is not None and known.function.__module__ != function.__module__:
            places = f"in {known.function.__module__} and {function.__module__}"
            raise ValueError(f"metric {key!r} is defined twice, {places}; expected once")
        said = " ".join(cleandoc(function.__doc__ or "").partition("\n\n")[0].split()).rstrip(".")
        _REGISTERED[key] = Metric(key, said, source, rows, function, from_curve, higher_is_better, needs_alpha)
        return function

    return register


def metrics() -> dict[str, Metric]:
    """Return all metrics by name: first the default, then those of test rows, then those of withheld rows."""
    for module in iter_modules(import_module(__name__).__path__):
        import_module(f"{__name__}.{module.name}")
    order = {"test": 0, "withheld": 1}
    ordered = sorted(_REGISTERED.values(), key=lambda one: (one.name != DEFAULT, order[one.rows], one.name))
    return {one.name: one for one in ordered}


def names_to_compare() -> list[str]:
    """Return the names that the key ``metric`` of params.yaml may have."""
    return [name for name, one in metrics().items() if one.compares]


def check_name(name: object) -> str:
    """Return the name of a metric by which methods are compared.

    Raises
    ------
    ValueError : there is no such metric, or it is none to compare methods by; the message lists those that are.
    """
    known, names = metrics(), names_to_compare()
    listed = ", ".join(names)
    if isinstance(name, str) and name in names:
        return name
    if isinstance(name, str) and name in known:
        one = known[name]
        why = "is computed on withheld rows" if one.rows == "withheld" else "is lower for a better method"
        raise ValueError(f"got {name!r}, which {why}; expected one of {listed}")
    near = get_close_matches(str(name).lower(), names, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise ValueError(f"got {name!r}{hint}; expected one of {listed}")


def test_metrics(scores: Scores) -> dict[str, float]:
    """Return the metrics of scores of test rows by name; those that the scores do not determine are left out."""
    return _present({name: one.function(scores) for name, one in _of("test").items()})  # type: ignore[arg-type]


test_metrics.__test__ = False  # type: ignore[attr-defined]  # not a test case of pytest


def curve_metrics(curve: StoredCurve) -> dict[str, float]:
    """Return the metrics that a stored ROC curve determines, by name."""
    return _present({name: one.from_curve(curve) for name, one in _of("test").items() if one.from_curve})


def withheld_metrics(withheld: Withheld) -> dict[str, float]:
    """Return the metrics of withheld rows by name; those that are not determined are left out."""
    return _present({name: one.function(withheld) for name, one in _of("withheld").items()})  # type: ignore[arg-type]


def _of(rows: Literal["test", "withheld"]) -> dict[str, Metric]:
    return {name: one for name, one in metrics().items() if one.rows == rows}


def _present(values: Mapping[str, float | None]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if value is not None}


__all__ = [
    "DEFAULT",
    "Metric",
    "check_name",
    "curve_metrics",
    "metric",
    "metrics",
    "names_to_compare",
    "test_metrics",
    "withheld_metrics",
]
