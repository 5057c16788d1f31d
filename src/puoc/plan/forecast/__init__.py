"""Forecast the seconds of a fit before it is computed."""

__all__ = ["costs", "machine_speed", "work"]
