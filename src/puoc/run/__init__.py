"""From a plan to records and rows: runner, executors, sweeps, DVC stages and selection."""

__all__ = [
    "adopt",
    "adopt_sample",
    "budget_run",
    "budget_tasks",
    "executors",
    "pending",
    "published",
    "recompute",
    "result_rows",
    "runner",
    "schedule",
    "select",
    "stages",
    "status",
    "stored_metrics",
    "sweep",
    "task_queue",
]
