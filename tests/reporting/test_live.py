"""When rows of a run go to MLflow: counted from the first fit, since libraries take seconds to load."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from tracked_project import Project

from puoc.reporting.tracking import live
from puoc.reporting.tracking.live import LiveTracking


@pytest.mark.parametrize(("stage", "after"), [("run@small", "_FIRST_IN_STAGE"), (None, "_WRITE_INTERVAL")])
@pytest.mark.parametrize(("fit_seconds", "written"), [(0.0, False), (None, False), (1.0, True)])
def test_a_quick_stage_or_run_does_not_load_mlflow_while_libraries_load(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fit_seconds: float | None,
    written: bool,
    stage: str | None,
    after: str,
) -> None:
    monkeypatch.setenv("DVC_STAGE", stage) if stage else monkeypatch.delenv("DVC_STAGE", raising=False)
    for name in ("_FIRST_IN_STAGE", "_WRITE_INTERVAL"):
        monkeypatch.setattr(live, name, 0.5 if name == after else 1e9)
    rows = [replace(row, fit_seconds=fit_seconds) for row in Project(tmp_path).ask("small", "one_vs_all", cells=1)]
    with LiveTracking(tmp_path) as tracking:
        time.sleep(0.6)  # libraries are loaded meanwhile
        tracking.add(rows[:1])
        assert (tmp_path / "mlruns" / "mlflow.db").exists() is written
        assert tracking.failure is None
