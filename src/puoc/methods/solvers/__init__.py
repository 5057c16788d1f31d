"""Exact solvers of the double-hinge PU risk."""

__all__ = ["hinge", "hinge_kernel", "hinge_linear", "hinge_sgd", "kernel_expansion"]
