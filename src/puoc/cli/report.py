"""``puoc compare``, ``puoc report`` and ``puoc track``: from results to the comparison, the pages and MLflow."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from puoc.cli.console import exit_on_invalid_input, exit_on_storage_error, hint, planned, say, working
from puoc.cli.output import result

_ROOT = Path()
_Artifacts = Literal["auto", "all", "best", "none"]  # those of puoc.reporting.tracking


def compare() -> None:
    """Compute means, significance tests and the best methods from results/ and write them to results/compare."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(_ROOT)
        from puoc.analysis.compare import compare as write_comparison
        from puoc.run.stages import planned_trial_ids

        with working("compare"):
            write_comparison(_ROOT, planned_trial_ids(_ROOT))
    result(path="results/compare")
    say("results/compare written")


def report(
    tracked: Annotated[bool, typer.Option("--track/--no-track", help="Update the MLflow store as well.")] = True,
) -> None:
    """Write the pages of reports/; run the comparison first if results/ changed since the last one."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(_ROOT)
        from puoc.analysis.compare import compare as write_comparison
        from puoc.analysis.compare import comparison_is_old
        from puoc.reporting.site import build
        from puoc.run.stages import planned_trial_ids
        from puoc.store.extras import check_installed

        check_installed("plotly", *["mlflow"] * tracked)
        trials = planned_trial_ids(_ROOT)
        with working("report"):
            if comparison_is_old(_ROOT):
                write_comparison(_ROOT, trials)
            page = build(_ROOT, trials)
    if tracked:
        _sync_mlflow()
    else:
        result(runs=None)
    result(report=page)
    say(f"report: {page}")
    hint("open the report in a browser; puoc show prints results here; puoc ui serves MLflow")


def track(
    artifacts: Annotated[
        _Artifacts,
        typer.Option(
            help="Which trials get artifacts (curves, scores, record of the fit) and training curves: all, only those "
            "of the best entry of each cell, or none. auto: all up to 10,000 trials, best above. A run keeps what it "
            "has."
        ),
    ] = "auto",
) -> None:
    """Update the MLflow store from the results and register the best model of each scenario."""
    _sync_mlflow(artifacts)
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.reporting.tracking import register_best
        from puoc.run.stages import planned_trial_ids

        with working("best models"):
            best = register_best(_ROOT, planned_trial_ids(_ROOT))
    result(best=[{**model._asdict(), "name": model.name} for model in best])
    for model in best:
        if model.version is not None:
            say(f"best of {model.name}: {model.entry}, version {model.version} ({model.note})")
    reasons: dict[str, list[str]] = defaultdict(list)
    for model in best:
        if model.version is None:
            reasons[model.note].append(model.name)
    for reason, names in reasons.items():
        say(f"no model registered for {', '.join(names)}: {reason}")


def _sync_mlflow(artifacts: _Artifacts = "auto") -> None:
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(_ROOT)
        from puoc.reporting.tracking import track as sync_runs

        with working("MLflow") as shown:
            counts = sync_runs(_ROOT, lambda done, total: shown.update(done, total, "runs"), artifacts)
    result(runs=counts)
    say("MLflow: " + (", ".join(f"{name} {number}" for name, number in counts.items()) or "no rows"))
