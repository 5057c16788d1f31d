"""The command that serves MLflow's UI."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from puoc.reporting.tracking.store import Store

_DEPRECATED = (
    "ignore::UserWarning:mlflow.server.fastapi_app"  # a warning about mlflow itself, at each start of a server
)


def server_command(root: Path | str, port: int) -> tuple[list[str], dict[str, str]]:
    """Create the store if needed; return the arguments and the environment of the command that serves the UI.

    The server listens on this machine only. The URI is passed in the environment, because it may contain a password,
    and all users of a machine can see the arguments of a command.
    """
    store = Store(root)
    if store.database is not None:
        with store.lock(60):
            store.open()
    store.share_artifacts()
    warning_filters = ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), _DEPRECATED)))
    command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--artifacts-destination", str(store.artifacts)]
    return command, os.environ | {"PYTHONWARNINGS": warning_filters, "MLFLOW_BACKEND_STORE_URI": store.uri}
