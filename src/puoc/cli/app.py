"""The command line.

Exit codes: 0 success, 1 storage error, 2 invalid input (nothing was started), 3 there are failed rows, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from puoc.cli import assess as cli_assess
from puoc.cli import audit as cli_audit
from puoc.cli import fit as cli_fit
from puoc.cli import help as cli_help
from puoc.cli import ledger as cli_ledger
from puoc.cli import listing as cli_listing
from puoc.cli import new_method as cli_new_method
from puoc.cli import published as cli_published
from puoc.cli import report as cli_report
from puoc.cli import run as cli_run
from puoc.cli import score as cli_score
from puoc.cli import show as cli_show
from puoc.cli import status as cli_status
from puoc.cli import sweep as cli_sweep
from puoc.cli import ui as cli_ui
from puoc.cli.console import (
    INTERRUPTED,
    collected,
    exit_on_invalid_input,
    exit_on_missing_extra,
    exit_on_storage_error,
    hint,
    planned,
    say,
    show_own_warnings,
    working,
)
from puoc.cli.environment import mirror, seconds_of_measuring
from puoc.cli.memory import exit_without_memory
from puoc.cli.output import result
from puoc.store.counting import counted

# One thread per worker and one worker per core; this must be set before numpy or torch is imported.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

ROOT = Path()

app = typer.Typer(
    name="puoc",
    help="Benchmark one-class, positive-unlabelled and hybrid classifiers, and track every result.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=cli_help.START,
)


def _say_version(wanted: bool) -> None:
    if wanted:
        from puoc import __version__

        typer.echo(f"puoc {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Benchmark one-class, positive-unlabelled and hybrid classifiers, and track every result."""


def main() -> None:
    """Run the command line; an interrupt ends it with exit code 130."""
    from puoc.run.executors.process_lifetime import die_with_dvc, interrupt_on_signals

    interrupt_on_signals()
    die_with_dvc()
    show_own_warnings()
    try:
        with exit_without_memory():
            app()
    except (KeyboardInterrupt, SystemExit) as end:
        if isinstance(end, SystemExit) and end.code != INTERRUPTED:  # typer turns an interrupt into an exit
            raise
        say("interrupted; run the same command again to continue")
        sys.exit(INTERRUPTED)
    except ModuleNotFoundError as error:
        try:
            exit_on_missing_extra(error)
        except typer.Exit as end:
            sys.exit(end.exit_code)
        raise


def plan(
    check: Annotated[bool, typer.Option("--check", help="Check params.yaml without writing a plan.")] = False,
    params: Annotated[Path, typer.Option(help="The params file to read.")] = ROOT / "params.yaml",
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Measure this machine with short fits of all kinds of the plan, for up to two minutes, and keep the "
            "speeds in work/speed.json. Without it, a plan measures for a few seconds what was not measured before.",
        ),
    ] = False,
) -> None:
    """Check params.yaml and write the plan to work/plan."""
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.plan.make_plan import make_plan
        from puoc.plan.params import read_params
        from puoc.userdata.preflight import check_own_tables

        with working("plan"):
            new_plan = make_plan(read_params(params, ROOT))
            check_own_tables(new_plan)
        if not check:
            new_plan.write(ROOT, params)
    tables, sweeps = counted(len(new_plan.tables), "table"), counted(len(new_plan.sweeps), "sweep")
    say(f"{params}: {tables}, {sweeps}, no errors")
    with exit_on_invalid_input(), exit_on_storage_error():
        from puoc.cli.plan_overview import describe

        with working("count and forecast"):
            lines = describe(new_plan, ROOT, seconds_of_measuring(all_kinds=measure), again=measure)
        for line in lines:
            say(line)
    result(
        params=params,
        tables=list(new_plan.tables),
        sweeps=list(new_plan.sweeps),
        written=not check,
        overview=list(lines),
    )
    hint(
        "puoc plan writes this plan"
        if check
        else "make repro (or dvc repro) computes it; puoc status shows what is left"
    )


