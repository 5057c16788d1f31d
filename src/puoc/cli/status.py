"""``puoc status`` and ``puoc retry``: which rows failed or are missing, and another attempt for failed ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puoc.cli.console import FAILED_ROWS, exit_on_invalid_input, exit_on_storage_error, planned, say, working
from puoc.cli.output import result
from puoc.store.counting import counted

if TYPE_CHECKING:
    from puoc.store.result_rows import ResultRow

ROOT = Path()


def status() -> None:
    """List failed rows, missing rows and stages that were not run; exit code 3 if there are failed rows."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.run.status import pipeline_status

        with working("status"):
            state = pipeline_status(ROOT)
    result(
        failed=[_facts(row) for row in (*state.failed, *state.failed_unplanned)],
        missing=len(state.missing),
        not_run=state.not_run,
        adopted=state.adopted,
        stale=state.stale,
        unwritten=state.unwritten,
        unrecorded=state.unrecorded,
        unchecked=state.unchecked,
        unplanned=state.unplanned,
        missing_unplanned=state.missing_unplanned,
    )
    for row in state.failed:
        place = f"{row.table}, {row.entry}, {row.cell}, seed {row.seed}"
        say(f"failed ({counted(row.attempts, 'attempt')}): {place}: {row.reason}  [{row.fit_id}]")
    if state.not_run:
        say(f"not run: {', '.join(state.not_run)}")
    say(f"{counted(len(state.failed), 'failed row')}, {counted(len(state.missing), 'missing row')}")
    if state.adopted:
        say(f"{counted(state.adopted, 'row')} of the plan adopted from records of earlier code (puoc ledger adopt)")
    if state.stale:
        say(f"{counted(state.stale, 'row')} of results/ scored by another version of the code; dvc repro rescores them")
    if state.missing or state.not_run:
        say("dvc repro computes what is missing")
    if state.unwritten:
        say(f"{counted(state.unwritten, 'row')} in ledger/ but not in results/; dvc repro writes the missing rows")
    if state.unrecorded:
        say(f"{counted(state.unrecorded, 'row')} in results/ but not in ledger/; dvc repro --force computes them again")
    if state.unchecked:
        files = ", ".join(map(str, state.unchecked))
        say(
            f"written by an earlier version, without a checksum, so damage can go unseen: {files}; "
            "delete them, and dvc repro writes them again from the ledger, with a checksum"
        )
    if state.unplanned:
        say(f"sweeps that are not planned, but in MLflow and the report: {', '.join(state.unplanned)}")
    for name, missing in state.missing_unplanned.items():
        say(f"missing in a sweep: {name}: {counted(missing, 'row')}; running the same puoc sweep computes them")
    for row in state.failed_unplanned:
        place = f"{row.table}, {row.params}, {row.cell}, seed {row.seed}"
        say(f"failed in a sweep ({counted(row.attempts, 'attempt')}): {place}: {row.reason}  [{row.fit_id}]")
    if state.failed_unplanned:
        say("running the same puoc sweep tries a fit once more, then it is quarantined; puoc retry lifts that")
    if state.failed:
        say("the next dvc repro tries a fit once more, then it is quarantined; puoc retry lifts that")
        raise typer.Exit(FAILED_ROWS)


def _facts(row: ResultRow) -> dict[str, object]:
    names = ("table", "entry", "cell", "seed", "attempts", "reason", "fit_id")
    return {name: getattr(row, name) for name in names}


def retry(fits: Annotated[list[str], typer.Argument(help="Ids of failed fits, or the word all.")]) -> None:
    """Allow one more attempt for fits that failed repeatedly. The next dvc repro or puoc sweep makes it."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.run.stages import allow_retry
        from puoc.run.status import pipeline_status
        from puoc.store.ledger import Ledger

        ledger = Ledger(ROOT / "ledger")
        with working("status"):
            state = pipeline_status(ROOT)
        failed = {row.fit_id for row in (*state.failed, *state.failed_unplanned)}
        chosen = sorted(failed) if fits == ["all"] else fits
        unknown = [fit for fit in chosen if fit not in failed]
        if unknown:
            raise ValueError(f"no failed fit {', '.join(unknown)}; failed: {', '.join(sorted(failed)) or 'none'}")
        for fit in chosen:
            allow_retry(ledger, fit)
    result(fits=list(chosen))
    say(f"{counted(len(chosen), 'fit')} will be tried once more by the next dvc repro or puoc sweep that needs it")
