"""Results, plans and summaries as tables."""

__all__ = ["frames", "grid", "results", "summary"]
