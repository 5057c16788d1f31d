"""``puoc sweep``, ``puoc doctor`` and ``puoc study``: sweeps on Ray, checks before a sweep, and a view of its study."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Annotated, Literal

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
from puoc.cli.plan_or_params import planned_or_not
from puoc.store.counting import counted

if TYPE_CHECKING:
    from puoc.cli.doctor import Finding
    from puoc.run.runner import Runner
    from puoc.run.sweep.budget import Budget
    from puoc.run.sweep.cluster import MachineRequest
    from puoc.run.sweep.request import Sweep
    from puoc.run.sweep.tuner import Outcome
    from puoc.store.result_rows import ResultRow

ROOT = Path()
_MOST = 100_000  # workers or GPUs of one machine or cluster
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
    int | None,
    typer.Option(min=1, max=_MOST, help="Trials that run in parallel. Default: compute.workers, or all CPUs."),
]
Gpus = Annotated[
    int | None, typer.Option(min=0, max=_MOST, help="Number of GPUs. Default: 1 if compute.device is cuda, else 0.")
]


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
    if dry_run and submit is None:
        with (
            exit_on_invalid_input(),
            exit_on_storage_error("nothing was computed"),
            planned_or_not(computes=True) as root,
        ):
            from puoc.cli.sweep_lines import say_plan
            from puoc.run.sweep.budget import Budget
            from puoc.run.sweep.request import SweepRequest, resolve_sweep

            request = _machine_request(root, workers, gpus, address)
            _check_here(request)
            spec = resolve_sweep(root, SweepRequest(method, scenario, space, search, asha))
            limit = Budget.read(budget) if budget else Budget()
            forecasts, _ = _forecast(root, spec, _workers(request))
            say_plan(_runner(root), spec, limit, forecasts)
        return
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT, computes=True)
        request = _machine_request(ROOT, workers, gpus, address)
        if submit is None:
            _check_here(request)
        from puoc.run.sweep.budget import Budget
        from puoc.run.sweep.request import SweepRequest, resolve_sweep

        spec = resolve_sweep(ROOT, SweepRequest(method, scenario, space, search, asha))
        limit = Budget.read(budget) if budget else Budget()
        if spec.parts is not None and not budget:
            raise ValueError("--budget: missing; a search needs a limit. Expected a time or a number of configurations")
        if submit is not None:
            say(f"submitted as {_submitted(submit)}; `ray job logs --address {submit} <id> --follow` shows its output")
            return
    with exit_on_invalid_input(), exit_on_storage_error():
        _run(spec, request, limit, started)


def _run(spec: Sweep, request: MachineRequest, budget: Budget, started: float) -> None:
    from puoc.cli import doctor
    from puoc.cli.sweep_lines import say_choice
    from puoc.run.sweep.results import failed_rows, write
    from puoc.run.sweep.status import sweep_status
    from puoc.run.sweep.tuner import Outcome
    from puoc.store.ledger_upkeep import clear_claims

    runner, (_, missing) = _runner(ROOT), _forecast(ROOT, spec, request.workers)
    if missing or spec.parts is not None:
        doctor.raise_for_faults(doctor.local(ROOT, missing))
        outcome, failure = _run_tuner(spec, request, budget, started)
    else:
        status = sweep_status(runner, spec)
        outcome, failure = Outcome(0, len(status.done), len(status.failed), 0, 0, None), None
    with working("results"):
        clear_claims(runner.ledger)
        rows = write(ROOT, spec)
    stopped = f", {outcome.stopped:,} stopped early" if outcome.stopped else ""
    remaining = f"; {outcome.stopped_by}, {outcome.remaining:,} remain" if outcome.stopped_by else ""
    ended = f"{outcome.failed:,} failed{stopped}, {outcome.known:,} known before{remaining}"
    counts = {"known": outcome.known, "computed": outcome.ok, "failed": outcome.failed, "stopped": outcome.stopped}
    result(sweep=spec.name, missing=outcome.remaining, **counts)
    say(f"{spec.name}: {counted(outcome.ok, 'configuration')} computed, {ended}")
    say_choice(spec, rows)
    if failure:
        say(f"some of them are not in MLflow yet ({failure}); run puoc track to add them")
    failed = failed_rows(rows)
    for line in failed:
        say(line)
    if failed:
        say("the next sweep tries a fit once more, then it is quarantined; puoc retry lifts that")
        raise typer.Exit(FAILED_ROWS)


def _run_tuner(spec: Sweep, request: MachineRequest, budget: Budget, started: float) -> tuple[Outcome, str | None]:
    """Run the sweep; return its outcome, and the reason if MLflow failed."""
    from puoc.cli import doctor
    from puoc.cli.progress import Reporter
    from puoc.reporting.tracking.live import LiveTracking
    from puoc.run.sweep.cluster import connected, present_here, present_in
    from puoc.run.sweep.gpu_packing import Packing
    from puoc.run.sweep.results import begin
    from puoc.run.sweep.tuner import Tuner

    here = request.workers or present_here().cpus
    with (
        connected(request, here) as ray,
        LiveTracking(ROOT) as tracking,
        Reporter(spec.name, shown_console(stderr=False)) as reporter,
    ):
        if request.address is not None:
            doctor.raise_for_faults(doctor.cluster(ray, request, ROOT))
        cpus = request.workers or (present_in(ray).cpus if request.address else here)
        packing = Packing(request.gpus, cpus)
        begin(ROOT, spec)

        def track(rows: Sequence[ResultRow]) -> None:
            tracking.add([replace(row, table=spec.name) for row in rows])

        tuner = Tuner(ROOT, spec, packing, budget, started, on_rows=track, on_progress=reporter.update)
        outcome = tuner.run()
    return outcome, tracking.failure


def doctor(
    method: Annotated[str | None, typer.Option(help="Entry whose sweep is forecast.")] = None,
    address: Address = None,
    workers: Workers = None,
    gpus: Gpus = None,
) -> None:
    """Check machines, disk, ledger, versions and the MLflow store; exit code 2 if a check fails."""
    with exit_on_invalid_input(), exit_on_storage_error(), planned_or_not() as root:
        from puoc.cli import doctor as checks
        from puoc.run.sweep.cluster import connected, present_here, present_in
        from puoc.run.sweep.request import SweepRequest, resolve_sweep

        request = _machine_request(root, workers, gpus, address)
        spec = resolve_sweep(root, SweepRequest(method)) if method is not None else None
        with working("checks"):
            if request.address is None:
                machine_findings, cpus = checks.here(request), present_here().cpus
            else:
                with connected(request, 1) as ray:
                    machine_findings, cpus = checks.cluster(ray, request, ROOT), present_in(ray).cpus
            forecasts, missing = _forecast(root, spec, request.workers or cpus) if spec is not None else ([], 0)
            findings = machine_findings + checks.local(ROOT, missing) + forecasts
        for finding in findings:
            result(findings=[finding._asdict()])
            say(f"{'FAULT' if finding.is_fault else 'ok   '} {finding.subject}: {finding.message}")
    if any(finding.is_fault for finding in findings):
        raise typer.Exit(2)


def study(method: Method, scenario: Scenario = None, space: Space = None, search: Search = None) -> None:
    """Build an Optuna study of a sweep from the ledger, for optuna-dashboard. You can delete it at any time."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.run.sweep.request import SweepRequest, resolve_sweep
        from puoc.run.sweep.study import write_study

        with working("study"):
            path, n = write_study(ROOT, resolve_sweep(ROOT, SweepRequest(method, scenario, space, search)))
    result(path=path, configurations=n)
    say(f"{counted(n, 'configuration')} in {path}; to view the study: optuna-dashboard {path}")
    if which("optuna-dashboard") is None:
        say("optuna-dashboard is not installed: pip install optuna-dashboard")


