"""Convex programs that methods solve exactly: arrays in, a minimiser with a bound on what it misses out."""
