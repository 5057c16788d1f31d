"""``puoc sweep``, ``puoc doctor`` and ``puoc study``: sweeps on Ray, checks before a sweep, and a view of its study."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from puoc.cli.console import FAILED_ROWS, console, exit_on_invalid_input, exit_on_storage_error, planned, say
from puoc.store.counting import counted

if TYPE_CHECKING:
    from puoc.cli.doctor import Finding
    from puoc.run.runner import Runner
    from puoc.run.sweep.budget import Budget
    from puoc.run.sweep.cluster import Wanted
    from puoc.run.sweep.request import Sweep
    from puoc.run.sweep.tuner import Outcome
    from puoc.store.result_rows import ResultRow

ROOT = Path()
_SPEC = "grid, published, wide, ...: a space of tuning/spaces/<method>.yaml."

Method = Annotated[str, typer.Option(help="Name of an entry of methods in params.yaml.")]
Scenario = Annotated[
    str | None, typer.Option(help="A scenario or table of params.yaml. Default: the scenario of the planned sweep.")
]
Space = Annotated[str | None, typer.Option(help=_SPEC)]
Search = Annotated[
    Literal["grid", "tpe"] | None, typer.Option(help="grid: all configurations; tpe: Optuna's TPE sampler.")
]
Address = Annotated[str | None, typer.Option(help="A Ray cluster: auto, or HOST:PORT of its head node.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Trials that run in parallel. Default: compute.workers, or all CPUs.")
]
Gpus = Annotated[int | None, typer.Option(min=0, help="Number of GPUs. Default: 1 if compute.device is cuda, else 0.")]


def sweep(
    method: Method,
    scenario: Scenario = None,
    space: Space = None,
    search: Search = None,
    asha: Annotated[bool, typer.Option("--asha", help="Stop bad configurations early (successive halving).")] = False,
    budget: Annotated[
        str | None, typer.Option(help="Limit of the search: 90s, 30m, 1h30m, or a number of configurations.")
    ] = None,
    address: Address = None,
    submit: Annotated[str | None, typer.Option(help="URL of the Jobs API of a cluster that runs this command.")] = None,
    workers: Workers = None,
    gpus: Gpus = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be computed without starting it.")
    ] = False,
) -> None:
    """Run a sweep on Ray: compute the configurations that the ledger does not contain yet.

    By default, these are the configurations of the sweep in params.yaml. A later dvc repro then does not compute them
    again. With --space, --search or --asha, the command runs another sweep.
    """
    started = time.monotonic()
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT, computes=True)
        wanted = _wanted(workers, gpus, address)
        if address is None and submit is None:
            from puoc.cli.doctor import here, refuse

            refuse(here(wanted))
        from puoc.run.sweep.budget import Budget
        from puoc.run.sweep.request import Asking, ask

        asked = ask(ROOT, Asking(method, scenario, space, search, asha))
        allowed = Budget.read(budget) if budget else Budget()
        if asked.parts is not None and not budget:
            raise ValueError("--budget: missing; a search needs a limit. Expected a time or a number of configurations")
        if submit is not None:
            say(f"submitted as {_submitted(submit)}; `ray job logs --address {submit} <id> --follow` shows its output")
            return
    with exit_on_invalid_input(), exit_on_storage_error():
        if dry_run:
            _say_plan(asked, wanted)
            return
        _run(asked, wanted, allowed, started)


def _run(asked: Sweep, wanted: Wanted, allowed: Budget, started: float) -> None:
    from puoc.cli import doctor
    from puoc.run.sweep.results import failed_rows, write
    from puoc.run.sweep.status import standing
    from puoc.run.sweep.tuner import Outcome

    runner, (_, missing) = _runner(), _forecast(asked, wanted.workers)
    if missing or asked.parts is not None:
        doctor.refuse(doctor.local(ROOT, missing))
        outcome, failure = _run_tuner(asked, wanted, allowed, started)
    else:
        now = standing(runner, asked)
        outcome, failure = Outcome(0, len(now.done), len(now.failed), 0, 0, None), None
    rows = write(ROOT, asked)
    stopped = f", {outcome.stopped} stopped early" if outcome.stopped else ""
    remaining = f"; {outcome.stopped_by}, {outcome.remaining} remain" if outcome.stopped_by else ""
    ended = f"{outcome.failed} failed{stopped}, {outcome.known} known before{remaining}"
    say(f"{asked.name}: {counted(outcome.ok, 'configuration')} computed, {ended}")
    if failure:
        say(f"some of them are not in MLflow yet ({failure}); run puoc track to add them")
    failed = failed_rows(rows)
    for line in failed:
        say(line)
    if failed:
        say("the next sweep tries a fit once more, then it is quarantined; puoc retry lifts that")
        raise typer.Exit(FAILED_ROWS)


def _run_tuner(asked: Sweep, wanted: Wanted, allowed: Budget, started: float) -> tuple[Outcome, str | None]:
    """Run the sweep; return its outcome, and the reason if MLflow failed."""
    from puoc.cli import doctor
    from puoc.cli.progress import Reporter
    from puoc.reporting.tracking.live import LiveTracking
    from puoc.run.sweep.cluster import connected, present_here, present_in
    from puoc.run.sweep.gpu_packing import Packing
    from puoc.run.sweep.tuner import Tuner

    here = wanted.workers or present_here().cpus
    with connected(wanted, here) as ray, LiveTracking(ROOT) as tracking, Reporter(asked.name, console()) as reporter:
        if wanted.address is not None:
            doctor.refuse(doctor.cluster(ray, wanted, ROOT))
        cpus = wanted.workers or (present_in(ray).cpus if wanted.address else here)
        packing = Packing(wanted.gpus, cpus)

        def track(rows: Sequence[ResultRow]) -> None:
            tracking.add([replace(row, table=asked.name) for row in rows])

        tuner = Tuner(ROOT, asked, packing, allowed, started, on_rows=track, on_progress=reporter.update)
        outcome = tuner.run()
    return outcome, tracking.failure


def doctor(
    method: Annotated[str | None, typer.Option(help="Entry whose sweep is forecast.")] = None,
    address: Address = None,
    workers: Workers = None,
    gpus: Gpus = None,
) -> None:
    """Check machines, disk, ledger, versions and the MLflow store; exit code 2 if a check fails."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.cli import doctor as checks
        from puoc.run.sweep.cluster import connected, present_here, present_in
        from puoc.run.sweep.request import Asking, ask

        wanted = _wanted(workers, gpus, address)
        asked = ask(ROOT, Asking(method)) if method is not None else None
        if wanted.address is None:
            machine_findings, cpus = checks.here(wanted), present_here().cpus
        else:
            with connected(wanted, 1) as ray:
                machine_findings, cpus = checks.cluster(ray, wanted, ROOT), present_in(ray).cpus
        forecasts, missing = _forecast(asked, wanted.workers or cpus) if asked is not None else ([], 0)
        findings = machine_findings + checks.local(ROOT, missing) + forecasts
        for finding in findings:
            say(f"{'FAULT' if finding.is_fault else 'ok   '} {finding.subject}: {finding.message}")
    if any(finding.is_fault for finding in findings):
        raise typer.Exit(2)


