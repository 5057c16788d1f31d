"""The stages of dvc.yaml, one function each. Each may be run again at any time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from puoc.plan.bind import PlannedTrial, bind
from puoc.registry import DATASETS
from puoc.run.budget_run import BudgetRunner
from puoc.run.budget_tasks import Remaining
from puoc.run.result_rows import collect, row
from puoc.run.runner import Progress, Runner
from puoc.run.schedule import TableTrials
from puoc.store import plan_files
from puoc.store.atomic import write_json
from puoc.store.ledger import Ledger
from puoc.store.ledger_upkeep import clear_claims
from puoc.store.plans import SweepPlan, TablePlan
from puoc.store.result_rows import ResultRow, write_sweep, write_table

Part = Literal["tables", "tune"]
OnRows = Callable[[Sequence[ResultRow]], None]


def names(root: Path, part: Part) -> list[str]:
    """Return the names of the planned tables or sweeps."""
    return plan_files.table_names(root) if part == "tables" else plan_files.sweep_names(root)


def prepare_data(root: Path, mirror: Path | None) -> tuple[dict[str, str], list[str]]:
    """Prepare every dataset of the plan, and write the digest of its data for each table and sweep.

    Returns
    -------
    Digests by dataset, and warnings for the user: training rows that repeat a test row, which no draw uses.

    Raises
    ------
    ValueError : as ``puoc.datasets.prepare.ensure`` and ``puoc.datasets.prepare.arrays.prepare``. If only the raw files
        of some datasets are missing, the others are prepared first.
    """
    from puoc.datasets.prepare import ensure
    from puoc.datasets.prepare.arrays import Prepared, prepare
    from puoc.datasets.prepare.verify import FetchError
    from puoc.scenarios.drawing.overlap import repeats_of_test

    folder, digests, warnings = root / "work" / "prepared", dict[str, str](), list[str]()
    failures: dict[str, str] = {}
    for name in plan_files.read_data(root):
        try:
            ensure(name, root / "data", mirror=mirror)  # also if the arrays exist already
            digests[name] = prepare(name, root / "data", folder, mirror=mirror)
        except FetchError as error:
            failures[name] = str(error)
            continue
        if repeats := repeats_of_test(Prepared.open(folder / name)):
            warnings.append(f"{name}: {repeats} training rows have the content of a test row, and no draw uses them")
    parts: tuple[Part, ...] = ("tables", "tune")
    dataset_by_path = {
        folder / part / f"{name}.json": read_plan(root, part, name).dataset
        for part in parts
        for name in names(root, part)
    }
    for path, dataset in sorted(dataset_by_path.items()):
        if dataset in failures:
            continue
        if dataset not in digests:
            place = f"work/plan/{path.parent.name}/{path.name}"
            raise ValueError(f"{place}: got {dataset!r}; expected a dataset of work/plan/data.json: run puoc plan")
        write_json(path, {"dataset": dataset, "digest": digests[dataset]})
    for path in (path for part in parts for path in (folder / part).glob("*.json")):
        if path not in dataset_by_path:
            path.unlink()
    if failures:
        prepared = f"the other datasets are prepared ({', '.join(digests)})" if digests else "no dataset is prepared"
        raise ValueError("\n".join([*failures.values(), prepared]))
    return digests, warnings


def lacking_data(root: Path, tables: Sequence[str]) -> dict[str, str]:
    """Return the tables whose data are not prepared, with the raw files that are missing and where they belong."""
    lacking = {}
    for name in tables:
        plan, trials = planned_trials(root, "tables", name)
        try:
            Runner(root, plan_files.read_compute(root)).check_data(planned.trial.fit for planned in trials)
        except ValueError as error:
            folder = Path("data") / plan.dataset
            declared = DATASETS[plan.dataset].files if plan.dataset in DATASETS else ()
            files = [str(folder / raw.path) for raw in declared if not (root / folder / raw.path).exists()]
            lacking[name] = str(error) + (f"; missing: {', '.join(files)} (puoc fetch downloads it)" if files else "")
    return lacking


def read_plan(root: Path, part: Part, name: str) -> TablePlan | SweepPlan:
    """Return the plan of a table or a sweep.

    Raises
    ------
    ValueError : there is no such plan (the message lists the planned ones), or its file is damaged.
    """
    if name not in (known := names(root, part)):  # this also rejects a name such as ../x
        planned = ", ".join(known) or "none (run puoc plan first)"
        raise ValueError(f"no plan of {name!r} in {part}; planned: {planned}")
    return plan_files.planned_table(root, name) if part == "tables" else plan_files.planned_sweep(root, name)


def planned_trials(root: Path, part: Part, name: str) -> tuple[TablePlan | SweepPlan, list[PlannedTrial]]:
    """Return a plan and its trials, with their configurations.

    Raises
    ------
    ValueError : the configurations have not been selected yet.
    """
    plan = read_plan(root, part, name)
    if isinstance(plan, SweepPlan):
        return plan, list(bind(plan))
    path = _configs(root, plan)
    if not path.exists():
        raise ValueError(
            f"{path.relative_to(root)} does not exist; the stage select writes it: run dvc repro run@{name}"
        )
    return plan, list(bind(plan, plan_files.read_configs(path)))


def planned_trial_ids(root: Path) -> dict[str, frozenset[str]]:
    """Return the ids of the planned trials of each table, by its name, and of each sweep, by tune/ENTRY.

    A table without selected configurations is left out. So are the trials of an entry that was added by ``puoc plan``
    after the selection.
    """
    tables = [name for name in names(root, "tables") if _configs(root, plan_files.planned_table(root, name)).exists()]
    trials = {name: selected_trials(root, "tables", name)[1] for name in tables}
    trials |= {f"tune/{name}": selected_trials(root, "tune", name)[1] for name in names(root, "tune")}
    return {key: frozenset(planned.trial.id for planned in of_plan) for key, of_plan in trials.items()}


def selected_trials(root: Path, part: Part, name: str) -> tuple[TablePlan | SweepPlan, list[PlannedTrial], list[str]]:
    """Return a plan, its trials with a known configuration, and the entries without a configuration."""
    plan = read_plan(root, part, name)
    if isinstance(plan, SweepPlan):
        return plan, list(bind(plan)), []
    path = _configs(root, plan)
    configs = plan_files.read_configs(path) if path.exists() else {}
    unknown = [entry for entry in plan.entries_by_name if entry not in configs]
    return plan, list(bind(plan.only(configs), configs)), unknown


def _configs(root: Path, plan: TablePlan) -> Path:
    """Return the file with the configurations of a table."""
    return root / plan_files.CONFIGS / plan.configs / f"{plan.table}.json"


def run_part(
    root: Path,
    part: Part,
    name: str,
    on_rows: OnRows = lambda _: None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Counter[str]:
    """Compute the fits of a table or a sweep that the ledger lacks, then write its rows.

    ``on_rows`` is called with the rows of each fit as soon as the fit has a record.

    Raises
    ------
    ValueError : as ``planned_trials`` and ``Runner.run``. No rows are written then.
    OSError : the ledger or the results cannot be written.
    """
    plan, trials = planned_trials(root, part, name)
    runner = Runner(root, plan_files.read_compute(root), on_progress=on_progress)
    runner.on_done = _row_reporter(runner.ledger, [(plan, trials)], on_rows)
    counts = runner.run(plan, trials)
    clear_claims(runner.ledger)
    _write_rows(root, runner, plan, trials)
    return counts


def run_tables(
    root: Path,
    names: Sequence[str],
    budget: float,
    on_rows: OnRows = lambda _: None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> tuple[Counter[str], Remaining]:
    """Compute the fits of tables that the ledger lacks and that fit in ``budget`` seconds, then write all rows.

    Returns
    -------
    Counts as ``run_part``, and what was not started. The rows of its trials have the status ``missing``.

    Raises
    ------
    ValueError, OSError : as ``run_part``.
    """
    planned = (planned_trials(root, "tables", name) for name in names)
    tables = [TableTrials(plan, trials) for plan, trials in planned if isinstance(plan, TablePlan)]
    runner = BudgetRunner(root, plan_files.read_compute(root), on_progress=on_progress)
    runner.on_done = _row_reporter(runner.ledger, tables, on_rows)
    counts, remaining = runner.run_tables(tables, budget)
    clear_claims(runner.ledger)
    for table in tables:
        _write_rows(root, runner, table.plan, table.trials)
    return counts, remaining


def _row_reporter(
    ledger: Ledger, plans: Sequence[tuple[TablePlan | SweepPlan, Sequence[PlannedTrial]]], on_rows: OnRows
) -> Callable[[Sequence[str]], None]:
    """Return a function of fit ids that calls ``on_rows`` with their rows; the fit of an encoder has none."""
    by_fit: dict[str, list[tuple[TablePlan | SweepPlan, PlannedTrial]]] = {}
    for plan, trials in plans:
        for planned in trials:
            by_fit.setdefault(planned.trial.fit.id, []).append((plan, planned))

    def report(fit_ids: Sequence[str]) -> None:
        finished = [(*place, fit_id) for fit_id in fit_ids for place in by_fit.get(fit_id, ())]
        on_rows([row(plan, planned, ledger.get(fit_id), ledger) for plan, planned, fit_id in finished])

    return report


def _write_rows(root: Path, runner: Runner, plan: TablePlan | SweepPlan, trials: Sequence[PlannedTrial]) -> None:
    rows = [_or_failed(row, runner.reasons) for row in collect(plan, trials, runner.ledger)]
    if isinstance(plan, TablePlan):
        write_table(root / "results" / "tables", plan.table, rows)
    else:
        write_sweep(root / "results" / "tune", plan.table, rows)


def _or_failed(row: ResultRow, reasons: dict[str, str]) -> ResultRow:
    """Mark a row as failed if its fit has a record, but scoring the fit on a later test set failed."""
    if row.status != "missing" or row.fit_id not in reasons:
        return row
    return replace(row, status="failed", reason=reasons[row.fit_id])


def result_path(root: Path, part: Part, name: str) -> Path:
    """Return the path of the rows of a table or a sweep (without test columns)."""
    return root / "results" / (f"tables/{name}.parquet" if part == "tables" else f"tune/val/{name}.parquet")


def allow_retry(ledger: Ledger, fit_id: str) -> None:
    """Lift the quarantine of a failed fit, and of failed fits that it needs, for one attempt.

    A fit that has its record and could not be scored is scored once more.
    """
    entry = ledger.get(fit_id)
    if entry is None:
        return
    if ledger.is_final(fit_id):
        ledger.allow_retry(fit_id)
        return
    for need in entry.result.fit.needs():
        if not ledger.is_final(need.id):
            allow_retry(ledger, need.id)
    if not ledger.may_try(fit_id):
        ledger.allow_retry(fit_id)
