"""The MLflow view of the results: one experiment for each scenario, one run for each trial.

It is written from rows and the ledger, and puoc takes no results from it. It can be deleted at any time; ``track``
writes it again. Importing this package does not load mlflow; using a store does.
"""

from puoc.reporting.tracking.address import TrackingError, tracking_uri
from puoc.reporting.tracking.artifacts import Artifacts
from puoc.reporting.tracking.model_registry import Registered, register_best
from puoc.reporting.tracking.server import server_command
from puoc.reporting.tracking.store import Store
from puoc.reporting.tracking.sync import Tracker, track

__all__ = [
    "Artifacts",
    "Registered",
    "Store",
    "Tracker",
    "TrackingError",
    "register_best",
    "server_command",
    "track",
    "tracking_uri",
]
