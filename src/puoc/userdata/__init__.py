"""Fit, score and assess a user's own data."""
