"""Tests, effects, ranks and power over seeds."""
