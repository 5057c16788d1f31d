"""Fit, score and assess a user's own data."""

__all__ = [
    "assess",
    "estimators",
    "family_defaults",
    "fit",
    "kept_apart",
    "kept_columns",
    "pages",
    "preflight",
    "promises",
    "ranking_check",
    "row_digests",
    "score",
    "settings",
    "table_means",
    "tested",
    "thresholds",
]
