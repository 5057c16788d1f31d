"""Results, plans and summaries as tables."""

__all__ = ["frames", "grid", "metric_tables", "results", "summary"]
