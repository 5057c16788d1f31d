"""Parts of the report: figures, tables and sentences of the compared results, and the templates of its pages."""

__all__ = [
    "answer",
    "decision_plane",
    "figures",
    "format",
    "importance",
    "metrics",
    "paper",
    "places",
    "protocol",
    "ranks",
    "section",
    "significance",
    "sources",
    "stale_rows",
    "sweeps",
    "tables",
]
