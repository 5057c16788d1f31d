"""Numbers and words as the page prints them. An empty value is a dash, never ``nan``."""

from __future__ import annotations

from typing import Any

from puoc.analysis.tables.frames import present

DASH = "\N{EN DASH}"
_MINUS = "\N{MINUS SIGN}"


def number(value: Any, digits: int = 2) -> str:
    """A plain number with fixed digits."""
    return f"{float(value):.{digits}f}".replace("-", _MINUS) if present(value) else DASH


def spread(mean: Any, deviation: Any, digits: int = 2) -> str:
    """A mean with its deviation or error, or the mean alone where there is none."""
    return number(mean, digits) + (f" ± {number(deviation, digits)}" if present(deviation) else "")


def signed(value: Any, digits: int = 3) -> str:
    """A difference: always with its sign."""
    return f"{float(value):+.{digits}f}".replace("-", _MINUS) if present(value) else DASH


def p_value(value: Any) -> str:
    """A p-value with two digits that count: 0.0020 rather than 0.00."""
    if not present(value):
        return DASH
    p = float(value)
    if p < 0.0001:
        return "< 0.0001"
    if p > 0.9995:
        return "1"
    return f"{p:.4f}" if p < 0.01 else f"{p:.3f}"
