"""The address of the store: what MLflow is told, and the file that it means."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote


class TrackingError(ValueError):
    """The store cannot be used or does not agree with the results; says what to do about it."""


def tracking_uri(root: Path | str) -> str:
    """URI of the store: MLFLOW_TRACKING_URI where it is set, else the file ``mlruns/mlflow.db`` below the root.

    Raises
    ------
    TrackingError : the root's path has a character that means something else in an address: MLflow would lay its files
        elsewhere.
    """
    if given := os.environ.get("MLFLOW_TRACKING_URI"):
        return given
    path = str(Path(root).resolve() / "mlruns" / "mlflow.db")
    if "?" in path or "%" in path:
        raise TrackingError(f"got {path}: MLflow takes no path with ? or %; expected a folder with another name")
    return f"sqlite:///{path}"


def sqlite_file(uri: str) -> Path | None:
    """The file of a SQLite store, None of any other."""
    if not uri.startswith("sqlite:///"):
        return None
    return Path(unquote(uri.removeprefix("sqlite:///").split("?")[0])).resolve()
