"""Overview of a plan: number of fits, how many are shared or in the ledger, computing time, power of its tests."""

from __future__ import annotations

import os
import platform
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from puoc.analysis.statistics.power import seeds_to_reject
from puoc.analysis.statistics.signed_rank import smallest_p
from puoc.datasets.user.dataset import Declared
from puoc.plan.bind import PlannedTrial, bind
from puoc.plan.forecast.costs import Estimate, Forecast, about, duration, encoding_seconds, estimate
from puoc.plan.forecast.machine_speed import MachineSpeed, speed_of_machine
from puoc.plan.make_plan import Plan
from puoc.plan.settings_check import mismatches
from puoc.records import Encoding, Fit, TestSet
from puoc.registry import ENCODERS, PRIORS
from puoc.run.executors.frozen_features import key
from puoc.store.counting import counted
from puoc.store.ledger import Ledger
from puoc.store.plan_files import CONFIGS, read_configs
from puoc.store.plans import ComputeSpec, Config, SweepPlan, TablePlan

LEVEL = 0.05
_WORTH_MEASURING = 5.0  # seconds of a forecast from which the speed of this machine is measured
_MEASURE = " (puoc plan --measure measures it here)"
_METHODS_SHOWN = 4  # the methods that take most of the time


@dataclass
class PlanCount:
    """Counts of one table or sweep."""

    name: str
    plan: TablePlan | SweepPlan
    trials: int = 0
    fits: set[str] = field(default_factory=set)
    shared: int = 0  # fits that an earlier table or sweep has as well
    seconds: float = 0.0  # computing time of the fits that it adds to the earlier ones


@dataclass
class Count:
    """Counts of a whole plan: each fit once, with all its test sets."""

    plans: list[PlanCount] = field(default_factory=list)
    fits: dict[str, Fit] = field(default_factory=dict)
    tests: dict[str, set[TestSet]] = field(default_factory=dict)
    needs: dict[str, Fit] = field(default_factory=dict)  # encoders and estimates of the class prior
    needed: dict[str, list[Fit]] = field(default_factory=dict)  # those of each fit; equal ones are the same object
    frozen: dict[tuple[str, str], tuple[Encoding, str]] = field(default_factory=dict)  # frozen encoders, data digests


def count(plan: Plan, root: Path) -> Count:
    """Count the fits of a plan; published configurations stand in for those that are not selected yet."""
    total = Count()
    for name, table in plan.tables.items():
        _add_plan(total, PlanCount(name, table), bind(table, _configs(table, plan.configs[name], root)))
    for name, sweep in plan.sweeps.items():
        _add_plan(total, PlanCount(f"sweep of {name}", sweep), bind(sweep))
    return total


def _configs(table: TablePlan, published: dict[str, Config], root: Path) -> dict[str, Config]:
    path = root / CONFIGS / "selected" / f"{table.table}.json"
    if table.configs != "selected" or not path.exists():
        return published
    return published | {entry: config for entry, config in read_configs(path).items() if entry in published}


def _add_plan(total: Count, plan_count: PlanCount, planned_trials: Iterable[PlannedTrial]) -> None:
    for planned_trial in planned_trials:
        _add(total, plan_count, planned_trial)
    earlier = {fit_id for other in total.plans for fit_id in other.fits}
    plan_count.shared = len(plan_count.fits & earlier)
    total.plans.append(plan_count)


def _add(total: Count, plan_count: PlanCount, planned_trial: PlannedTrial) -> None:
    plan_count.trials += 1
    if planned_trial.skip is not None:
        return
    fit = planned_trial.trial.fit
    plan_count.fits.add(fit.id)
    total.tests.setdefault(fit.id, set()).add(planned_trial.trial.test)
    if fit.id in total.fits:
        return
    total.fits[fit.id] = fit
    total.needed[fit.id] = [total.needs.setdefault(need.id, need) for need in fit.all_needs()]
    for any_fit in (fit, *total.needed[fit.id]):
        if (encoding := any_fit.frozen_encoder()) is not None:
            total.frozen[any_fit.sample.dataset, encoding.id] = encoding, any_fit.sample.data_digest


