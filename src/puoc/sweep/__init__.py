"""Sweeps on Ray: a question's configurations, each once, whatever is killed on the way.

The ledger is the only memory: what it has is not asked again, and Ray's own state is thrown away. Importing this
package loads neither ray nor optuna; running a sweep does.
"""

from puoc.sweep.asking import Asking, Sweep, ask
from puoc.sweep.budget import Budget

__all__ = ["Asking", "Budget", "Sweep", "ask"]
