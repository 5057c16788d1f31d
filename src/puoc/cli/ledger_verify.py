"""``puoc ledger verify``: check the records, and compute a sample of them again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puoc.cli.console import (
    FAILED_ROWS,
    exit_on_invalid_input,
    exit_on_storage_error,
    planned,
    say,
    shown_console,
    working,
)
from puoc.cli.output import result
from puoc.store.counting import counted

if TYPE_CHECKING:
    from puoc.run.recompute import Recomputed

_ROOT = Path()
_MOST = 2**31 - 1  # fits that are computed again


def ledger_verify(
    recompute: Annotated[
        int | None,
        typer.Option(min=1, max=_MOST, metavar="N", help="Compute N fits of the plan again and compare them as well."),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Largest accepted difference of an AUC. At 0 every bit must be equal."),
    ] = 0.0,
    place: Annotated[
        str | None,
        typer.Option(metavar="TABLE/CELL/ENTRY", help="Compute the fits of this number of a table again."),
    ] = None,
) -> None:
    """Check every record, model and score file; exit code 3 if one is damaged or missing.

    With --recompute, N fits of the plan are then computed again in a temporary ledger and compared with their records:
    every method before a second fit of one, imported records first, cheapest first. Exit code 3 if a difference exceeds
    --tolerance. Another processor may give other last bits. With --place, these are the fits of one number, as puoc
    show and the report name it: all of them, or the N cheapest.
    """
    only = None
    with exit_on_invalid_input(), exit_on_storage_error():
        if recompute is None and place is None and tolerance:
            raise ValueError(f"--tolerance: got {tolerance} without --recompute; expected both, or neither")
        if place is not None:
            only = _fits_of(place)
            recompute = _MOST if recompute is None else recompute
        if recompute is not None:
            planned(_ROOT, computes=True)
        from puoc.store import ledger_upkeep as upkeep
        from puoc.store.ledger import Ledger

        with working("verify"):
            faults = upkeep.verify(Ledger(Path("ledger")))
    for fault in faults:
        say(fault)
    say(counted(len(faults), "fault"))
    result(faults=list(faults), recomputed=[])
    if faults:
        if recompute is not None:
            say("nothing was computed again: remove the faults first")
        raise typer.Exit(FAILED_ROWS)
    if recompute is not None:
        _recompute(recompute, tolerance, only)


def _fits_of(place: str) -> set[str]:
    """Return the ids of the fits of a number, from the recorded rows of its table, and say if some are by other code.

    Raises
    ------
    ValueError : the plan has no such number, or it was not run.
    """
    planned(_ROOT)
    from puoc.analysis.tables.results import read_results
    from puoc.analysis.tables.summary import AVERAGE
    from puoc.reporting.show.find import find
    from puoc.store.plan_files import planned_tables

    found = find(planned_tables(_ROOT), place)
    if found.plan is None or found.entry is None:
        raise ValueError(f"--place: got {place!r}; expected TABLE/CELL/ENTRY, as puoc show lists them")
    rows = read_results(_ROOT, found.plan)
    chosen = None if rows is None else rows[(rows["entry"] == found.entry) & (rows["status"] == "ok")]
    if chosen is not None and found.column != AVERAGE:
        chosen = chosen[chosen["cell"] == found.column]
    if chosen is None or chosen.empty:
        raise ValueError(f"--place: got {place!r}, which has no result; puoc run {found.plan.table} computes it")
    fits = set(chosen["fit_id"])
    others = set(chosen.loc[chosen["record_fit_id"].notna(), "fit_id"]) if "record_fit_id" in chosen else set()
    if others:
        say(f"computed by other code, and therefore not compared: {len(others)} of {counted(len(fits), 'fit')}")
    return {str(fit) for fit in fits}


def _recompute(n_fits: int, tolerance: float, only: set[str] | None) -> None:
    with exit_on_invalid_input(), exit_on_storage_error("nothing was written to the ledger"):
        from puoc.cli.progress import Reporter
        from puoc.run.recompute import recompute

        with Reporter("verify", shown_console(stderr=False)) as reporter:
            done, n_recorded = recompute(_ROOT, n_fits, reporter.update, only)
    for fit in done:
        for line in _compared(fit):
            say(line)
    result(
        recomputed=[
            {
                "fit_id": each.fit.id,
                "equal": each.is_equal,
                "largest_auc_difference": each.auc.size if each.auc else 0.0,
                "failed": each.failed,
            }
            for each in done
        ]
    )
    n_equal = sum(fit.is_equal for fit in done)
    n_exceed = sum(fit.exceeds(tolerance) for fit in done)
    say(
        f"{counted(len(done), 'fit')} of {n_recorded} computed again: {n_equal} equal, {len(done) - n_equal} not; "
        f"{n_exceed} beyond the tolerance {tolerance:g}"
    )
    if n_exceed:
        raise typer.Exit(FAILED_ROWS)


def _compared(done: Recomputed) -> Iterator[str]:
    fit = done.fit
    origin = f", imported from {done.imported}" if done.imported else ""
    name = f"{fit.method} on {fit.sample.dataset}, seed {fit.seed} (fit {fit.id}{origin})"
    if done.failed:
        yield f"{name}: cannot be computed any more: {done.failed}"
        return
    if done.is_equal:
        yield f"{name}: equal ({', '.join(done.compared)})"
        return
    auc = f"largest difference of an AUC {done.auc.size:.3g}, {done.auc}" if done.auc else "the AUCs are equal"
    yield f"{name}: differs; {auc}"
    for text in done.others:
        yield f"  {text}"
    if done.lanes_lack:
        lanes = counted(done.lanes_lack, "lane")
        yield f"  not comparable bit for bit: the plan lacks {lanes} of its batch under vmap"
    yield f"  recorded on: {done.machines[0]}"
    yield f"  computed on: {done.machines[1]}"
