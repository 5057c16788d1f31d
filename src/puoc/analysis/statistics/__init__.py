"""Tests, effects, ranks and power over seeds."""

__all__ = ["auc", "effects", "moderated", "power", "ranks", "seed_power", "signed_rank", "significance"]