def fetch(
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Folder that holds the raw files. Default: the environment variable PUOC_MIRROR, if set."
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option(help="Download files of data/ again if they differ from the expected ones.")
    ] = False,
) -> None:
    """Download the raw data that the plan needs into data/."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.datasets.prepare import compare_with_dvc, write_fetched
        from puoc.datasets.prepare.weights import weights_file
        from puoc.datasets.prepare.word_vectors import word_vectors
        from puoc.store.plan_files import read_data, read_weights

        datasets = read_data(ROOT)
        folder = source or mirror()
        failures: list[str] = []  # what is missing does not keep the rest from being downloaded
        with working("raw data"), collected(failures):
            write_fetched(datasets, ROOT / "data", ROOT / "work" / "data", mirror=folder, replace=replace)
        with working("weights and word vectors"):
            for encoder in read_weights(ROOT).values():
                with collected(failures):
                    if encoder.vectors is not None:
                        word_vectors(encoder.vectors, folder)
                    elif encoder.weights is not None and encoder.network is not None:
                        weights_file(encoder.network, encoder.weights, folder, keep=source is not None)
        if failures:
            raise ValueError("\n".join(failures))
        difference = compare_with_dvc(ROOT / "data", ROOT / "data.dvc")
    if difference:
        say(difference)
    result(datasets=list(datasets))
    say(f"raw data of {', '.join(datasets)} present and verified")


def prepare() -> None:
    """Convert the raw data to arrays below work/prepared and print the digest of each dataset."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT, computes=True)
        from puoc.run.stages import prepare_data

        with working("prepare"):
            digests, notes = prepare_data(ROOT, mirror())
    result(digests=digests, notes=list(notes))
    for note in notes:
        say(note)
    say(", ".join(f"{name} {digest[:12]}" for name, digest in digests.items()))


def pending() -> None:
    """Write to work/pending which failed fits will be tried again and which tables have missing trials.

    DVC then runs the stages of these fits and tables.
    """
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.run.pending import MISSING
        from puoc.run.pending import pending as write_pending

        with working("pending"):
            fits_by_stage = write_pending(ROOT)
    due = sum(len(fits.keys() - {MISSING}) for fits in fits_by_stage.values())
    result(due=due)
    say(f"{counted(due, 'fit was', 'fits were')} or will be tried again" if due else "nothing to try again")


def select() -> None:
    """Select configurations by held-out positives and unlabelled rows, without negative labels or test rows."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT, computes=True)
        from puoc.run.select import select as write_selected
        from puoc.run.select import selected_in_words

        with working("select"):
            tables = write_selected(ROOT)
            chosen = selected_in_words(ROOT)
    result(tables=list(tables), chosen=chosen)
    for name, words in chosen.items():
        say(f"{name}: {words}")
    say(f"configurations selected for {counted(len(tables), 'table')}")


#: In the order of the help.
_COMMANDS: dict[str, Callable[..., None]] = {
    "audit": cli_audit.audit,
    "assess": cli_assess.assess,
    "fit": cli_fit.fit,
    "score": cli_score.score,
    "plan": plan,
    "fetch": fetch,
    "prepare": prepare,
    "pending": pending,
    "tune": cli_run.tune,
    "select": select,
    "run": cli_run.run,
    "compare": cli_report.compare,
    "report": cli_report.report,
    "show": cli_show.show,
    "status": cli_status.status,
    "retry": cli_status.retry,
    "track": cli_report.track,
    "ui": cli_ui.ui,
    "published": cli_published.published,
    "sweep": cli_sweep.sweep,
    "doctor": cli_sweep.doctor,
    "study": cli_sweep.study,
    "methods": cli_listing.methods,
    "datasets": cli_listing.datasets,
    "metrics": cli_listing.metrics,
    "new-method": cli_new_method.new_method,
}
for _verb, _command in _COMMANDS.items():
    cli_help.add(app, _verb, _command)
app.add_typer(
    cli_ledger.app, name="ledger", rich_help_panel=cli_help.VERBS["ledger"].group, epilog=cli_help.epilog("ledger")
)
