"""Tests, effects, ranks and power over seeds."""

__all__ = ["auc", "effects", "holm", "moderated", "power", "ranks", "roc", "seed_power", "signed_rank", "significance"]
