"""Numbers with their nouns, and values of any length, for messages and the report."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 60  # characters of a value that a message shows


def counted(n: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 seed``, ``3 seeds``."""
    return f"{n:,} {noun(n, singular, plural)}"


def noun(n: int, singular: str, plural: str = "") -> str:
    """Return a noun in the form that goes with a number."""
    return singular if n == 1 else plural or singular + "s"


def cut(value: str) -> str:
    """Return a value of a file, cut after 60 characters: a message shows which one it is, not all of it."""
    return value if len(value) <= LONGEST else value[: LONGEST - 3] + "..."


def quoted(value: object) -> str:
    """Return a value of a file in quotes, cut as by ``cut``."""
    return repr(cut(value) if isinstance(value, str) else value)
