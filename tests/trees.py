"""Places in nested lists and mappings, for tests that change a value anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def paths(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the keys that lead to each value below this one."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from paths(part, (*path, key))
