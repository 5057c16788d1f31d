"""Read JSON files that puoc wrote, and check their form, which an editor or a merge may have changed."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from puoc.store.atomic import read_json
from puoc.store.yaml_file import dotted

T = TypeVar("T")

BY_PLAN = "expected it as puoc plan writes it; run puoc plan (or dvc repro plan)"
BY_SELECT = "expected it as puoc select writes it; run puoc select (or dvc repro select)"
_SHOWN = 60  # characters of a value that a message repeats


def read_form(path: Path, form: type[T] | TypeAdapter[T], again: str) -> T:
    """Read a JSON file as an object of a form.

    Parameters
    ----------
    form : a model, a typed class or an adapter of a type.
    again : the expected form and the command that writes the file again, for the message.

    Raises
    ------
    ValueError : the file is no JSON, or not of the form; the message names the file, the place and the value.
    """
    adapter = form if isinstance(form, TypeAdapter) else TypeAdapter(form)
    try:
        value = read_json(path)
    except ValueError as error:
        raise ValueError(f"{error}; {again}") from error
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = dotted(tuple(part for part in first["loc"] if not (isinstance(part, str) and "[" in part)))
        where = f"{path}: {place}" if place else str(path)
        if first["type"] == "missing":
            raise ValueError(f"{where}: the key is missing; {again}") from error
        shown = repr(first["input"])
        got = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."
        raise ValueError(f"{where}: got {got} ({first['msg'].removeprefix('Value error, ')}); {again}") from error
