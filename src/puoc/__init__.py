"""Benchmark of one-class (OC), positive-unlabelled (PU) and PU-OC classifiers. See README.md."""

__all__ = ["__version__"]

__version__ = "0.1.0"
