"""Sweeps on Ray: compute each configuration of a sweep once, even if processes are killed on the way.

The ledger is the only state. Configurations that it has are not computed again, and the state of Ray is deleted.
Importing this package loads neither torch nor ray nor optuna, so that invalid input is reported at once.
"""

__all__ = [
    "budget",
    "cluster",
    "evaluate",
    "gpu_packing",
    "ray_nodes",
    "ray_start",
    "request",
    "results",
    "rounds",
    "status",
    "study",
    "submit",
    "tpe",
    "trainable",
    "tuner",
]
