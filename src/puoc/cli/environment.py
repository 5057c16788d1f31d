"""Environment variables of the commands: ``PUOC_MEASURE_SECONDS`` and ``PUOC_MIRROR``."""

from __future__ import annotations

import os
from pathlib import Path


def seconds_of_measuring(all_kinds: bool = False) -> float:
    """Return how long ``puoc plan`` may measure this machine's speed. A stage of DVC uses what was measured before."""
    from puoc.plan.forecast.machine_speed import ALL_SECONDS, LIMIT_SECONDS

    if all_kinds:
        return ALL_SECONDS
    value = os.environ.get("PUOC_MEASURE_SECONDS", "0" if "DVC_STAGE" in os.environ else str(LIMIT_SECONDS))
    if not value.strip().isdecimal():
        raise ValueError(f"PUOC_MEASURE_SECONDS: got {value!r}; expected a whole number of seconds, or 0 for none")
    return float(value)


def mirror() -> Path | None:
    """Return the folder with the raw files of datasets, if one is named."""
    value = os.environ.get("PUOC_MIRROR")
    return Path(value) if value else None
