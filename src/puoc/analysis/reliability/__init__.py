"""Tests of the reliability of unlabelled data: class prior, shift and gain."""
