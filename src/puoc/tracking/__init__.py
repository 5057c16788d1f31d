"""The MLflow view of the results: an experiment a scenario, a run a trial, made from rows and ledger, never read.

It can be deleted and made again at any time: ``track`` brings it into line with the results. Importing this package
loads no mlflow; what talks to a store does.
"""

from puoc.tracking.address import TrackingError, tracking_uri
from puoc.tracking.line import Tracker, track
from puoc.tracking.registered import Registered, register_best
from puoc.tracking.store import Store, server_command

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