def describe(plan: Plan, root: Path, measure: float = 0.0, again: bool = False) -> list[str]:
    """Return the lines of the overview that ``puoc plan`` prints.

    Parameters
    ----------
    measure : seconds after which no further costs are measured on this machine; 0 uses those measured before.
    again : measure all kinds of fits of the plan, also those that were measured before.
    """
    total, ledger = count(plan, root), Ledger(root / "ledger")
    works = _works(total)
    forecast = Forecast(ledger, plan.compute.device)
    all_fits = total.fits | total.needs
    recorded = {fit_id for fit_id in all_fits if ledger.is_final(fit_id)}
    by_method = _seconds(total, recorded, forecast, works)
    speed = None
    worth = again or (bool(forecast.from_table) and sum(by_method.values()) >= _WORTH_MEASURING)
    if forecast.kind == "cpu" and worth:
        missing = [fit for fit_id, fit in all_fits.items() if fit_id not in recorded]
        speed = speed_of_machine(root, missing, measure, again)
        forecast = Forecast(ledger, plan.compute.device, speed.of)
        for plan_count in total.plans:
            plan_count.seconds = 0.0
        by_method = _seconds(total, recorded, forecast, works)
    by_method.update(_feature_seconds(total, root, forecast))
    known = len(recorded)
    failed = sum(ledger.failures(fit_id) > 0 for fit_id in all_fits if fit_id not in recorded)
    sharing = sum(plan_count.shared for plan_count in total.plans)
    before = [fit for fit_id, fit in total.needs.items() if fit_id not in total.fits]  # a table may contain one itself
    priors = sum(fit.method in PRIORS or fit.method not in ENCODERS for fit in before)
    trials = sum(plan_count.trials for plan_count in total.plans)
    lines = [
        f"{counted(trials, 'trial')} by {counted(len(total.fits), 'fit')}, which tables share "
        f"{counted(sharing, 'time')}; before them {counted(len(before) - priors, 'encoder')} and "
        f"{counted(priors, 'estimate')} of the class prior",
        f"the ledger has {known:,} of these {len(all_fits):,}" + (f"; {failed:,} failed so far" if failed else ""),
    ]
    lines += _hours(by_method, forecast, plan.compute, speed)
    lines += [line for declared in plan.user_data for line in _user_data(declared)]
    for plan_count in total.plans:
        lines += [_line(plan_count), *_skipped(plan_count)]
        lines += [f"  {warning}" for warning in mismatches(plan_count.plan)]
    return lines


def _skipped(count: PlanCount) -> list[str]:
    """Return a line for each entry of a plan that does not apply, with the number of its trials and the reason."""
    per_entry = count.trials // max(len(count.plan.entries), 1)
    return [
        f"  {entry.entry} does not apply: {counted(per_entry, 'trial')} of {count.trials:,} skipped ({entry.skip})"
        for entry in count.plan.entries
        if entry.skip is not None
    ]


def _user_data(declared: Declared) -> list[str]:
    """Return the lines about a dataset of user data: its rows and the warnings about them."""
    (p, u, _), (positive, _, negative) = declared.counts["train"], declared.counts["test"]
    tested = f"{positive + negative} labelled test rows" if positive + negative else "no labelled test rows"
    head = f"{declared.name}: {p} labelled positives, {u} unlabelled rows, {tested}"
    return [head, *(f"  {note}" for note in (*declared.marks, *declared.notes))]


def _works(total: Count) -> dict[str, Estimate | None]:
    """Return the work of each fit and of scoring its test sets, by its id: two forecasts use it."""
    tests = defaultdict[str, set[TestSet]](set, total.tests)
    return {fit_id: estimate(fit, tests[fit_id]) for fit_id, fit in (total.needs | total.fits).items()}


def _seconds(
    total: Count, recorded: Collection[str], forecast: Forecast, works: Mapping[str, Estimate | None]
) -> Counter[str]:
    """Return the seconds by method of fits that are not in the ledger, and add them to the first plan with the fit."""
    by_method: Counter[str] = Counter()
    counted = set(recorded)
    for plan in total.plans:
        for fit_id in sorted(plan.fits):
            fit = total.fits[fit_id]
            for any_fit in (fit, *total.needed[fit_id]):
                if any_fit.id in counted:
                    continue
                counted.add(any_fit.id)
                seconds = forecast.seconds_by(any_fit.method, works[any_fit.id])
                by_method[any_fit.method] += seconds  # type: ignore[assignment]
                plan.seconds += seconds
    return by_method


