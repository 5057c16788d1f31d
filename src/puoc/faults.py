"""Words for faults in what a user wrote: what stands there, what was expected, the nearest spelling."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel

from puoc.yamlfile import KeyPath


def location(loc: tuple[int | str, ...]) -> KeyPath:
    """Pydantic's location without the names of its own validators."""
    return tuple(
        part
        for part in loc
        if not (isinstance(part, str) and ("[" in part or part in ("int", "str", "literal", "constrained-int")))
    )


def sentence(item: Any, model: type[BaseModel]) -> str:
    """A pydantic error as got and expected; the model names the known keys."""
    last = str(item["loc"][-1]) if item["loc"] else ""
    if item["type"] == "extra_forbidden":
        return f"unknown key{nearest(last, model.model_fields)}; expected {listed(model.model_fields)}"
    if item["type"] == "missing":
        return "the key is missing"
    message = item["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    expected = message if message.startswith("expected") else f"expected {message}"
    return f"got {item['input']!r}; {expected}" if item["type"] != "value_error" or item["loc"] else message


def is_name(name: str) -> bool:
    """True for what can name a stage, a file and a row: small ASCII letters, digits and ``_``."""
    return name.replace("_", "a").isalnum() and name == name.lower() and name[0].isalpha() and name.isascii()


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` where something is spelt alike, else nothing."""
    close = get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def listed(names: Iterable[str]) -> str:
    """Names with commas between them."""
    return ", ".join(names) or "none"


def kind(value: Any) -> str:
    """A value and its type, for a place where a section was expected."""
    return "nothing" if value is None or value == {} else f"{value!r} ({type(value).__name__})"
