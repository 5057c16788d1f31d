"""From a plan to records and rows: runner, executors, sweeps, DVC stages and selection."""

__all__ = [
    "adopt",
    "adopt_sample",
    "executors",
    "published",
    "recompute",
    "result_rows",
    "runner",
    "select",
    "stages",
    "sweep",
]
