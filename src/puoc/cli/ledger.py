"""``puoc ledger``: count, verify, export, import and compact the records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puoc.cli.console import FAILED_ROWS, exit_on_invalid_input, exit_on_storage_error, say
from puoc.store.counting import counted

if TYPE_CHECKING:
    from puoc.store.ledger import Ledger

app = typer.Typer(help="Count, verify, export, import and compact the ledger.", no_args_is_help=True)


@app.command("count")
def ledger_count() -> None:
    """How many fits there are, by state."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.store import ledger_archive as archive

        counts = archive.count(_ledger())
    say(", ".join(f"{name} {number}" for name, number in counts.items()))


@app.command("verify")
def ledger_verify() -> None:
    """Check every record, model and score file; exit code 3 when one is not what it should be."""
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
    """Write every record with its scores to one parquet file (models are not in it)."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.store import ledger_archive as archive

        archive.export(_ledger(), path)
    say(f"{path} written")


@app.command("import")
def ledger_import(path: Annotated[Path, typer.Argument(help="A file written by puoc ledger export.")]) -> None:
    """Add the records of an exported file; what the ledger has stays as it is."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.store import ledger_archive as archive

        new, known = archive.import_(_ledger(), path)
    say(f"{counted(new, 'record')} added, {known} known already")


@app.command("compact")
def ledger_compact() -> None:
    """Remove what no record refers to: temporary files, orphaned models and scores, dead claims."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.store import ledger_archive as archive

        removed = archive.compact(_ledger())
    say(f"{counted(removed, 'file')} removed")


def _ledger() -> Ledger:
    from puoc.store.ledger import Ledger

    return Ledger(Path("ledger"))
