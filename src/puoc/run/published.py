"""Rows of published records, whatever code computed them. Nothing is computed."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

from puoc.plan.bind import PlannedTrial
from puoc.records import Fit, TrialResult
from puoc.run.result_rows import row, with_record
from puoc.run.stages import Part, names, selected_trials
from puoc.store.ledger import Ledger
from puoc.store.ledger_adopt import id_without_digests
from puoc.store.ledger_records import Entry
from puoc.store.plans import SweepPlan, TablePlan
from puoc.store.result_rows import ResultRow, write_sweep, write_table


class _Records:
    """Records of a ledger by everything of a fit but the digests of code."""

    def __init__(self, ledger: Ledger):
        self.ledger = ledger
        self._ids: dict[str, list[str]] = defaultdict(list)
        self._seeds: dict[str, set[int]] = defaultdict(set)  # by method: most planned fits are seen here to have none
        for fit_id in ledger.ids():
            entry = ledger.get(fit_id) if ledger.is_final(fit_id) else None
            if entry is not None and entry.result.status == "ok":
                fit = entry.result.fit
                self._ids[id_without_digests(fit.canonical())].append(fit_id)
                self._seeds[fit.method].add(fit.seed)

    def of(self, fit: Fit) -> Entry | None:
        """Return the record of a fit, or else one by other code of a fit that is equal in everything else."""
        fit_id = fit.id
        if self.ledger.is_final(fit_id):
            return self.ledger.get(fit_id)
        if fit.seed not in self._seeds.get(fit.method, ()):
            return None
        ids = self._ids.get(id_without_digests(fit.canonical()), [])
        return self.ledger.get(sorted(ids)[0]) if ids else None


def with_equal_fits(ledger: Ledger, fits: dict[str, Fit]) -> set[str]:
    """Return ids of planned fits with a record, and of records by other code for planned fits without one.

    Raises
    ------
    ValueError : a record is damaged.
    """
    records = _Records(ledger)
    entries = (records.of(fit) for fit in fits.values())
    return {entry.result.fit.id for entry in entries if entry is not None}


def write_published_rows(root: Path) -> Counter[str]:
    """Write the rows of every planned table and sweep from the records of the ledger, whatever code computed them.

    Each row with a result gets the column ``computed_by`` and the digests of the code that computed it.

    Returns
    -------
    Numbers of rows by status.

    Raises
    ------
    ValueError : a record or a file of the plan is damaged.
    """
    ledger = Ledger(root / "ledger")
    records, counts = _Records(ledger), Counter[str]()
    parts: tuple[Part, ...] = ("tables", "tune")
    for part in parts:
        for name in names(root, part):
            plan, trials, _ = selected_trials(root, part, name)
            rows = [_row(plan, planned, records.of(planned.trial.fit), ledger) for planned in trials]
            counts.update(row.status for row in rows)
            if part == "tables":
                write_table(root / "results" / "tables", name, rows)
            else:
                write_sweep(root / "results" / "tune", name, rows)
    return counts


def _row(plan: TablePlan | SweepPlan, planned: PlannedTrial, entry: Entry | None, ledger: Ledger) -> ResultRow:
    found = row(plan, planned, None, ledger)
    if entry is None:
        return replace(found, status="skipped", reason=planned.skip) if planned.skip else found
    result = entry.result
    scored = _scored(entry, planned, plan.scoring_digest)
    found = with_record(found, entry, scored, ledger)
    if found.status == "missing":
        return found
    encoder, prior = result.fit.encoder_fit(), result.fit.prior_fit()
    version, commit = result.versions.get("puoc", "unknown"), str(result.git.get("commit", ""))[:8]
    return replace(
        found,
        computed_by=f"puoc {version}" + (f", commit {commit}" if commit else ""),
        code_digest=result.fit.code_digest,
        draw_digest=result.fit.draw_digest,
        encoder_fit_id=encoder.id if encoder else None,
        prior_fit_id=prior.id if prior else None,
        record_fit_id=result.fit.id if result.fit.id != found.fit_id else None,
        record_trial_id=scored.trial_id if scored is not None and scored.trial_id != found.trial_id else None,
    )


def _scored(entry: Entry, planned: PlannedTrial, scoring: str) -> TrialResult | None:
    """Return the score of a record on the test set of a trial: by the code of the plan, else by the code of another."""
    trials = [*entry.trials.values(), *(entry.rescored[key] for key in sorted(entry.rescored))]
    scored = [trial for trial in trials if trial.test == planned.trial.test]
    return next((trial for trial in scored if trial.scoring_digest == scoring), scored[-1] if scored else None)
