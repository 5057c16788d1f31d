"""What the stages of dvc.yaml do, a function each. All of them may be run again at any time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from puoc.plan.bind import PlannedTrial, bind
from puoc.run.result_rows import collect, row
from puoc.run.runner import Progress, Runner
from puoc.store import plan_files
from puoc.store.atomic import write_json
from puoc.store.checked_json import read_form
from puoc.store.checked_parquet import BY_SWEEP, read_rows
from puoc.store.ledger import Ledger
from puoc.store.plans import SweepPlan, TablePlan
from puoc.store.result_rows import OutcomeRow, ResultRow, read_results, write_sweep, write_table

Part = Literal["tables", "tune"]
_SAID = TypeAdapter(dict[str, int | str])
OnRows = Callable[[Sequence[ResultRow]], None]


def names(root: Path, part: Part) -> list[str]:
    """Return the names of the planned tables or sweeps."""
    return plan_files.table_names(root) if part == "tables" else plan_files.sweep_names(root)


def prepare_data(root: Path, mirror: Path | None) -> tuple[dict[str, str], list[str]]:
    """Prepare every dataset of the plan, and write which content each table and sweep is of.

    Returns
    -------
    Digests by dataset, and what a reader should know: training rows that repeat a test row, which no draw uses.

    Raises
    ------
    ValueError : as ``puoc.datasets.prepare.ensure`` and ``puoc.datasets.prepare.arrays.prepare``.
    """
    from puoc.datasets.prepare import ensure
    from puoc.datasets.prepare.arrays import Prepared, prepare
    from puoc.scenarios.drawing.overlap import repeats_of_test

    folder, digests, notes = root / "work" / "prepared", dict[str, str](), list[str]()
    for name in plan_files.read_data(root):
        ensure(name, root / "data", mirror=mirror)  # also where arrays lie there already
        digests[name] = prepare(name, root / "data", folder, mirror=mirror)
        if repeats := repeats_of_test(Prepared.open(folder / name)):
            notes.append(f"{name}: {repeats} training rows have the content of a test row, and no draw uses them")
    parts: tuple[Part, ...] = ("tables", "tune")
    asked = {
        folder / part / f"{name}.json": read_plan(root, part, name).dataset
        for part in parts
        for name in names(root, part)
    }
    for path, dataset in sorted(asked.items()):
        if dataset not in digests:
            place = f"work/plan/{path.parent.name}/{path.name}"
            raise ValueError(f"{place}: got {dataset!r}; expected a dataset of work/plan/data.json: run puoc plan")
        write_json(path, {"dataset": dataset, "digest": digests[dataset]})
    for path in (path for part in parts for path in (folder / part).glob("*.json")):
        if path not in asked:
            path.unlink()
    return digests, notes


def read_plan(root: Path, part: Part, name: str) -> TablePlan | SweepPlan:
    """Return the plan of a table or a sweep.

    Raises
    ------
    ValueError : the plan does not have it, and what there is, is named; or its file is damaged.
    """
    if name not in (known := names(root, part)):  # a name such as ../x is no path, either
        planned = ", ".join(known) or "none (run puoc plan first)"
        raise ValueError(f"no plan of {name!r} in {part}; planned: {planned}")
    return plan_files.planned_table(root, name) if part == "tables" else plan_files.planned_sweep(root, name)


def questions(root: Path, part: Part, name: str) -> tuple[TablePlan | SweepPlan, list[PlannedTrial]]:
    """Return a plan and every trial of it, with configurations filled in.

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


def asked_trials(root: Path) -> dict[str, frozenset[str]]:
    """Ids of the trials that each table asks, by its name, and each sweep, by tune/ENTRY.

    A table whose configurations have not been selected is not among them, and of one whose selection is older than an
    entry, as after ``puoc plan`` with a new one, the trials of that entry are not.
    """
    tables = [name for name in names(root, "tables") if _configs(root, plan_files.planned_table(root, name)).exists()]
    asked = {name: selected_trials(root, "tables", name)[1] for name in tables}
    asked |= {f"tune/{name}": selected_trials(root, "tune", name)[1] for name in names(root, "tune")}
    return {key: frozenset(one.trial.id for one in of) for key, of in asked.items()}


