"""The commands of puoc: they read arguments, call other packages, and print messages and exit codes."""

__all__ = [
    "app",
    "assess",
    "console",
    "data_profile",
    "doctor",
    "empty_paths",
    "fit_score",
    "help",
    "ledger",
    "listing",
    "new_method",
    "plan_overview",
    "progress",
    "published",
    "read_options",
    "run",
    "standard_input",
    "status",
    "sweep",
    "ui",
]
