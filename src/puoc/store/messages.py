"""Messages about invalid values in a user's file: the value, the expected value and the nearest spelling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from difflib import get_close_matches
from itertools import islice
from typing import get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from puoc.store.counting import counted
from puoc.store.yaml_file import KeyPath

UNKNOWN_KEY = "unknown key"


def location(loc: tuple[int | str, ...]) -> KeyPath:
    """Return pydantic's location of an error without the names of its own validators."""
    return tuple(
        part
        for part in loc
        if not (isinstance(part, str) and ("[" in part or part in ("int", "str", "literal", "constrained-int")))
    )


def sentence(item: ErrorDetails, model: type[BaseModel]) -> str:
    """Return a pydantic error as got and expected; the known keys are the fields of ``model``, or of a part of it."""
    model = _part_at(model, item["loc"][:-1])
    last = str(item["loc"][-1]) if item["loc"] else ""
    if item["type"] == "extra_forbidden":
        return f"{UNKNOWN_KEY}{nearest(last, model.model_fields)}; expected {listed(model.model_fields)}"
    if item["type"] == "missing":
        return f"the key is missing; expected {last}: VALUE"
    if item["type"] == "value_error":
        message = item["msg"].removeprefix("Value error, ")
        expected = message if message.startswith("expected") else f"expected {message}"
        return f"got {_shown(item['input'])}; {expected}" if item["loc"] else message
    return f"got {_shown(item['input'])}; expected {expected_by(item)}"


def _part_at(model: type[BaseModel], place: tuple[int | str, ...]) -> type[BaseModel]:
    """Return the model at a place inside a model, such as that of the entries of a list; else the model itself."""
    for name in (part for part in place if isinstance(part, str) and part in model.model_fields):
        inner = list(_models_in(model.model_fields[name].annotation))
        model = inner[0] if inner else model
    return model


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def expected_by(item: ErrorDetails) -> str:
    """Return the value that a pydantic error expected, in words of YAML."""
    if item["type"] == "too_short":
        return "at least {} in the list".format(counted(item["ctx"]["min_length"], "entry", "entries"))
    return _EXPECTED.get(item["type"]) or item["msg"].removeprefix("Input should be ")


_LISTED = 60  # names or values that a message repeats
_LONGEST = 500  # characters of a value that a message repeats
_COMPARED = 1000  # known words among which a spelling is searched
MAX_NAME_LENGTH = 100  # the name of a file consists of up to two such names and may have at most 255 characters


def is_name(name: str) -> bool:
    """Return True if a text can name a stage, a file and a row: at most 100 characters of a-z, 0-9 and ``_``."""
    if not name.replace("_", "a").isalnum() or len(name) > MAX_NAME_LENGTH:
        return False
    return name == name.lower() and name[0].isalpha() and name.isascii()


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` if a known word is spelt alike, else an empty text."""
    close = get_close_matches(word[:MAX_NAME_LENGTH], list(islice(known, _COMPARED)), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def listed(names: Iterable[str]) -> str:
    """Return names with commas between them, the first ones of very many; ``none`` if there are none."""
    listed_names = list(names)
    more = len(listed_names) - _LISTED
    return ", ".join(listed_names[:_LISTED]) + (f" and {more:,} more" if more > 0 else "") or "none"


def kind(value: object) -> str:
    """Return a value and its type, for a message where a section was expected."""
    return "nothing" if value is None or value == {} else f"{_shown(value)} ({type_of(value)})"


def type_of(value: object) -> str:
    """Return the name of a value's type in YAML."""
    return next((word for types, word in _TYPES if isinstance(value, types)), type(value).__name__)


def _shown(value: object) -> str:
    """Return a value as it stands in the file, apart from quotes."""
    if value is None:
        return "nothing"
    if isinstance(value, list | tuple):
        items = ", ".join("null" if item is None else _shown(item) for item in value[:_LISTED])
        return f"[{items}, ... ({len(value):,} in all)]" if len(value) > _LISTED else f"[{items}]"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "a truth value"),
    ((int, float), "a number"),
    (str, "a text"),
    ((list, tuple), "a list"),
    (dict, "a mapping"),
    (type(None), "nothing"),
    (date, "a date"),
)
#: Expected values in words of YAML, by pydantic's names of errors; pydantic's messages use Python's words.
_EXPECTED = {
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type", "dataclass_type"), "a mapping, name: value"),
    **dict.fromkeys(("float_parsing", "float_type"), "a number"),
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float", "int_parsing_size"), "a whole number"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list, [one, another]"),
    "string_type": "a text",
}
