"""``puoc ledger``: count, verify, export, import, compact and adopt the records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puoc.cli.console import FAILED_ROWS, console, exit_on_invalid_input, exit_on_storage_error, planned, say
from puoc.store.counting import counted

if TYPE_CHECKING:
    from puoc.run.adopt_sample import Group
    from puoc.store.ledger import Ledger

_ROOT = Path()

app = typer.Typer(help="Count, verify, export, import, compact and adopt the ledger.", no_args_is_help=True)


@app.command("count")
def ledger_count() -> None:
    """Count the fits by state."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.store import ledger_archive as archive

        counts = archive.count(_ledger())
    say(", ".join(f"{name} {number}" for name, number in counts.items()))


@app.command("verify")
def ledger_verify() -> None:
    """Check every record, model and score file; exit code 3 if one is damaged or missing."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.store import ledger_archive as archive

        faults = archive.verify(_ledger())
    for fault in faults:
        say(fault)
    say(counted(len(faults), "fault"))
    if faults:
        raise typer.Exit(FAILED_ROWS)


@app.command("export")
def ledger_export(path: Annotated[Path, typer.Argument(help="The parquet file to write.")]) -> None:
    """Write every record with its scores to one parquet file, without models."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.store import ledger_archive as archive

        archive.export(_ledger(), path)
    say(f"{path} written")


@app.command("import")
def ledger_import(path: Annotated[Path, typer.Argument(help="A file written by puoc ledger export.")]) -> None:
    """Add the records of an exported file; existing records are not changed."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.store import ledger_archive as archive

        new, known = archive.import_(_ledger(), path)
    say(f"{counted(new, 'record')} added, {known} known already")


@app.command("compact")
def ledger_compact() -> None:
    """Remove temporary files, models and scores without a record, and claims of dead processes."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.store import ledger_archive as archive

        removed = archive.compact(_ledger())
    say(f"{counted(removed, 'file')} removed")


@app.command("adopt")
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

        with Reporter("adopt", console()) as reporter:
            adoption = adopt(_ROOT, every, dry_run, reporter.update)
    for group in adoption.groups:
        say(f"{group.learner} on {group.dataset}: {group.changes}: {_outcome(group, dry_run)}")
        for comparison in group.comparisons.values():
            for difference in comparison.differences:
                say(f"  {difference}")
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
