"""``puoc ledger``: count, verify, export, import, compact and adopt the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puoc.cli.console import FAILED_ROWS, exit_on_invalid_input, exit_on_storage_error, planned, say, shown_console
from puoc.cli.help import add
from puoc.cli.output import result
from puoc.store.counting import counted

if TYPE_CHECKING:
    from puoc.run.adopt_sample import Group
    from puoc.run.recompute import Recomputed
    from puoc.store.ledger import Ledger

_ROOT = Path()
_SUFFIX = ".parquet"
_MOST = 2**31 - 1  # fits that are computed again

app = typer.Typer(help="Count, verify, export, import, compact and adopt the ledger.", no_args_is_help=True)


def ledger_count() -> None:
    """Count the fits by state."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.store import ledger_upkeep as upkeep

        counts = upkeep.count(_ledger())
    say(", ".join(f"{name} {number}" for name, number in counts.items()))
    result(fits=counts)


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

        faults = upkeep.verify(_ledger())
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
    """Return the ids of the fits of a number, from the recorded rows of its table.

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
    return {str(fit) for fit in chosen["fit_id"]}


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


def ledger_export(
    path: Annotated[Path, typer.Argument(help="A .parquet file, or a folder, to write to.")],
    title: Annotated[str | None, typer.Option(help="Title of the results, for a folder.")] = None,
) -> None:
    """Write records to a file or to a folder; models are not included.

    A .parquet file gets every record of the ledger with the scores of all test rows. A folder gets the records of the
    plan, with ROC curves instead of scores, and a manifest: published results, which puoc published opens.
    """
    with exit_on_invalid_input(), exit_on_storage_error():
        if any(character.isalpha() for character in path.suffix) and path.suffix.lower() != _SUFFIX:
            raise ValueError(f"{path}: got {path.suffix}; expected {_SUFFIX}, or the name of a folder without a suffix")
        if path.suffix.lower() == _SUFFIX:
            if title is not None:
                raise ValueError(f"--title: got {title!r}; a {_SUFFIX} file has no title, so leave the option out")
            from puoc.store import ledger_archive as archive

            archive.export(_ledger(), path)
            say(f"{path} written")
            result(path=path, fits=None, trials=None, content=None)
            return
        planned(_ROOT, computes=True)
        from puoc import __version__
        from puoc.plan.plan_source import planned_params
        from puoc.run.adopt_sample import planned_fits
        from puoc.run.published import with_equal_fits
        from puoc.store.published import About, export_folder

        fits, not_selected = planned_fits(_ROOT)
        manifest = export_folder(
            _ledger(),
            path,
            About(title or path.resolve().name, f"{date.today():%Y-%m-%d}", __version__),
            project=_ROOT,
            params=planned_params(_ROOT),
            fits=with_equal_fits(_ledger(), fits),
        )
    size = sum(file.stat().st_size for file in path.iterdir()) / 1e6
    say(f"{path} written: {counted(manifest.fits, 'fit')}, {counted(manifest.trials, 'trial')}, {size:.1f} MB")
    result(path=path, fits=manifest.fits, trials=manifest.trials, content=manifest.content)
    say(f"content {manifest.content}; the plan has {counted(len(fits), 'fit')}")
    if not_selected:
        say(f"not selected yet: {', '.join(not_selected)}; run puoc select, then puoc ledger export again")


def ledger_import(
    path: Annotated[Path, typer.Argument(help="A file or a folder written by puoc ledger export.")],
    keep: Annotated[
        bool, typer.Option("--keep", help="If a fit of a folder has another outcome here, keep the one that is here.")
    ] = False,
) -> None:
    """Add the records of an exported file or folder. Records that the ledger has are not changed."""
    with exit_on_invalid_input(), exit_on_storage_error():
        if not path.is_dir():
            if keep:
                raise ValueError(f"--keep: got {path}, which is no folder; expected a folder with published results")
            from puoc.store import ledger_archive as archive
            from puoc.store.regular_file import check_regular

            check_regular(path, "a file that puoc ledger export wrote")
            new, known = archive.import_(_ledger(), path)
            say(f"{counted(new, 'record')} added, {known} known already")
            result(added=new, known=known)
            return
        from puoc.store.published import import_folder

        imported = import_folder(_ledger(), path, keep=keep)
    result(added=imported.fits, known=imported.known)
    fits, trials = counted(imported.fits, "fit"), counted(imported.trials, "trial")
    say(f"{fits} and {trials} added; the ledger had {counted(imported.known, 'fit')} already")


def ledger_compact() -> None:
    """Remove temporary files, models and scores without a record, and claims of dead processes."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.store import ledger_upkeep as upkeep

        removed = upkeep.compact(_ledger())
    say(f"{counted(removed, 'file')} removed")
    result(removed=removed)


