"""``puoc sweep``, ``puoc doctor`` and ``puoc study``: searches on Ray, what speaks against one, and a view of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from puoc.cli.console import FAILED_ROWS, console, exit_on_invalid_input, exit_on_storage_error, planned, say
from puoc.store.counting import counted

if TYPE_CHECKING:
    from puoc.cli.doctor import Finding
    from puoc.run.result_rows import Row
    from puoc.run.runner import Runner
    from puoc.run.sweep.budget import Budget
    from puoc.run.sweep.cluster import Wanted
    from puoc.run.sweep.request import Sweep
    from puoc.run.sweep.tuner import Outcome

ROOT = Path()
_SPEC = "grid, published, wide, ...: a space of tuning/spaces/<method>.yaml."

Method = Annotated[str, typer.Option(help="An entry of methods in params.yaml.")]
Scenario = Annotated[str | None, typer.Option(help="Its sweep's scenario, or a table, or the scenario of one table.")]
Space = Annotated[str | None, typer.Option(help=_SPEC)]
Search = Annotated[Literal["grid", "tpe"] | None, typer.Option(help="Every configuration, or Optuna's TPE.")]
Address = Annotated[str | None, typer.Option(help="A Ray cluster: auto, or HOST:PORT of its head node.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Trials at once; default: compute.workers, or all CPUs.")]
Gpus = Annotated[int | None, typer.Option(min=0, help="GPUs to compute on; default: 1 where compute.device is cuda.")]


def sweep(
    method: Method,
    scenario: Scenario = None,
    space: Space = None,
    search: Search = None,
    asha: Annotated[bool, typer.Option("--asha", help="Stop bad configurations early (successive halving).")] = False,
    budget: Annotated[str | None, typer.Option(help="90s, 30m, 1h30m, or a number of configurations.")] = None,
    address: Address = None,
    submit: Annotated[str | None, typer.Option(help="URL of a cluster's Jobs API that is to run this command.")] = None,
    workers: Workers = None,
    gpus: Gpus = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be computed and start nothing.")] = False,
) -> None:
    """Compute the configurations of a sweep that the ledger lacks, on Ray.

    Without --space, --search and --asha it asks exactly what the sweep of params.yaml asks, so dvc repro finds it done.
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
            raise ValueError("--budget: a search has no end of its own; expected a time or a number of configurations")
        if submit is not None:
            say(f"submitted as {_submitted(submit)}; `ray job logs --address {submit} <id> --follow` shows it")
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

    runner, (_, missing) = _runner(), _look(asked, wanted.workers)
    if missing or asked.parts is not None:
        doctor.refuse(doctor.local(ROOT, missing))
        found, failure = _tuned(asked, wanted, allowed, started)
    else:
        now = standing(runner, asked)
        found, failure = Outcome(0, len(now.done), len(now.failed), 0, 0, None), None
    rows = write(ROOT, asked)
    stopped = f", {found.stopped} stopped early" if found.stopped else ""
    left = f"; {found.stopped_by}, {found.remaining} remain" if found.stopped_by else ""
    ended = f"{found.failed} failed{stopped}, {found.known} known before{left}"
    say(f"{asked.name}: {counted(found.ok, 'configuration')} answered, {ended}")
    if failure:
        say(f"MLflow lacks some of them ({failure}); puoc track brings it into line")
    failed = failed_rows(rows)
    for line in failed:
        say(line)
    if failed:
        say("the next sweep tries a fit once more, then it is quarantined; puoc retry lifts that")
        raise typer.Exit(FAILED_ROWS)


def _tuned(asked: Sweep, wanted: Wanted, allowed: Budget, started: float) -> tuple[Outcome, str | None]:
    """Run the sweep; what it came to, and why MLflow failed if it did."""
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

        def track(rows: Sequence[Row]) -> None:
            tracking.add([row | {"table": asked.name} for row in rows])

        tuner = Tuner(ROOT, asked, packing, allowed, started, on_rows=track, on_progress=reporter.update)
        found = tuner.run()
    return found, tracking.failure


