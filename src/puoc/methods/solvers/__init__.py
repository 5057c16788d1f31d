"""What fits without a network: programs of the double-hinge PU risk, decision trees and distances between rows."""

__all__ = [
    "excess",
    "forest",
    "hinge",
    "hinge_kernel",
    "hinge_linear",
    "hinge_sgd",
    "kernel_expansion",
    "neighbours",
    "refitted",
    "trees_model",
]
