"""``puoc published``: open published results as a report and an MLflow store, without data and without computing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from puoc.cli.console import exit_on_invalid_input, exit_on_storage_error, planned, say
from puoc.store.counting import counted

#: The results of the paper's tables that come with the repository.
FOLDER = Path("published") / "paper"


def published(
    folder: Annotated[Path, typer.Argument(help="A folder written by puoc ledger export.")] = FOLDER,
    out: Annotated[Path, typer.Option(help="Folder to write to. What it has of an earlier run is replaced.")] = Path(
        "build/published"
    ),
    tracked: Annotated[bool, typer.Option("--track/--no-track", help="Write the MLflow store as well.")] = True,
) -> None:
    """Write the report and the MLflow store of published results. No data are needed and nothing is computed.

    The folder --out becomes a project with the profile of the results, so that puoc ui shows its MLflow store.
    """
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.run.published import write_published_rows
        from puoc.store.ledger import Ledger
        from puoc.store.published import import_folder, read_manifest, write_plan

        manifest = read_manifest(folder)
        _clear(out)
        write_plan(folder, out)
        planned(out)
        imported = import_folder(Ledger(out / "ledger"), folder)
        counts = write_published_rows(out)
    say(f"{manifest.title}, written {manifest.written} by puoc {manifest.puoc}: {counted(imported.fits, 'fit')}")
    say(f"{counts.total() - counts['missing']:,} of {counts.total():,} trials of the profile have a result")
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.analysis import compare
        from puoc.reporting.page import build
        from puoc.run.stages import planned_trial_ids

        trials = planned_trial_ids(out)
        compare(out, trials)
        page = build(out, trials)
    say(f"report:     {page}")
    if tracked:
        with exit_on_invalid_input(), exit_on_storage_error():
            from puoc.reporting.tracking import track

            track(out)
        say(f"MLflow UI:  cd {out} && puoc ui")


def _clear(out: Path) -> None:
    """Empty a folder of an earlier run. Raises ValueError for a folder that ``puoc published`` did not write.

    A mark distinguishes such a folder from a project, whose ledger must never be removed.
    """
    mark = out / ".published"
    if out.exists() and any(out.iterdir()) and not mark.exists():
        expected = "expected a new or empty folder, or one that puoc published wrote"
        raise ValueError(f"--out: got {out}, which has other files; {expected}")
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)
    mark.touch()
