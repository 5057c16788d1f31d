"""Tests of the reliability of unlabelled data: class prior, shift and gain."""

__all__ = ["alpha", "gain", "leads", "robustness_map", "shift", "two_sample"]
