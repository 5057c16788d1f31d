"""Tests of the reliability of unlabelled data: class prior, shift and gain."""

__all__ = ["alpha", "gain", "paper_tests", "robustness_map", "shift"]
