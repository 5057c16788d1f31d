"""Results, plans and summaries as tables."""
