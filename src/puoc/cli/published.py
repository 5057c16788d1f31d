"""``puoc published``: open published results as a report and an MLflow store, without data and without computing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from puoc.cli.console import exit_on_invalid_input, exit_on_storage_error, say, working
from puoc.cli.output import result
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
        from puoc.datasets.user.dataset import register_planned
        from puoc.run.published import write_published_rows
        from puoc.store.extras import check_installed
        from puoc.store.ledger import Ledger
        from puoc.store.published import add_published, read_published, write_plan

        if not folder.is_dir():
            raise ValueError(f"{folder}: got no such folder; expected one written by puoc ledger export FOLDER")
        _apart(folder, out)
        check_installed("plotly", *["mlflow"] * tracked)
        manifest, fits = read_published(folder)
        _clear(out)
        write_plan(folder, out)
        register_planned(out)
        with working("results"):
            imported = add_published(Ledger(out / "ledger"), manifest, fits, source=folder)
            counts = write_published_rows(out)
    say(f"{manifest.title}, written {manifest.written} by puoc {manifest.puoc}: {counted(imported.fits, 'fit')}")
    say(f"{counts.total() - counts['missing']:,} of {counts.total():,} trials of the profile have a result")
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.analysis.compare import compare
        from puoc.reporting.site import build
        from puoc.run.stages import planned_trial_ids

        with working("comparison and report"):
            trials = planned_trial_ids(out)
            compare(out, trials)
            page = build(out, trials)
    result(report=page, fits=imported.fits, trials=counts.total() - counts["missing"])
    say(f"report:     {page}")
    if tracked:
        with exit_on_invalid_input(), exit_on_storage_error():
            from puoc.reporting.tracking import track

            with working("MLflow") as shown:
                track(out, lambda done, total: shown.update(done, total, "runs"))
        say(f"MLflow UI:  cd {out} && puoc ui")


def _apart(folder: Path, out: Path) -> None:
    """Raise ValueError if one of the folders is inside the other, because the results would be removed or mixed."""
    inner, outer = folder.resolve(), out.resolve()
    if inner.is_relative_to(outer) or outer.is_relative_to(inner):
        raise ValueError(f"--out: got {out}, which overlaps with the results in {folder}; expected another folder")


def _clear(out: Path) -> None:
    """Empty a folder of an earlier run.

    A mark distinguishes such a folder from a project, whose ledger must never be removed.

    Raises
    ------
    ValueError : ``puoc published`` did not write the folder, or fits were computed in it since then.
    """
    from puoc.store.ledger import Ledger

    mark = out / ".published"
    expected = "expected a new or empty folder, or one that puoc published wrote"
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out: got {out}, which is a file; {expected}")
    if out.exists() and any(out.iterdir()) and not mark.exists():
        raise ValueError(f"--out: got {out}, which has other files; {expected}")
    ledger = Ledger(out / "ledger")
    for fit_id in ledger.ids():
        entry = ledger.get(fit_id)
        if entry is not None and entry.result.imported is None:
            raise ValueError(f"--out: got {out}, in which fits were computed since then; {expected}")
    out.mkdir(parents=True, exist_ok=True)
    mark.touch()  # it stays while the rest is removed, so that an interrupted run can be repeated
    for path in out.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path != mark:
            path.unlink()
