"""From recorded rows to statements: means, paired tests, configuration choice. Arrays and tables in, tables out."""

from puoc.analysis.compare import compare

__all__ = ["compare"]
