"""Words for faults in what a user wrote: what stands there, what was expected, the nearest spelling."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from difflib import get_close_matches

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from puoc.store.counting import counted
from puoc.store.yaml_file import KeyPath


def location(loc: tuple[int | str, ...]) -> KeyPath:
    """Pydantic's location without the names of its own validators."""
    return tuple(
        part
        for part in loc
        if not (isinstance(part, str) and ("[" in part or part in ("int", "str", "literal", "constrained-int")))
    )


def sentence(item: ErrorDetails, model: type[BaseModel]) -> str:
    """A pydantic error as got and expected; the model names the known keys."""
    last = str(item["loc"][-1]) if item["loc"] else ""
    if item["type"] == "extra_forbidden":
        return f"unknown key{nearest(last, model.model_fields)}; expected {listed(model.model_fields)}"
    if item["type"] == "missing":
        return "the key is missing"
    if item["type"] == "value_error":
        message = item["msg"].removeprefix("Value error, ")
        expected = message if message.startswith("expected") else f"expected {message}"
        return f"got {_shown(item['input'])}; {expected}" if item["loc"] else message
    return f"got {_shown(item['input'])}; expected {expected_by(item)}"


def expected_by(item: ErrorDetails) -> str:
    """What a pydantic error expected, in words of YAML."""
    if item["type"] == "too_short":
        return "at least {} in the list".format(counted(item["ctx"]["min_length"], "entry", "entries"))
    return _EXPECTED.get(item["type"]) or item["msg"].removeprefix("Input should be ")


MOST_LETTERS = 100  # of a name: a file's is made of up to two of them, and must not pass 255


def is_name(name: str) -> bool:
    """True for what can name a stage, a file and a row: at most 100 small ASCII letters, digits and ``_``."""
    if not name.replace("_", "a").isalnum() or len(name) > MOST_LETTERS:
        return False
    return name == name.lower() and name[0].isalpha() and name.isascii()


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` where something is spelt alike, else nothing."""
    close = get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def listed(names: Iterable[str]) -> str:
    """Names with commas between them."""
    return ", ".join(names) or "none"


def kind(value: object) -> str:
    """A value and its type, for a place where a section was expected."""
    return "nothing" if value is None or value == {} else f"{_shown(value)} ({type_of(value)})"


def type_of(value: object) -> str:
    """What YAML calls a value."""
    return next((word for types, word in _TYPES if isinstance(value, types)), type(value).__name__)


def _shown(value: object) -> str:
    """As it stands in the file, but for quotes."""
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"[{', '.join('null' if one is None else _shown(one) for one in value)}]"
    return str(value).lower() if isinstance(value, bool) else repr(value)


_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "a truth value"),
    ((int, float), "a number"),
    (str, "a text"),
    ((list, tuple), "a list"),
    (dict, "a mapping"),
    (type(None), "nothing"),
    (date, "a date"),
)
#: By pydantic's names of errors, whose own words are Python's.
_EXPECTED = {
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type", "dataclass_type"), "a mapping, name: value"),
    **dict.fromkeys(("float_parsing", "float_type"), "a number"),
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float", "int_parsing_size"), "a whole number"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list, [one, another]"),
    "string_type": "a text",
}
