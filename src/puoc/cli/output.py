"""What a command prints: lines for people, one JSON document for programs (``--json``), or nothing (``--quiet``).

``with_output`` adds the options to a command. The command gives the parts of its document to
``result``; it is printed when the command ends, also with exit code 3. With ``--json``, lines go to the standard error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

R = TypeVar("R")
_KEY = "puoc.output"  # in the context of a call of the command line


def _state() -> dict[str, Any] | None:
    """Return the state of this call; None outside a command."""
    try:  # typer has click's code inside, from version 0.26 on
        from typer._click.globals import get_current_context
    except ImportError:
        from click import get_current_context  # type: ignore[no-redef]
    context = get_current_context(silent=True)
    return None if context is None else context.find_root().meta.setdefault(_KEY, {})


def with_output(function: Callable[..., R], keys: Sequence[str]) -> Callable[..., R]:
    """Return a command with the option ``--quiet``, and ``--json`` if there are keys of its document."""
    options = {"quiet": "Print only errors and warnings, no progress."}
    if keys:
        options = {"json": f"Print one JSON document with the keys {', '.join(keys)}.", **options}
    hints = get_type_hints(function, include_extras=True)
    known = signature(function)
    params = [each.replace(annotation=hints.get(name, Any)) for name, each in known.parameters.items()]
    for name, about in options.items():
        kind = Annotated[bool, typer.Option(f"--{name}", help=about)]
        params.append(Parameter(f"{name}_output", Parameter.KEYWORD_ONLY, default=False, annotation=kind))

    @wraps(function)
    def run(*given: Any, json_output: bool = False, quiet_output: bool = False, **more: Any) -> R:
        choose("json", json_output)
        choose("quiet", quiet_output)
        return function(*given, **more)

    run.__signature__ = known.replace(parameters=params, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in params} | {"return": None}
    return run


def choose(name: str, wanted: bool) -> None:
    """Set ``json`` or ``quiet`` for this call."""
    state = _state()
    if state is not None and wanted:
        state[name] = True


def is_json() -> bool:
    """Return True if the standard output is one JSON document."""
    return bool((_state() or {}).get("json"))


def is_quiet() -> bool:
    """Return True if only errors are printed."""
    return bool((_state() or {}).get("quiet"))


def result(**parts: object) -> None:
    """Add parts to the JSON document of this call. A list is added to the list that has its name already."""
    state = _state()
    if state is None or not state.get("json"):
        return
    document = state.setdefault("document", {})
    for name, value in parts.items():
        if isinstance(value, list) and isinstance(document.get(name), list):
            document[name] += value
        else:
            document[name] = value


def forget_result() -> None:
    """Drop the document: the command failed, and a part of a document is none."""
    state = _state()
    if state is not None:
        state.pop("document", None)


def print_result() -> None:
    """Print the JSON document of this call, if there is one."""
    state = _state()
    if state is not None and "document" in state:
        typer.echo(json.dumps(_plain(state.pop("document")), indent=1))


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: paths as text, and null for a number that is not finite."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