def _feature_seconds(total: Count, root: Path, forecast: Forecast) -> Counter[str]:
    """Return the seconds by encoder for the features that a frozen encoder computes once per dataset."""
    seconds: Counter[str] = Counter()
    for (dataset, _), (encoding, digest) in total.frozen.items():
        if (root / "work" / "features" / f"{key(digest, encoding)}.npy").exists():
            continue
        cost = encoding_seconds(encoding, dataset) if forecast.kind == "cpu" else None
        if cost is None:
            forecast.unknown.add(encoding.name)
        seconds[encoding.name] += cost or 0.0  # type: ignore[assignment]
    return seconds


def _hours(by_method: Counter[str], forecast: Forecast, settings: ComputeSpec, speed: MachineSpeed | None) -> list[str]:
    total = sum(by_method.values())
    workers = len(os.sched_getaffinity(0)) if settings.workers == "auto" else settings.workers
    largest = ", ".join(
        f"{name} {duration(seconds)}" for name, seconds in by_method.most_common(_METHODS_SHOWN) if seconds
    )
    lines = []
    if total:
        wall = f"{about(total / workers)} with {counted(workers, 'worker')}"
        lines.append(f"forecast: {duration(total)} of computing time, {wall} ({largest})")
        from_ledger = sorted(forecast.from_ledger)
        here = sorted(forecast.from_here - forecast.from_ledger)
        elsewhere = sorted(forecast.from_table - forecast.from_ledger - forecast.from_here)
        sources = [f"fits of this ledger for {', '.join(from_ledger)}"] if from_ledger else []
        sources += [f"short fits on this machine for {', '.join(here)}{_when(speed)}"] if here else []
        sources += [f"seconds measured on another machine for {', '.join(elsewhere)}"] if elsewhere else []
        lines.append(f"  it is based on {', and on '.join(sources)}")
        uncertain = f"; the part from another machine may be several times off{_MEASURE}" if elsewhere else ""
        lines.append(f"  it holds for {platform.node()} while nothing else runs on it{uncertain}")
    if forecast.unknown:
        device = f" on {forecast.kind}" if forecast.kind != "cpu" else ""
        unknown = ", ".join(sorted(forecast.unknown))
        lines.append(f"  no cost is known{device} for {unknown} before a first fit")
    return lines


def _when(speed: MachineSpeed | None) -> str:
    """Return when the speed of this machine was measured."""
    days = " to ".join(str(day) for day in speed.days()) if speed else ""
    return f" (measured on {days}; puoc plan --measure measures again)" if days else ""


def _line(count: PlanCount) -> str:
    shared = f" ({count.shared:,} counted above)" if count.shared else ""
    hours = f", {duration(count.seconds)}" if count.seconds else ""
    head = f"{count.name}: {counted(count.trials, 'trial')}, {counted(len(count.fits), 'fit')}{shared}{hours}"
    return f"{head}; {power}" if (power := can_show(count.plan)) else head


def can_show(plan: TablePlan | SweepPlan) -> str:
    """Describe the smallest p-value that the seeds of a table allow for a twin pair, before and after Holm."""
    if isinstance(plan, SweepPlan):
        return ""
    pairs = sum(hybrid.skip is None and parent.skip is None for hybrid, parent in plan.twin_pairs())
    comparisons, seeds = pairs * len(plan.cells), len(plan.seeds)
    if not comparisons:
        return ""
    if not plan.tested:
        return "no labelled test rows: only the label-free criterion, and no test of significance"
    if not plan.redraws:
        return "every seed learns from the same rows: no test of significance (set n_pos_lab or n_unl to draw some)"
    min_p = smallest_p(seeds)
    adjusted = min(1.0, min_p * comparisons)
    counts = f"{counted(seeds, 'seed')} and {counted(comparisons, 'comparison')}"
    text = f"{counts}: smallest possible p {min_p:.2g}, {adjusted:.2g} after Holm"
    if adjusted < LEVEL:
        return text
    needed = seeds_to_reject(comparisons, LEVEL)
    return f"{text}; no significant result is possible ({needed} seeds would be enough)"
