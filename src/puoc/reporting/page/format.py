"""Format numbers for the page. An empty value is shown as a dash, never as ``nan``."""

from __future__ import annotations

DASH = "\N{EN DASH}"
_MINUS = "\N{MINUS SIGN}"


def number(value: float | None, digits: int = 2) -> str:
    """Format a number with a fixed number of digits."""
    return DASH if value is None else f"{float(value):.{digits}f}".replace("-", _MINUS)


def spread(mean: float | None, deviation: float | None, digits: int = 2) -> str:
    """Format a mean with its deviation or error, or the mean alone if there is none."""
    return number(mean, digits) + ("" if deviation is None else f" ± {number(deviation, digits)}")


def signed(value: float | None, digits: int = 3) -> str:
    """Format a difference, always with its sign."""
    return DASH if value is None else f"{float(value):+.{digits}f}".replace("-", _MINUS)


def p_value(p: float | None) -> str:
    """Format a p-value with significant digits: 0.0020 rather than 0.00."""
    if p is None:
        return DASH
    if p < 0.0001:
        return "< 0.0001"
    if p > 0.9995:
        return "1"
    return f"{p:.4f}" if p < 0.01 else f"{p:.3f}"


def seconds(value: float | None) -> str:
    """Format a time in seconds with three significant digits: 0.00303 rather than 0.00."""
    if value is None:
        return DASH
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:#.3g}" if value >= 0.001 else f"{value:.1g}"


def hours(value: float | None) -> str:
    """Format a time with its unit: in hours from two hours on, in minutes from two minutes on, else in seconds."""
    if value is None:
        return DASH
    for unit, name in ((3600, "hours"), (60, "minutes")):
        if value >= 2 * unit:
            return f"{value / unit:,.1f} {name}"
    return f"{seconds(value)} seconds"
