"""What params.yaml names: methods, encoders, priors, datasets. A file registers itself; there is no list to edit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

METHODS: dict[str, Any] = {}
ENCODERS: dict[str, Any] = {}
PRIORS: dict[str, Any] = {}
DATASETS: dict[str, Any] = {}

C = TypeVar("C", bound=type)


def _registrar(kind: str, table: dict[str, Any], name: str) -> Callable[[C], C]:
    # a fit names a method, an encoder or a prior, and nothing in it says which
    tables = (DATASETS,) if table is DATASETS else (METHODS, ENCODERS, PRIORS)

    def register(cls: C) -> C:
        for known in (found[name] for found in tables if name in found):
            if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
                raise ValueError(f"{kind} {name!r} is defined twice: in {known.__module__} and {cls.__module__}")
        cls.name = name  # type: ignore[attr-defined]
        table[name] = cls
        return cls

    return register


def method(name: str) -> Callable[[C], C]:
    """Register a method class under the id that params.yaml uses."""
    return _registrar("method", METHODS, name)


def encoder(name: str) -> Callable[[C], C]:
    """Register a class of encoders that are fitted, under the id that params.yaml uses."""
    return _registrar("encoder", ENCODERS, name)


def prior(name: str) -> Callable[[C], C]:
    """Register a class of class-prior estimators under the id that params.yaml uses."""
    return _registrar("prior", PRIORS, name)


def dataset(name: str) -> Callable[[C], C]:
    """Register a dataset class under the id that params.yaml uses."""
    return _registrar("dataset", DATASETS, name)
