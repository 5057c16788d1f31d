"""Tests whether unlabelled data can be trusted: class prior, shift and gain."""
