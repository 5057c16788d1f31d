"""Tell the pages of the report which experiment of MLflow has their runs, so that each number links to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from puoc.store.atomic import write_bytes

#: The script that the pages load, below the folder of the project.
SCRIPT = Path("reports") / "assets" / "mlflow.js"


def link_report(root: Path, experiments: Mapping[str, str]) -> None:
    """Write the ids of the experiments by name for the pages of the report, if there is a report.

    Parameters
    ----------
    experiments : names by id, as MLflow has them.
    """
    path = root / SCRIPT
    if not path.parent.is_dir():
        return
    ids = {name: number for number, name in sorted(experiments.items())}
    text = f"window.PUOC_MLFLOW={json.dumps(ids, sort_keys=True)};\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_bytes(path, text.encode())
