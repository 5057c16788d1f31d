"""Search spaces: ``tuning/spaces/<method>.yaml`` as Optuna distributions, and their enumeration.

A file holds named spaces. In a space a list is a choice, ``{low, high}`` a range of floats (``log: true``, ``step:``
as in Optuna), and ``{low, high, type: int}`` a range of integers. A space whose hyperparameters depend on one another
is a list of such parts; a choice of ``null`` leaves a hyperparameter out.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from itertools import product
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from puoc.records import Params
from puoc.store.yaml_file import InvalidInput, YamlFile

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

    Part = dict[str, BaseDistribution]

_RANGE_KEYS = {"low", "high", "step", "log", "type"}


def read_space(folder: Path, method: str, space: str) -> list[Part]:
    """Return the parts of the named space of a method; a space that is no list has one part.

    Raises
    ------
    InvalidInput : there is no such file or space (the message lists the existing ones), or a hyperparameter has no
        valid distribution.
    """
    path = folder / f"{method}.yaml"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.yaml"))) or "none"
        advice = "" if folder.is_dir() else f". There is no folder {folder} either: copy that of puoc's repository"
        raise InvalidInput(
            [f"no search space for {method}: {path} does not exist; methods with spaces: {known}{advice}"]
        )
    file = YamlFile(path)
    spaces = file.data or {}
    if not isinstance(spaces, dict):
        raise InvalidInput([f"{path}: got {spaces!r}; expected spaces by name"])
    if space not in spaces:
        raise InvalidInput([f"{path}: no space {space!r}; it has: {', '.join(sorted(map(str, spaces))) or 'none'}"])
    whole = spaces[space]
    parts = {(space, i): part for i, part in enumerate(whole)} if isinstance(whole, list) else {(space,): whole}
    wrong = [file.at(key) for key, part in parts.items() if not isinstance(part, dict)]
    if wrong or not parts:
        place = wrong[0] if wrong else file.at((space,))
        raise InvalidInput([f"{place}: got {whole!r}; expected hyperparameters by name, or a list of such parts"])
    faults: list[str] = []
    distributions: list[Part] = []
    for key, part in parts.items():
        distributions.append({})
        for name, spec in part.items():
            try:
                distributions[-1][name] = _distribution(spec)
            except (ArithmeticError, TypeError, ValueError) as error:
                faults.append(f"{file.at((*key, name))}: {error}")
    if faults:
        raise InvalidInput(faults)
    return distributions


def has_published(folder: Path, method: str, params: Params) -> bool:
    """Return True if hyperparameters have every value of ``published``, or of another space whose name begins so.

    Hyperparameters that the space does not mention may have any value. ``null`` in the space means that a
    hyperparameter is left out. Returns False if there is no such space.
    """
    path = folder / f"{method}.yaml"
    spaces = _content(path, path.stat().st_mtime_ns) if path.exists() else None
    named = spaces.items() if isinstance(spaces, dict) else ()
    published = [space for name, space in named if str(name).startswith("published") and isinstance(space, dict)]
    return any(all(params.get(name) in values for name, values in space.items()) for space in published)


@cache
def _content(path: Path, modified: int) -> object:
    """Return the content of a file of spaces; a plan looks into the same one for each configuration of a method."""
    return YamlFile(path).data


def enumerate_grid(space: list[Part]) -> list[Params]:
    """Return every configuration of each part, in the order of the file; the last hyperparameter varies fastest."""
    configs = []
    for part in space:
        values = [_values(name, distribution) for name, distribution in part.items()]
        configs += [dict(zip(part, combination, strict=True)) for combination in product(*values)]
    return configs


def extremes(distribution: BaseDistribution) -> list[JsonValue]:
    """Return both ends of a range, or every choice."""
    choices = getattr(distribution, "choices", None)
    return list(choices) if choices is not None else [distribution.low, distribution.high]  # type: ignore[attr-defined]


def _distribution(spec: object) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(spec, list):
        if not spec:
            raise ValueError("got an empty list; expected at least one choice")
        return CategoricalDistribution(spec)
    if not isinstance(spec, dict) or not {"low", "high"} <= set(spec) <= _RANGE_KEYS:
        raise ValueError(f"got {spec!r}; expected a list of choices or {{low, high, log, step, type}}")
    kind = spec.get("type", "float")
    if kind in ("int", "float"):
        _check_numbers(spec, is_whole=kind == "int")
    if kind == "int":
        return IntDistribution(spec["low"], spec["high"], log=spec.get("log", False), step=spec.get("step", 1))
    if kind == "float":
        return FloatDistribution(spec["low"], spec["high"], log=spec.get("log", False), step=spec.get("step"))
    raise ValueError(f"type: got {kind!r}; expected int or float")


def _check_numbers(spec: dict[str, object], is_whole: bool) -> None:
    """Raise ValueError for values that Optuna would accept (NaN, infinity, true) or round to a whole number."""
    for key in ("low", "high", "step"):
        value = spec.get(key)
        if key == "step" and value is None:
            continue
        is_valid = isinstance(value, int) and not isinstance(value, bool)
        if isinstance(value, float):
            is_valid = value.is_integer() if is_whole else isfinite(value)
        if not is_valid:
            raise ValueError(f"{key}: got {value!r}; expected a {'whole' if is_whole else 'finite'} number")


def _values(name: str, distribution: BaseDistribution) -> list[JsonValue]:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    if isinstance(distribution, IntDistribution) and not distribution.log:
        return list(range(distribution.low, distribution.high + 1, distribution.step))
    if isinstance(distribution, FloatDistribution) and distribution.step is not None:
        # decimal, as written: 0.1 + 2 * 0.1 must equal a 0.3 of another file, otherwise one fit has two ids
        low, high, step = (Decimal(str(n)) for n in (distribution.low, distribution.high, distribution.step))
        return [float(low + i * step) for i in range(int((high - low) / step) + 1)]
    raise InvalidInput([f"{name} is a range without a step, so it has no grid; give it a step or a list of choices"])
