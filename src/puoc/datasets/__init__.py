"""The datasets, one file per source. Each file registers its class."""

from puoc.registry import DATASETS

__all__ = ["DATASETS"]
