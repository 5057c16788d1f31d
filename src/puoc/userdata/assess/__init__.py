"""Decide from a user's data whether OC, PU-OC or PU methods can be trusted."""