def _check_here(request: MachineRequest) -> None:
    """Raise ValueError if this machine lacks what is requested of it."""
    if request.address is None:
        from puoc.cli.doctor import here, raise_for_faults

        raise_for_faults(here(request))


def _machine_request(root: Path, workers: int | None, gpus: int | None, address: str | None) -> MachineRequest:
    from puoc.run.sweep.cluster import MachineRequest
    from puoc.store.plan_files import read_compute

    settings = read_compute(root)
    planned_workers = settings.workers if settings.workers != "auto" and address is None else None
    on_gpu = settings.device != "cpu"
    return MachineRequest(workers or planned_workers, int(on_gpu) if gpus is None else gpus, address)


def _forecast(root: Path, spec: Sweep, workers: int | None) -> tuple[list[Finding], int]:
    """Return the forecast for a number of workers, and the number of missing fits."""
    from puoc.cli.doctor import forecast
    from puoc.plan.forecast.costs import Forecast
    from puoc.plan.forecast.machine_speed import speed_of_machine
    from puoc.run.sweep.status import sweep_status

    runner = _runner(root)
    costs = Forecast(runner.ledger, runner.settings.device, speed_of_machine(root, (), 0).of)
    status = sweep_status(runner, spec, costs)
    return [forecast(status.n_missing, status.seconds, costs, workers)], status.n_missing


def _workers(request: MachineRequest) -> int | None:
    """Return the number of workers; None if the cluster does not respond."""
    from puoc.run.sweep.cluster import cpus_of, present_here

    if request.workers or request.address is None:
        return request.workers or present_here().cpus
    return cpus_of(request.address)


def _runner(root: Path) -> Runner:
    from puoc.run.runner import Runner
    from puoc.store.plan_files import read_compute

    return Runner(root, read_compute(root))


def _submitted(url: str) -> str:
    """Submit this command to the Jobs API of a cluster and return the job id; it runs in the same folder."""
    from puoc.run.sweep.submit import submit

    return submit(url, ROOT)