def study(method: Method, scenario: Scenario = None, space: Space = None, search: Search = None) -> None:
    """Build an Optuna study of a sweep from the ledger, for optuna-dashboard. You can delete it at any time."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.run.sweep.request import Asking, ask
        from puoc.run.sweep.study import write_study

        path, n = write_study(ROOT, ask(ROOT, Asking(method, scenario, space, search)))
    say(f"{counted(n, 'configuration')} in {path}; to view the study: optuna-dashboard {path}")


def _wanted(workers: int | None, gpus: int | None, address: str | None) -> Wanted:
    from puoc.run.sweep.cluster import Wanted
    from puoc.store.plan_files import read_compute

    settings = read_compute(ROOT)
    planned_workers = settings.workers if settings.workers != "auto" and address is None else None
    on_gpu = settings.device != "cpu"
    return Wanted(workers or planned_workers, int(on_gpu) if gpus is None else gpus, address)


def _forecast(asked: Sweep, workers: int | None) -> tuple[list[Finding], int]:
    """Return the forecast for a number of workers, and the number of missing fits."""
    from puoc.cli.doctor import forecast
    from puoc.plan.forecast.costs import Forecast
    from puoc.run.sweep.status import standing

    runner = _runner()
    costs = Forecast(runner.ledger, runner.settings.device)
    now = standing(runner, asked, costs)
    return [forecast(now.n_missing, now.seconds, costs, workers)], now.n_missing


def _workers(wanted: Wanted) -> int | None:
    """Return the number of workers; None if the cluster does not respond."""
    from puoc.run.sweep.cluster import cpus_of, present_here

    if wanted.workers or wanted.address is None:
        return wanted.workers or present_here().cpus
    return cpus_of(wanted.address)


def _runner() -> Runner:
    from puoc.run.runner import Runner
    from puoc.store.plan_files import read_compute

    return Runner(ROOT, read_compute(ROOT))


def _say_plan(asked: Sweep, wanted: Wanted) -> None:
    from puoc.run.sweep.status import standing

    now = standing(_runner(), asked)
    plan, (forecasts, _) = asked.plan, _forecast(asked, _workers(wanted))
    cells, seeds = counted(len(plan.cells), "cell"), counted(len(plan.seeds), "seed")
    say(f"{asked.name}: {asked.method} on {plan.dataset}, {plan.scenario}: {cells}, {seeds}")
    scope = "first, then those that the search suggests" if asked.parts is not None else "in total"
    state = f"{len(now.done)} known, {len(now.failed)} failed, {len(now.missing)} missing"
    say(f"{counted(now.n_configs, 'configuration')} {scope}: {state}")
    if asked.rungs:
        epochs = " or ".join(map(str, asked.rungs))
        say(f"a configuration is stopped after {epochs} epochs if two in three configurations are better")
    say(f"{forecasts[0].subject}: {forecasts[0].message}")


def _submitted(url: str) -> str:
    """Submit this command to the Jobs API of a cluster and return the job id; it runs in the same folder."""
    from puoc.run.sweep.submit import submit

    return submit(url, ROOT)