def selected_trials(root: Path, part: Part, name: str) -> tuple[TablePlan | SweepPlan, list[PlannedTrial], list[str]]:
    """Return a plan, every trial of it whose configuration is known, and the entries that have none yet."""
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


def answer(
    root: Path,
    part: Part,
    name: str,
    on_rows: OnRows = lambda _: None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Counter[str]:
    """Compute what a table or a sweep asks and the ledger lacks, then write its rows.

    ``on_rows`` gets the rows of every fit as soon as it has its record.

    Raises
    ------
    ValueError : as ``questions`` and ``Runner.run``; no rows are written then.
    OSError : the ledger or the results cannot be written.
    """
    plan, asked = questions(root, part, name)
    by_fit: dict[str, list[PlannedTrial]] = {}
    for one in asked:
        by_fit.setdefault(one.trial.fit.id, []).append(one)

    def report(fit_ids: Sequence[str]) -> None:
        asked_here = [(one, fit_id) for fit_id in fit_ids for one in by_fit.get(fit_id, ())]  # not an encoder's
        on_rows([row(plan, one, runner.ledger.get(fit_id)) for one, fit_id in asked_here])

    runner = Runner(root, plan_files.read_compute(root), on_done=report, on_progress=on_progress)
    counts = runner.run(plan, asked)
    rows = [_or_failed(found, runner.reasons) for found in collect(plan, asked, runner.ledger)]
    if part == "tables":
        write_table(root / "results" / "tables", name, rows)
    else:
        write_sweep(root / "results" / "tune", name, rows)
    return counts


def _or_failed(found: ResultRow, reasons: dict[str, str]) -> ResultRow:
    """Mark a row as failed if its fit has a record, but scoring it on a test set that was asked for later failed."""
    if found.status != "missing" or found.fit_id not in reasons:
        return found
    return replace(found, status="failed", reason=reasons[found.fit_id])


def result_path(root: Path, part: Part, name: str) -> Path:
    """Where a table's or a sweep's rows (without test columns) lie."""
    return root / "results" / (f"tables/{name}.parquet" if part == "tables" else f"tune/val/{name}.parquet")


def pending(root: Path) -> dict[str, dict[str, int | str]]:
    """Write which failed fits are due for another attempt, for DVC to see; stages depend on the file of their table.

    A file names the number of the attempt beyond the first. It changes when an attempt falls due and not when it is
    made, so the next ``dvc repro`` retries what is due and the one after that runs nothing. Of a fit that has its
    record and could not be scored, the attempts are not counted: by each scoring code it is due once, and once more
    for each leave.
    """
    ledger = Ledger(root / "ledger")
    found: dict[str, dict[str, int | str]] = {}
    parts: tuple[Part, ...] = ("tables", "tune")
    for part in parts:
        for name in names(root, part):
            path = result_path(root, part, name)
            rows = read_rows(path, OutcomeRow) if path.exists() else []
            again = {r.fit_id for r in rows if r.status == "failed" or r.attempts > 1}
            due: dict[str, int | str] = {fit_id: ledger.retries(fit_id) for fit_id in again}
            # scored meanwhile, maybe: that must not change the file
            before, asked = _said_before(root, part, name), {r.fit_id for r in rows}
            due |= {fit_id: said for fit_id, said in before.items() if isinstance(said, str) and fit_id in asked}
            for r in rows:
                if r.status == "failed" and ledger.is_final(r.fit_id):
                    due[r.fit_id] = f"scoring {r.scoring_digest}, {1 + ledger.extra_attempts(r.fit_id)}"
            found[f"{part}/{name}"] = {fit_id: said for fit_id, said in sorted(due.items()) if said}
    for below in ("tune/val", "sweeps"):  # stages depend on them, even when empty
        (root / "results" / below).mkdir(parents=True, exist_ok=True)
    folder = root / "work" / "pending"
    for key, value in found.items():
        write_json(folder / f"{key}.json", value)
    for path in folder.rglob("*.json"):
        if str(path.relative_to(folder).with_suffix("")) not in found:
            path.unlink()
    return found


def _said_before(root: Path, part: Part, name: str) -> dict[str, int | str]:
    path = root / "work" / "pending" / part / f"{name}.json"
    again = "expected numbers or texts by fit; delete it, and puoc pending writes it again"
    return read_form(path, _SAID, again) if path.exists() else {}


def allow_retry(ledger: Ledger, fit_id: str) -> None:
    """Lift the quarantine of a failed fit for one attempt, and that of failed fits whose answers it takes.

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


@dataclass
class Standing:
    """Where the present plan stands, whatever older results say; as made, nothing is left to do."""

    failed: list[ResultRow] = field(default_factory=list)
    missing: list[ResultRow] = field(default_factory=list)  # asked, and answered by neither the ledger nor the results
    unwritten: int = 0  # answered in the ledger alone: the table or sweep was asked anew, and not run since
    unrecorded: int = 0  # answered in the results alone: the ledger that had the record is gone
    adopted: int = 0  # answered by records of earlier code, see ``puoc ledger adopt``
    stale: int = 0  # scored by other code than the plan's: the next run scores them again
    not_run: list[str] = field(default_factory=list)  # tables and sweeps without results; TABLE (ENTRIES) not selected
    unplanned: list[str] = field(default_factory=list)  # sweeps with results that no section tune plans
    failed_unplanned: list[ResultRow] = field(default_factory=list)  # their failed rows: the same puoc sweep asks again


def standing(root: Path) -> Standing:
    """Compare every question of the plan with the ledger and the results."""
    from puoc.analysis.selection.surface import unplanned

    ledger, found = Ledger(root / "ledger"), Standing()
    for name, (path, _) in unplanned(root).items():
        found.unplanned.append(name)
        rows = read_results(path, BY_SWEEP)
        failed = [replace(row, table=name) for row in rows if row.status == "failed"]
        found.failed_unplanned.extend(row for row in failed if not ledger.is_final(row.fit_id))
    parts: tuple[Part, ...] = ("tables", "tune")
    planned = [(part, name) for part in parts for name in names(root, part)]
    for of, name in planned:
        path = result_path(root, of, name)
        plan, asked, unselected = selected_trials(root, of, name)
        if not path.exists() or not asked:
            found.not_run.append(name)
            continue
        found.not_run += [f"{name} ({', '.join(unselected)})"] if unselected else []
        results = {_place(r, of): r for r in read_results(path)}
        for one in collect(plan, asked, ledger):
            written = results.get(_place(one, of))
            result = written or one
            found.adopted += one.adopted_from is not None
            if one.status == "failed" or (one.status == "missing" and result.status == "failed"):
                found.failed.append(one if one.status == "failed" else result)  # a later test set's
            elif _is_stale(result, one.scoring_digest):  # also where another table had it scored again
                found.stale += 1
            elif one.status == "missing" and result.status != "missing":
                found.unrecorded += 1
            elif one.status == "missing":
                found.missing.append(one)
            elif written is None or written.status in ("missing", "failed"):  # the latter tried again by another
                found.unwritten += 1
    return found


def _place(r: ResultRow, part: Part) -> tuple[str | int | None, ...]:
    """Which row of its file answers a question: the trial alone may be that of an entry that had another name."""
    return r.entry, r.config_id if part == "tune" else None, r.cell, r.seed, r.fit_id, r.trial_id


def _is_stale(result: ResultRow, scoring: str) -> bool:
    return result.status == "ok" and result.scoring_digest != scoring
