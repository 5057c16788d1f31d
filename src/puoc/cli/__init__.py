"""The commands: arguments in, messages and exit codes out. Nothing is computed here."""

__all__ = [
    "app",
    "assess",
    "console",
    "data_profile",
    "doctor",
    "fit_score",
    "ledger",
    "plan_overview",
    "progress",
    "published",
    "read_options",
    "status",
    "sweep",
    "ui",
]
