"""Exact solvers of the double-hinge PU risk."""
