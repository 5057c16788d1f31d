"""Fit, score and assess a user's own data."""

__all__ = ["assess", "fit", "preflight", "score", "settings", "tested"]
