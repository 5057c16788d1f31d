"""The state of the current plan: what the ledger and the results have of its trials, and what they lack."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from puoc.run.result_rows import collect
from puoc.run.stages import Part, names, result_path, selected_trials
from puoc.store.checked_parquet import BY_SWEEP, has_checksum
from puoc.store.ledger import Ledger
from puoc.store.result_rows import ResultRow, read_results


@dataclass
class PipelineStatus:
    """The state of the current plan, without regard to older results. By default nothing is left to do."""

    failed: list[ResultRow] = field(default_factory=list)
    missing: list[ResultRow] = field(default_factory=list)  # trials that neither the ledger nor the results have
    unwritten: int = 0  # trials that only the ledger has: the table or sweep was planned anew and not run since
    unrecorded: int = 0  # trials that only the results have: the ledger with the record was removed
    adopted: int = 0  # trials with records of earlier code, see ``puoc ledger adopt``
    stale: int = 0  # trials scored by other code than the plan's; the next run scores them again
    not_run: list[str] = field(default_factory=list)  # tables and sweeps without results; TABLE (ENTRIES) not selected
    unchecked: list[Path] = field(default_factory=list)  # results of an earlier version, whose files have no checksum
    unplanned: list[str] = field(default_factory=list)  # sweeps with results that params.yaml does not plan
    failed_unplanned: list[ResultRow] = field(
        default_factory=list
    )  # their failed rows; the same puoc sweep tries again
    missing_unplanned: dict[str, int] = field(default_factory=dict)  # their missing rows, if there are any


def pipeline_status(root: Path) -> PipelineStatus:
    """Compare every planned trial with the ledger and the results."""
    from puoc.analysis.selection.surface import unplanned

    ledger, status = Ledger(root / "ledger"), PipelineStatus()
    for name, (path, _) in unplanned(root).items():
        status.unplanned.append(name)
        rows = read_results(path, BY_SWEEP)
        failed = [replace(row, table=name) for row in rows if row.status == "failed"]
        status.failed_unplanned.extend(row for row in failed if not ledger.is_final(row.fit_id))
        missing = sum(row.status == "missing" for row in rows)
        status.missing_unplanned |= {name: missing} if missing else {}
    parts: tuple[Part, ...] = ("tables", "tune")
    planned = [(part, name) for part in parts for name in names(root, part)]
    for part, name in planned:
        path = result_path(root, part, name)
        plan, trials, unselected = selected_trials(root, part, name)
        if not path.exists() or not trials:
            status.not_run.append(name)
            continue
        status.not_run += [f"{name} ({', '.join(unselected)})"] if unselected else []
        status.unchecked += [] if has_checksum(path) else [path.relative_to(root)]
        results = {_trial_key(r, part): r for r in read_results(path)}
        for recorded in collect(plan, trials, ledger, with_metrics=False):
            written = results.get(_trial_key(recorded, part))
            result = written or recorded
            status.adopted += recorded.adopted_from is not None
            if recorded.status == "failed" or (recorded.status == "missing" and result.status == "failed"):
                status.failed.append(recorded if recorded.status == "failed" else result)  # or a later test set failed
            elif _is_stale(result, recorded.scoring_digest):  # also if the run of another table scored it again
                status.stale += 1
            elif recorded.status == "missing" and result.status != "missing":
                status.unrecorded += 1
            elif recorded.status == "missing":
                status.missing.append(recorded)
            elif written is None or written.status in ("missing", "failed"):  # another run tried a failed one again
                status.unwritten += 1
    return status


def _trial_key(r: ResultRow, part: Part) -> tuple[str | int | None, ...]:
    """Return the key of a row in its file. The trial alone is no key, since an entry may have been renamed."""
    return r.entry, r.config_id if part == "tune" else None, r.cell, r.seed, r.fit_id, r.trial_id


def _is_stale(result: ResultRow, scoring: str) -> bool:
    return result.status == "ok" and result.scoring_digest != scoring
