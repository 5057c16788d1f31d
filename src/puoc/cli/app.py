"""The command line.

Exit codes: 0 done, 1 the storage refused, 2 asked wrongly (nothing was started), 3 failed rows stand, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from puoc.cli import assess as cli_assess
from puoc.cli import fit_score as cli_own
from puoc.cli import ledger as cli_ledger
from puoc.cli import sweep as cli_sweep
from puoc.cli import ui as cli_ui
from puoc.cli.console import (
    FAILED_ROWS,
    INTERRUPTED,
    console,
    exit_on_invalid_input,
    exit_on_storage_error,
    planned,
    say,
)
from puoc.store.counting import counted

# One thread a worker, as many workers as cores: set before numpy or torch is loaded anywhere.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

ROOT = Path()

app = typer.Typer(
    name="puoc",
    help="Benchmark one-class, positive-unlabelled and hybrid classifiers, and track every result.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(cli_ledger.app, name="ledger")
_OF_DATA = (cli_own.fit, cli_own.score, cli_assess.assess)
for _command in (*_OF_DATA, cli_sweep.sweep, cli_sweep.doctor, cli_sweep.study, cli_ui.ui):
    app.command()(_command)

Table = Annotated[str, typer.Argument(help="A table of params.yaml.")]
Entry = Annotated[str, typer.Argument(help="An entry of the section tune of params.yaml.")]


def main() -> None:
    """Run the command line; bad input becomes one message and exit code 2."""
    from puoc.run.executors.process_lifetime import die_with_dvc, interrupt_on_signals

    interrupt_on_signals()
    die_with_dvc()
    try:
        app()
    except (KeyboardInterrupt, SystemExit) as end:
        if isinstance(end, SystemExit) and end.code != INTERRUPTED:  # typer makes an exit of an interrupt
            raise
        say("interrupted; the same command goes on from here")
        sys.exit(INTERRUPTED)


@app.command()
def plan(
    check: Annotated[bool, typer.Option("--check", help="Check params.yaml and write nothing.")] = False,
    params: Annotated[Path, typer.Option(help="The params file.")] = ROOT / "params.yaml",
) -> None:
    """Check params.yaml and write what it asks to work/plan."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.plan.make_plan import make_plan
        from puoc.plan.params import read_params
        from puoc.userdata.preflight import check_own_tables

        made = make_plan(read_params(params, ROOT))
        check_own_tables(made.files)
        if not check:
            made.write(ROOT, params)
    say(f"{params}: {_count(made.files, 'tables', 'table')}, {_count(made.files, 'tune', 'sweep')}, no fault")
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.cli.plan_overview import describe

        for line in describe(made.files, ROOT):
            say(line)


@app.command()
def fetch(
    source: Annotated[
        Path | None, typer.Option("--from", help="A folder with the raw files (else PUOC_MIRROR).")
    ] = None,
    replace: Annotated[bool, typer.Option(help="Fetch again what lies in data/ but is not what it should be.")] = False,
) -> None:
    """Bring the raw data that the plan needs into data/."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.datasets.prepare import compare_with_dvc, write_fetched
        from puoc.datasets.prepare.weights import weights_file
        from puoc.datasets.prepare.word_vectors import word_vectors
        from puoc.plan.plan_files import read_data, read_weights

        asked = read_data(ROOT)
        mirror = source or _mirror()
        write_fetched(asked, ROOT / "data", ROOT / "work" / "data", mirror=mirror, replace=replace)
        for of in read_weights(ROOT).values():
            if "vectors" in of:
                word_vectors(of["vectors"], mirror)
            elif "weights" in of:
                weights_file(of["network"], of["weights"], mirror, keep=source is not None)
        differs = compare_with_dvc(ROOT / "data", ROOT / "data.dvc")
    if differs:
        say(differs)
    say(f"raw data of {', '.join(asked)} present and verified")


@app.command()
def prepare() -> None:
    """Turn raw data into arrays with a digest, below work/prepared."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT, computes=True)
        from puoc.run.stages import prepare_data

        digests, notes = prepare_data(ROOT, _mirror())
    for note in notes:
        say(note)
    say(", ".join(f"{name} {digest[:12]}" for name, digest in digests.items()))


@app.command()
def pending() -> None:
    """Write which failed fits are due for another attempt, so that DVC runs their stages."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.run.stages import pending as write_pending

        found = write_pending(ROOT)
    due = sum(len(value) for value in found.values())
    say(f"{counted(due, 'fit was', 'fits were')} or will be tried again" if due else "nothing to try again")


@app.command()
def tune(entry: Entry) -> None:
    """Compute every configuration of a sweep that the ledger lacks."""
    _answer("tune", entry)


@app.command()
def select() -> None:
    """Choose configurations by held-out positives and unlabelled rows: no negative label, no test row."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT, computes=True)
        from puoc.run.select import select as write_selected

        written = write_selected(ROOT)
    say(f"configurations selected for {counted(len(written), 'table')}")


@app.command()
def run(table: Table) -> None:
    """Compute the fits of a table that the ledger lacks, and write its rows to results/tables."""
    _answer("tables", table)


