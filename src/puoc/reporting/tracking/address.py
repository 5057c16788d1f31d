"""The address of the MLflow store, and the file of a SQLite store."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote


class TrackingError(ValueError):
    """Raised if the store cannot be used or does not match the results; the message contains a remedy."""


def tracking_uri(root: Path | str) -> str:
    """Return the URI of the store: MLFLOW_TRACKING_URI if it is set, else ``mlruns/mlflow.db`` below the root.

    Raises
    ------
    TrackingError : the path of the root has a character with another meaning in a URI, so that MLflow would write its
        files to another place.
    """
    if uri := os.environ.get("MLFLOW_TRACKING_URI"):
        return uri
    path = str(Path(root).resolve() / "mlruns" / "mlflow.db")
    if "?" in path or "%" in path:
        raise TrackingError(f"got {path}: MLflow takes no path with ? or %; expected a folder with another name")
    return f"sqlite:///{path}"


def sqlite_file(uri: str) -> Path | None:
    """Return the file of a SQLite store; None for any other store."""
    if not uri.startswith("sqlite:///"):
        return None
    return Path(unquote(uri.removeprefix("sqlite:///").split("?")[0])).resolve()


def first_line(error: Exception) -> str:
    """Return the first line of an error's message; SQLAlchemy adds the statement and addresses in further lines."""
    return str(error).partition("\n")[0].rstrip(".")