def ledger_adopt(
    every: Annotated[bool, typer.Option("--all", help="Compare every fit, not a sample.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the sample; compute and write nothing.")] = False,
) -> None:
    """Adopt records of earlier code for the present code if a sample of them is recomputed to the same bits.

    Exit code 3 if a group of fits is rejected.
    """
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(_ROOT, computes=True)
        from puoc.cli.progress import Reporter
        from puoc.run.adopt import adopt

        with Reporter("adopt", shown_console(stderr=False)) as reporter:
            adoption = adopt(_ROOT, every, dry_run, reporter.update)
    for group in adoption.groups:
        say(f"{group.learner} on {group.dataset}: {group.changes}: {_outcome(group, dry_run)}")
        for comparison in group.comparisons.values():
            for difference in comparison.differences:
                say(f"  {difference}")
    result(
        groups=[
            {
                "learner": group.learner,
                "dataset": group.dataset,
                "fits": len(group.pairs),
                "compared": len(group.comparisons),
                "adopted": group.adopted,
                "refused": group.refused,
            }
            for group in adoption.groups
        ],
        not_selected=adoption.not_selected,
    )
    if adoption.not_selected:
        say(f"not selected yet: {', '.join(adoption.not_selected)}; run puoc select, then puoc ledger adopt again")
    if dry_run:
        expected = f"{counted(adoption.n_computed, 'fit')} to compute, {adoption.expected_seconds:.1f} s as recorded"
        say(f"{counted(len(adoption.groups), 'group')}, {expected}; nothing was written")
        return
    adopted = sum(group.adopted for group in adoption.groups)
    compared = sum(len(group.comparisons) for group in adoption.groups)
    summary = f"{counted(adopted, 'fit')} adopted, {compared} compared, {adoption.n_computed} computed for it"
    say(f"{summary}, {adoption.seconds:.1f} s" + (f"; {adoption.log}" if adoption.log else ""))
    if any(group.refused for group in adoption.groups):
        raise typer.Exit(FAILED_ROWS)


def _outcome(group: Group, dry_run: bool) -> str:
    fits = f"{counted(len(group.pairs), 'fit')} to adopt"
    if dry_run:
        return f"{fits}, {len(group.sample)} to compare" + (f"; refused: {group.refused}" if group.refused else "")
    compared = f"{fits}, {len(group.comparisons)} compared ({', '.join(group.compared) or 'nothing'})"
    if group.refused:
        return f"{compared}; refused: {group.refused}"
    rest = len(group.pairs) - group.adopted
    return f"{compared}; {group.adopted} adopted" + (
        f", {rest} not adopted: they have a record already, or a fit that they need was rejected" if rest else ""
    )


def _ledger() -> Ledger:
    from puoc.store.ledger import Ledger

    return Ledger(Path("ledger"))


_COMMANDS: dict[str, Callable[..., None]] = {
    "count": ledger_count,
    "verify": ledger_verify,
    "export": ledger_export,
    "import": ledger_import,
    "compact": ledger_compact,
    "adopt": ledger_adopt,
}
for _name, _command in _COMMANDS.items():
    add(app, _name, _command, group="ledger")
