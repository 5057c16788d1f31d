"""Format numbers for the page. An empty value is shown as a dash, never as ``nan``."""

from __future__ import annotations

from typing import Any

from puoc.analysis.tables.frames import present

DASH = "\N{EN DASH}"
_MINUS = "\N{MINUS SIGN}"


def number(value: Any, digits: int = 2) -> str:
    """Format a number with a fixed number of digits."""
    return f"{float(value):.{digits}f}".replace("-", _MINUS) if present(value) else DASH


def spread(mean: Any, deviation: Any, digits: int = 2) -> str:
    """Format a mean with its deviation or error, or the mean alone if there is none."""
    return number(mean, digits) + (f" ± {number(deviation, digits)}" if present(deviation) else "")


def signed(value: Any, digits: int = 3) -> str:
    """Format a difference, always with its sign."""
    return f"{float(value):+.{digits}f}".replace("-", _MINUS) if present(value) else DASH


def p_value(value: Any) -> str:
    """Format a p-value with significant digits: 0.0020 rather than 0.00."""
    if not present(value):
        return DASH
    p = float(value)
    if p < 0.0001:
        return "< 0.0001"
    if p > 0.9995:
        return "1"
    return f"{p:.4f}" if p < 0.01 else f"{p:.3f}"
