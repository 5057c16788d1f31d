"""Search spaces: ``tuning/spaces/<method>.yaml`` as Optuna distributions, and their enumeration.

A file holds named spaces. In a space a list is a choice, ``{low, high}`` a range of floats (``log: true``, ``step:``
as in Optuna), and ``{low, high, type: int}`` a range of integers.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from puoc.yamlfile import AskedWrongly, YamlFile

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

_RANGE_KEYS = {"low", "high", "step", "log", "type"}


def read_space(folder: Path, method: str, space: str) -> dict[str, BaseDistribution]:
    """The named space of a method.

    Raises
    ------
    AskedWrongly : no such file or space (what there is, is named), or a parameter that is no distribution.
    """
    path = folder / f"{method}.yaml"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.yaml"))) or "none"
        raise AskedWrongly([f"no search space for {method}: {path} does not exist; methods with spaces: {known}"])
    file = YamlFile(path)
    spaces = file.data or {}
    if not isinstance(spaces, dict):
        raise AskedWrongly([f"{path}: got {spaces!r}; expected spaces by name"])
    if space not in spaces:
        raise AskedWrongly([f"{path}: no space {space!r}; it has: {', '.join(sorted(map(str, spaces))) or 'none'}"])
    if not isinstance(spaces[space], dict):
        raise AskedWrongly([f"{file.at((space,))}: got {spaces[space]!r}; expected hyperparameters by name"])
    faults: list[str] = []
    found = {}
    for name, spec in spaces[space].items():
        try:
            found[name] = _distribution(spec)
        except (TypeError, ValueError) as error:
            faults.append(f"{file.at((space, name))}: {error}")
    if faults:
        raise AskedWrongly(faults)
    return found


def enumerate_grid(space: dict[str, BaseDistribution]) -> list[dict[str, Any]]:
    """Every configuration of the space, in the order of its file (the last parameter runs fastest)."""
    values = [_values(name, distribution) for name, distribution in space.items()]
    return [dict(zip(space, combination, strict=True)) for combination in product(*values)]


def _distribution(spec: Any) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(spec, list):
        if not spec:
            raise ValueError("got an empty list; expected at least one choice")
        return CategoricalDistribution(spec)
    if not isinstance(spec, dict) or not {"low", "high"} <= set(spec) <= _RANGE_KEYS:
        raise ValueError(f"got {spec!r}; expected a list of choices or {{low, high, log, step, type}}")
    kind = spec.get("type", "float")
    if kind == "int":
        return IntDistribution(spec["low"], spec["high"], log=spec.get("log", False), step=spec.get("step", 1))
    if kind == "float":
        return FloatDistribution(spec["low"], spec["high"], log=spec.get("log", False), step=spec.get("step"))
    raise ValueError(f"type: got {kind!r}; expected int or float")


def _values(name: str, distribution: BaseDistribution) -> list[Any]:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    if isinstance(distribution, IntDistribution) and not distribution.log:
        return list(range(distribution.low, distribution.high + 1, distribution.step))
    if isinstance(distribution, FloatDistribution) and distribution.step is not None:
        # decimal, as written: 0.1 + 2 * 0.1 must be the 0.3 that somebody else writes, or one question has two ids
        low, high, step = (Decimal(str(n)) for n in (distribution.low, distribution.high, distribution.step))
        return [float(low + i * step) for i in range(int((high - low) / step) + 1)]
    raise AskedWrongly([f"{name} is a range without a step, so it has no grid; give it a step or a list of choices"])
