"""Sweeps on Ray: a question's configurations, each once, whatever is killed on the way.

The ledger is the only memory: what it has is not asked again, and Ray's own state is thrown away. Importing this
package loads neither torch nor ray nor optuna, so that what cannot be is refused at once.
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
