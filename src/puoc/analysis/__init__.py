"""Analysis of recorded rows: means, paired tests and choice of configurations. Input and output are tables.

Importing this package loads nothing: pandas and scipy take longer than many commands.
"""

__all__ = ["compare", "metrics", "paper", "reliability", "selection", "statistics", "tables"]
