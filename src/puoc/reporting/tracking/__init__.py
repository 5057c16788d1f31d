"""The MLflow view of the results: an experiment a scenario, a run a trial, made from rows and ledger, never read.

It can be deleted and made again at any time: ``track`` brings it into line with the results. Importing this package
loads no mlflow; what talks to a store does.
"""

from puoc.reporting.tracking.address import TrackingError, tracking_uri
from puoc.reporting.tracking.model_registry import Registered, register_best
from puoc.reporting.tracking.store import Store, server_command
from puoc.reporting.tracking.sync import Tracker, track

__all__ = [
    "Registered",
    "Store",
    "Tracker",
    "TrackingError",
    "register_best",
    "server_command",
    "track",
    "tracking_uri",
]
