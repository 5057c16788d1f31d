"""What ``puoc sweep`` says of a sweep: what it would compute, and the configuration that its results choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from puoc.cli.console import hint, say
from puoc.cli.output import result
from puoc.store.counting import counted

if TYPE_CHECKING:
    from puoc.cli.doctor import Finding
    from puoc.run.runner import Runner
    from puoc.run.sweep.budget import Budget
    from puoc.run.sweep.request import Sweep
    from puoc.store.result_rows import ResultRow


def say_plan(runner: Runner, spec: Sweep, budget: Budget, forecasts: Sequence[Finding]) -> None:
    """Say what a sweep would compute.

    Parameters
    ----------
    budget : of a search. A number of configurations counts the known ones.
    forecasts : of the listed configurations.
    """
    from puoc.run.sweep.status import sweep_status
    from puoc.run.sweep.tpe import count_configs, evaluated_configs

    status = sweep_status(runner, spec)
    known, missing = len(status.done), len(status.missing)
    plan = spec.plan
    cells, seeds = counted(len(plan.cells), "cell"), counted(len(plan.seeds), "seed")
    say(f"{spec.name}: {spec.method} on {plan.dataset}, {plan.scenario}: {cells}, {seeds}")
    scope = "first, then those that the search suggests" if spec.parts is not None else "in total"
    state = f"{known:,} known, {len(status.failed):,} failed, {missing:,} missing"
    say(f"{counted(status.n_configs, 'configuration')} {scope}: {state}")
    if spec.parts is not None:
        known = count_configs(spec, evaluated_configs(spec, runner.ledger))
        left, unknown = "", "; what it will suggest is not known before"
        if budget.configurations is not None:
            missing = max(budget.configurations - known, 0)
            left, unknown = f" of {budget.configurations:,}, {missing:,} remain", unknown if missing else ""
        say(f"the search has {counted(known, 'configuration')}{left}{unknown}")
    if spec.rungs:
        epochs = " or ".join(map(str, spec.rungs))
        say(f"a configuration is stopped after {epochs} epochs if two in three configurations are better")
    if spec.parts is None or status.missing:
        say(f"{forecasts[0].subject}: {forecasts[0].message}")
    result(sweep=spec.name, computed=0, stopped=0, known=known, failed=len(status.failed), missing=missing)


def say_choice(spec: Sweep, rows: Sequence[ResultRow]) -> None:
    """Say which configuration the withheld rows choose, and what uses it."""
    from puoc.run.select import choice_of, in_words

    choice = choice_of(rows)
    words = in_words(choice, (row.params for row in rows if row.params is not None))
    result(chosen=words)
    say(f"choice: {words}")
    use = (
        f"puoc tune {spec.entry} and puoc select give it to tables with configs: selected"
        if spec.is_planned
        else f"no table uses it by itself; write it under methods: {spec.entry} in params.yaml"
    )
    hint(f"{use}; puoc report shows all configurations (reports/sweeps/{spec.name}.html)")
