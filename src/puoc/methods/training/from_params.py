"""Construction of registered classes from the hyperparameters of params.yaml, with readable error messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from puoc.records import Params, canonical_json
from puoc.store.messages import expected_by

T = TypeVar("T")


def make(table: Mapping[str, type[T]], name: str, params: Params) -> T:
    """Make an object of the class that is registered under a name.

    Raises
    ------
    ValueError : unknown name; unknown, missing or invalid hyperparameters, with one sentence for each.
    """
    if name not in table:
        raise ValueError(f"unknown name {name!r}; expected one of {', '.join(sorted(table))}")
    cls = table[name]
    assert is_dataclass(cls), f"{cls} lacks the decorator typed"
    known = [field.name for field in fields(cls)]
    wrong = [_unknown(given, known) for given in params if given not in known]
    wrong += [f"hyperparameter {field!r}: got {value}, a finite number expected" for field, value in _infinite(params)]
    if wrong:
        raise ValueError("; ".join(wrong))
    try:
        # through JSON: strict (no text for a number), but 1 is accepted for a float
        return TypeAdapter(cls).validate_json(canonical_json(params), strict=True)
    except ValidationError as error:
        raise ValueError("; ".join(map(_sentence, error.errors()))) from None


def normalise(table: Mapping[str, type[T]], name: str, params: Params) -> Params:
    """Return validated hyperparameters as plain JSON types, equal for equal content, without absent ones.

    Raises
    ------
    ValueError : as ``make``.
    """
    made = make(table, name, params)
    plain: Params = TypeAdapter(table[name]).dump_python(made, mode="json", exclude_none=True)
    return plain


def _unknown(given: str, known: list[str]) -> str:
    near = get_close_matches(given, known, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"unknown hyperparameter {given!r}{hint}; expected one of {', '.join(known)}"


def _infinite(params: Params) -> list[tuple[str, float]]:
    numbers = [(field, value) for field, value in params.items() if isinstance(value, float)]
    return [(field, value) for field, value in numbers if value in (float("inf"), float("-inf")) or value != value]


def _sentence(error: ErrorDetails) -> str:
    if not error["loc"]:  # a rule over several hyperparameters
        return error["msg"].removeprefix("Value error, ")
    field = error["loc"][0]
    if error["type"] == "missing":
        return f"missing hyperparameter {field!r}, expected a value"
    return f"hyperparameter {field!r}: got {error['input']!r}, expected {expected_by(error)}"
