"""From a plan to records and rows: runner, executors, sweeps, DVC stages and selection."""