def doctor(
    method: Annotated[str | None, typer.Option(help="An entry whose sweep is to be forecast.")] = None,
    address: Address = None,
    workers: Workers = None,
    gpus: Gpus = None,
) -> None:
    """Look for what would go wrong: machines, disk, ledger, versions, MLflow's store. Exit code 2 for a fault."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.cli import doctor as looks
        from puoc.run.sweep.cluster import connected, present_here, present_in
        from puoc.run.sweep.request import Asking, ask

        wanted = _wanted(workers, gpus, address)
        asked = ask(ROOT, Asking(method)) if method is not None else None
        if wanted.address is None:
            first, cpus = looks.here(wanted), present_here().cpus
        else:
            with connected(wanted, 1) as ray:
                first, cpus = looks.cluster(ray, wanted, ROOT), present_in(ray).cpus
        found, missing = _look(asked, wanted.workers or cpus) if asked is not None else (list[Any](), 0)
        found = first + looks.local(ROOT, missing) + found
        for one in found:
            say(f"{'FAULT' if one.is_fault else 'ok   '} {one.what}: {one.says}")
    if any(one.is_fault for one in found):
        raise typer.Exit(2)


def study(method: Method, scenario: Scenario = None, space: Space = None, search: Search = None) -> None:
    """Make an Optuna study of a sweep from the ledger, for optuna-dashboard; it may be deleted at any time."""
    with exit_on_invalid_input(), exit_on_storage_error():
        planned(ROOT)
        from puoc.run.sweep.request import Asking, ask
        from puoc.run.sweep.study import write_study

        path, n = write_study(ROOT, ask(ROOT, Asking(method, scenario, space, search)))
    say(f"{counted(n, 'configuration')} in {path}; see them with: optuna-dashboard {path}")


def _wanted(workers: int | None, gpus: int | None, address: str | None) -> Wanted:
    from puoc.plan.plan_files import read_compute
    from puoc.run.sweep.cluster import Wanted

    settings = read_compute(ROOT)
    own = settings["workers"] if settings["workers"] != "auto" and address is None else None
    on_gpu = settings["device"] != "cpu"
    return Wanted(workers or own, int(on_gpu) if gpus is None else gpus, address)


def _look(asked: Sweep, workers: int | None) -> tuple[list[Finding], int]:
    """The forecast for so many workers, and how many fits are missing."""
    from puoc.cli.doctor import forecast
    from puoc.plan.forecast.costs import Forecast
    from puoc.run.sweep.status import standing

    runner = _runner()
    costs = Forecast(runner.ledger, runner.settings["device"])
    now = standing(runner, asked, costs)
    return [forecast(now.n_missing, now.seconds, costs, workers)], now.n_missing


def _workers(wanted: Wanted) -> int | None:
    """How many would compute; None where a cluster is named that does not answer."""
    from puoc.run.sweep.cluster import cpus_of, present_here

    if wanted.workers or wanted.address is None:
        return wanted.workers or present_here().cpus
    return cpus_of(wanted.address)


def _runner() -> Runner:
    from puoc.run.runner import Runner
    from puoc.run.sweep.status import settings_of

    return Runner(ROOT, settings_of(ROOT))


def _say_plan(asked: Sweep, wanted: Wanted) -> None:
    from puoc.run.sweep.status import standing

    now = standing(_runner(), asked)
    plan, (found, _) = asked.plan, _look(asked, _workers(wanted))
    cells, seeds = counted(len(plan["cells"]), "cell"), counted(len(plan["seeds"]), "seed")
    say(f"{asked.name}: {asked.method} on {plan['dataset']}, {plan['scenario']}: {cells}, {seeds}")
    more = "first, then what the search suggests" if asked.parts is not None else "in all"
    state = f"{len(now.done)} known, {len(now.failed)} failed, {len(now.missing)} missing"
    say(f"{counted(now.n_configs, 'configuration')} {more}: {state}")
    if asked.rungs:
        say(f"stopped early after {' or '.join(map(str, asked.rungs))} epochs where two in three are better")
    say(f"{found[0].what}: {found[0].says}")


def _submitted(url: str) -> str:
    """Have the Jobs API of a cluster run this command on its head node, in the same folder; the job's id."""
    from puoc.run.sweep.submit import submit

    return submit(url, ROOT)
