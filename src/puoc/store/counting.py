"""Numbers as a reader would say them."""

from __future__ import annotations


def counted(n: int, singular: str, plural: str = "") -> str:
    """``1 seed``, ``3 seeds``."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"
