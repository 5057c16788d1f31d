"""Analysis of recorded rows: means, paired tests and choice of configurations. Input and output are tables."""

from puoc.analysis.compare import compare

__all__ = ["compare"]
