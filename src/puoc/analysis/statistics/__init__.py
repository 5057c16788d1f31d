"""Tests, effects, ranks and power over seeds."""

__all__ = [
    "auc",
    "auc_interval",
    "effects",
    "elo",
    "holm",
    "moderated",
    "power",
    "rank_intervals",
    "ranks",
    "roc",
    "seed_power",
    "signed_rank",
    "significance",
    "withheld_scores",
]
