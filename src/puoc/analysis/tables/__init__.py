"""Results, plans and summaries as tables."""

__all__ = ["dvc_files", "frames", "grid", "metric_tables", "results", "summary"]
