"""``puoc ledger``: count, verify, export, import, compact and adopt the records."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
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
from puoc.cli.help import add
from puoc.cli.ledger_verify import ledger_verify
from puoc.cli.output import result
from puoc.store.counting import counted

if TYPE_CHECKING:
    from puoc.run.adopt_sample import Group
    from puoc.store.ledger import Ledger

_ROOT = Path()
_SUFFIX = ".parquet"

app = typer.Typer(help="Count, verify, export, import, compact and adopt the ledger.", no_args_is_help=True)


def ledger_count() -> None:
    """Count the fits by state."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.store import ledger_upkeep as upkeep

        with working("count"):
            counts = upkeep.count(_ledger())
    say(", ".join(f"{name} {number}" for name, number in counts.items()))
    result(fits=counts)


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

            with working("export"):
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

        with working("export"):
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
            with working("import"):
                new, known = archive.import_(_ledger(), path)
            say(f"{counted(new, 'record')} added, {known} known already")
            result(added=new, known=known)
            return
        from puoc.store.published import import_folder

        with working("import"):
            imported = import_folder(_ledger(), path, keep=keep)
    result(added=imported.fits, known=imported.known)
    fits, trials = counted(imported.fits, "fit"), counted(imported.trials, "trial")
    say(f"{fits} and {trials} added; the ledger had {counted(imported.known, 'fit')} already")


def ledger_compact() -> None:
    """Remove temporary files, models and scores without a record, and claims of dead processes."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.store import ledger_upkeep as upkeep

        with working("compact"):
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
