"""Numbers with their nouns, for messages and the report."""

from __future__ import annotations


def counted(n: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 seed``, ``3 seeds``."""
    return f"{n:,} {noun(n, singular, plural)}"


def noun(n: int, singular: str, plural: str = "") -> str:
    """Return a noun in the form that goes with a number."""
    return singular if n == 1 else plural or singular + "s"