@app.command()
def compare() -> None:
    """Means, significance and choices from results/, written to results/compare."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.analysis import compare as write_comparison
        from puoc.run.stages import asked_trials

        write_comparison(ROOT, asked_trials(ROOT))
    say("results/compare written")


@app.command()
def report(
    tracked: Annotated[bool, typer.Option("--track/--no-track", help="Bring MLflow into line as well.")] = True,
) -> None:
    """Write reports/index.html, after comparing what was not compared yet."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.analysis import compare as write_comparison
        from puoc.analysis.compare import comparison_is_old
        from puoc.reporting.page import build
        from puoc.run.stages import asked_trials

        asked = asked_trials(ROOT)
        if comparison_is_old(ROOT):
            write_comparison(ROOT, asked)
        page = build(ROOT, asked)
    if tracked:
        _bring_into_line()
    say(f"report: {page}")


@app.command()
def track() -> None:
    """Bring the MLflow store into line with the results, and register the best model of each scenario."""
    _bring_into_line()
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.reporting.tracking import register_best
        from puoc.run.stages import asked_trials

        best = register_best(ROOT, asked_trials(ROOT))
    for found in best:
        version = f"version {found.version}" if found.version else "not registered"
        say(f"best of {found.name}: {found.entry}, {version} ({found.note})")


@app.command()
def status() -> None:
    """Failed and missing rows, and what was not run; exit code 3 when failed rows stand."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.run.stages import standing

        stands = standing(ROOT)
    for row in stands.failed:
        place = f"{row['table']}, {row['entry']}, {row['cell']}, seed {row['seed']}"
        say(f"failed ({counted(row['attempts'], 'attempt')}): {place}: {row['reason']}  [{row['fit_id']}]")
    if stands.not_run:
        say(f"not run: {', '.join(stands.not_run)}")
    say(f"{counted(len(stands.failed), 'failed row')}, {counted(len(stands.missing), 'missing row')}")
    if stands.stale:
        say(f"{counted(stands.stale, 'row')} of results/ scored by other code than this; dvc repro scores them again")
    if stands.missing or stands.not_run:
        say("dvc repro computes what is missing")
    if stands.unwritten:
        say(f"{counted(stands.unwritten, 'row')} in ledger/ but not in results/; dvc repro writes what is lacking")
    if stands.unrecorded:
        say(f"{counted(stands.unrecorded, 'row')} of results/ not in ledger/; dvc repro --force computes them again")
    if stands.unplanned:
        say(f"not planned, but in MLflow and the report: {', '.join(stands.unplanned)} (sweeps)")
    for row in stands.failed_unplanned:
        place = f"{row['table']}, {row['params']}, {row['cell']}, seed {row['seed']}"
        say(f"failed in a sweep ({counted(row['attempts'], 'attempt')}): {place}: {row['reason']}  [{row['fit_id']}]")
    if stands.failed_unplanned:
        say("the same puoc sweep tries a fit once more, then it is quarantined; puoc retry lifts that")
    if stands.failed:
        say("the next dvc repro tries a fit once more, then it is quarantined; puoc retry lifts that")
        raise typer.Exit(FAILED_ROWS)


@app.command()
def retry(fits: Annotated[list[str], typer.Argument(help="Ids of quarantined fits, or: all")]) -> None:
    """Allow quarantined fits one more attempt, made by the next dvc repro."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.run.stages import allow_retry, standing
        from puoc.store.ledger import Ledger

        ledger = Ledger(ROOT / "ledger")
        stands = standing(ROOT)
        failed = {row["fit_id"] for row in (*stands.failed, *stands.failed_unplanned)}
        chosen = sorted(failed) if fits == ["all"] else fits
        strange = [fit for fit in chosen if fit not in failed]
        if strange:
            raise ValueError(f"no failed fit {', '.join(strange)}; failed: {', '.join(sorted(failed)) or 'none'}")
        for fit in chosen:
            allow_retry(ledger, fit)
    say(f"{counted(len(chosen), 'fit')} will be tried once more by the next dvc repro, or puoc sweep where that asked")


def _bring_into_line() -> None:
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.reporting.tracking import track as bring_into_line

        counts = bring_into_line(ROOT)
    say("MLflow: " + (", ".join(f"{name} {number}" for name, number in counts.items()) or "no rows"))


def _answer(part: Any, name: str) -> None:
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT, computes=True)
        from puoc.run.stages import answer, questions

        questions(ROOT, part, name)
    from puoc.cli.progress import Reporter
    from puoc.reporting.tracking.live import LiveTracking

    with (
        exit_on_invalid_input(),
        exit_on_storage_error(),
        LiveTracking(ROOT) as tracking,
        Reporter(name, console()) as reporter,
    ):
        counts = answer(ROOT, part, name, on_rows=tracking.add, on_progress=reporter.update)
    elsewhere = f", {counts['known']} computed by another run" if counts["known"] else ""
    say(f"{name}: {counted(counts['ok'], 'fit')} computed, {counts['failed']} failed{elsewhere}")
    if tracking.failure:
        say(f"MLflow lacks some of them ({tracking.failure}); puoc track brings it into line")


def _mirror() -> Path | None:
    value = os.environ.get("PUOC_MIRROR")
    return Path(value) if value else None


def _count(files: dict[Path, Any], part: str, singular: str) -> str:
    return counted(sum(path.parent.name == part and path.parent.parent.name == "plan" for path in files), singular)
