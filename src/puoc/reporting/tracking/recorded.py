"""Content of a run beyond its row: from the ledger's record of the fit, and from the pipeline."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from puoc.analysis.statistics.roc import decode
from puoc.reporting.tracking.artifacts import LEFT_OUT, TAG
from puoc.reporting.tracking.curves import curve_of_roc, curves_of, write_curves
from puoc.reporting.tracking.stored_run import StoredRun
from puoc.store.ledger import Ledger
from puoc.store.ledger_records import Entry

if TYPE_CHECKING:
    from mlflow.entities import Metric


def curve(entry: Entry | None) -> dict[str, tuple[float, ...]]:
    """Return the objective by epoch, or before and after an exact solution, as metrics by name."""
    return {f"curve/{name}": values for name, values in entry.result.curve.items()} if entry is not None else {}


def metrics_of(
    stored: StoredRun, changed: Mapping[str, float], extra: Mapping[str, str], entry: Entry | None
) -> list[Metric]:
    """Return the metrics to log: the changed values, and the curves that the run does not have yet.

    Parameters
    ----------
    extra : tags; if they name the run as the owner of its model, AUCs belong to the model as well.
    """
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    owns_model = extra.get("model_owner") == stored.run_id
    model = extra.get("model_uri", "").removeprefix("models:/") if owns_model else None
    metrics = [Metric(k, v, now, 0, model_id=model if k.startswith("auc") else None) for k, v in changed.items()]
    logged = curve(entry) if extra.get(TAG) != LEFT_OUT else {}
    curves = {name: values for name, values in logged.items() if name not in stored.metrics}
    return metrics + [
        Metric(name, value, now, step) for name, values in curves.items() for step, value in enumerate(values)
    ]


def recorded(entry: Entry | None) -> dict[str, str]:
    """Return the tags that only the record of the fit contains."""
    if entry is None:
        return {"ledger": "absent"}
    result = entry.result
    git = {f"git.{key}": value if isinstance(value, str) else json.dumps(value) for key, value in result.git.items()}
    if "git.commit" in git:
        git["mlflow.source.git.commit"] = git["git.commit"]
    machine = {"machine": result.machine} if result.machine is not None else {}
    return {"ledger": "present", "data_digest": result.fit.sample.data_digest, **machine, **git}


def write_files(folder: Path, trial_id: str, scoring: str | None, entry: Entry | None, ledger: Ledger) -> bool:
    """Write the artifacts of a trial: the record of the fit, and the scores behind its AUC by the code ``scoring``.

    The scores are there as numbers and as curves. Return False if there is no record.
    """
    if entry is None:
        return False
    (folder / "fit.json").write_text(json.dumps(entry.result.canonical(), indent=1, sort_keys=True))
    scored = entry.scored(trial_id, scoring)
    scores = ledger.scores(scored) if scored is not None else None
    curves = None
    if scored is not None and scores is not None:
        np.save(folder / "scores.npy", scores, allow_pickle=False)
        curves = curves_of(scores, scored.n_pos)
    elif scored is not None and scored.roc is not None:
        curves = curve_of_roc(decode(scored.roc))
    if curves is not None:
        fit = entry.result.fit
        write_curves(folder, curves, f"{fit.method} on {fit.sample.dataset}, seed {fit.seed}, trial {trial_id}")
    return True


def pipeline(root: Path) -> dict[str, str]:
    """Return tags that identify the state of the pipeline when the run was written."""
    lock = root / "dvc.lock"
    known = {"mlflow.source.name": "puoc"}
    return known | (
        {"dvc.lock.md5": md5(lock.read_bytes(), usedforsecurity=False).hexdigest()} if lock.is_file() else {}
    )
