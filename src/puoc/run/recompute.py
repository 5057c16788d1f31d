"""Verification of a ledger: some fits of the plan are computed again and compared with their records bit for bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from puoc.analysis.statistics.roc import decode
from puoc.digests import scoring_digest
from puoc.records import Fit, TestSet, Trial
from puoc.run.adopt_sample import Pair, planned_fits, with_companions
from puoc.run.runner import Progress, Runner
from puoc.store.ledger import Ledger
from puoc.store.ledger_adopt import compare_records
from puoc.store.ledger_records import Entry
from puoc.store.plan_files import read_compute

_AUCS = ("auc", "auc_train_pool", "auc_val_pu")


class AUCDifference(NamedTuple):
    """The AUC of a fit that differs most between its record and the new computation."""

    name: str
    test: TestSet
    recorded: float | None
    computed: float | None

    @property
    def size(self) -> float:
        """Return the absolute difference; infinity if one of the two has no AUC."""
        if self.recorded is None or self.computed is None:
            return float("inf")
        return abs(self.recorded - self.computed)

    def __str__(self) -> str:
        classes = " against ".join(" ".join(map(str, part)) or "none" for part in (self.test.pos, self.test.neg))
        return f"{self.name} of classes {classes}: {self.recorded} recorded, {self.computed} computed"


@dataclass(frozen=True)
class Recomputed:
    """A fit that was computed again, and how the result compares with its record."""

    fit: Fit
    imported: str | None  # title of the published results that the record comes from
    machines: tuple[str, str]  # that of the record, and this one
    compared: tuple[str, ...] = ()  # kinds of parts
    auc: AUCDifference | None = None  # None if all AUCs are equal
    others: tuple[str, ...] = ()  # differences other than in AUCs
    failed: str | None = None  # reason, if the fit cannot be computed any more
    lanes_lack: int = 0  # lanes of the record's batch under vmap that the plan no longer has

    @property
    def is_equal(self) -> bool:
        """Return True if every compared bit is equal."""
        return self.failed is None and self.auc is None and not self.others

    def exceeds(self, tolerance: float) -> bool:
        """Return True if an AUC differs by more than this; with the tolerance 0 if any bit differs."""
        if self.failed is not None:
            return True
        return not self.is_equal if tolerance == 0 else self.auc is not None and self.auc.size > tolerance


def recompute(
    root: Path,
    n_fits: int,
    on_progress: Callable[[Progress], None] = lambda _: None,
    only: Collection[str] | None = None,
) -> tuple[list[Recomputed], int]:
    """Compute some fits of the plan again, in a temporary ledger, and compare them with their records.

    Each method has a fit before another has a second one. Of each method, imported records come first, then those with
    the least recorded time. Fits that a fit needs are computed again as well.

    Parameters
    ----------
    n_fits : number of fits to compare; all if the ledger has fewer.
    only : ids of the fits that may be chosen; None for all.

    Returns
    -------
    The comparisons, and the number of fits of the plan that could be compared.

    Raises
    ------
    ValueError : there is no record to compare, the prepared data are missing, or a record is damaged.
    OSError : the temporary ledger below work/ cannot be written.
    """
    ledger, settings = Ledger(root / "ledger"), read_compute(root)
    entries = _recorded(ledger, planned_fits(root)[0])
    if not entries:
        raise ValueError(f"{ledger.root}: no fit of the plan has a record that can be compared")
    pairs = [Pair(entry.result.fit, entry.result) for entry in entries.values()]
    chosen = [pair for pair in _stratified(pairs, entries) if only is None or pair.new.id in only]
    if not chosen:
        raise ValueError(f"{ledger.root}: none of these {len(only or ())} fits has a record that can be compared")
    sample = chosen[:n_fits]
    with TemporaryDirectory(dir=root / "work", prefix="recompute-") as folder:
        fresh = Ledger(folder)
        wanted, batches, incomplete = with_companions(fresh, pairs, sample)
        runner = Runner(
            root,
            settings.model_copy(update={"models": "all"}),
            on_progress=on_progress,
            ledger=fresh.root,
            batches=batches,
        )
        tests = {fit_id: {trial.trial_id: trial.test for trial in entries[fit_id].trials.values()} for fit_id in wanted}
        runner.compute_fits({fit_id: pair.new for fit_id, pair in wanted.items()}, tests, scoring_digest())
        lanes = Counter(pair.batch for pair in pairs)
        done = []
        for pair in sample:
            lacking = (pair.old.n_lanes or 0) - lanes[pair.batch] if pair.new.id in incomplete else 0
            done.append(_compare(ledger, entries[pair.new.id], runner, lacking))
    return done, len(entries)


def _recorded(ledger: Ledger, fits: dict[str, Fit]) -> dict[str, Entry]:
    """Return the successful records of fits that can be compared, with the scores by the present code if there are any.

    An imported record of an encoder has no model, so nothing in it can be compared.
    """
    scoring, entries = scoring_digest(), dict[str, Entry]()
    for fit_id in fits:
        entry = ledger.get(fit_id) if ledger.is_final(fit_id) else None
        if entry is not None and entry.result.status == "ok":
            trials = {key: entry.scored(key, scoring) or trial for key, trial in entry.trials.items()}
            scored = any(trial.scoring_digest == scoring for trial in trials.values())
            if scored or entry.result.alpha_hat is not None or entry.result.curve or ledger.model_path(entry.result):
                entries[fit_id] = entry._replace(trials=trials)
    return entries


def _stratified(pairs: Iterable[Pair], entries: dict[str, Entry]) -> list[Pair]:
    """Return the fits in the order in which they are chosen."""

    def cost(pair: Pair) -> tuple[bool, float, str]:
        return not _origin(entries[pair.new.id]), pair.old.fit_seconds or 0.0, pair.new.id

    rounds, ordered = Counter[str](), []
    for pair in sorted(pairs, key=cost):
        ordered.append((rounds[pair.new.method], cost(pair), pair))
        rounds[pair.new.method] += 1
    return [pair for *_, pair in sorted(ordered, key=lambda item: item[:2])]


def _origin(entry: Entry) -> str | None:
    return entry.result.imported or next((trial.imported for trial in entry.trials.values() if trial.imported), None)


def _compare(ledger: Ledger, old: Entry, runner: Runner, lanes_lack: int) -> Recomputed:
    fit = old.result.fit
    new = runner.ledger.get(fit.id)
    machine = (new.result.machine if new else None) or "unknown"
    machines = (_machine(old), f"{machine}, {runner.settings.device}")
    if new is None or new.result.status != "ok":
        reason = (new.result.reason if new else None) or runner.reasons.get(fit.id) or "no reason is known"
        return Recomputed(fit, _origin(old), machines, failed=reason, lanes_lack=lanes_lack)
    comparison = compare_records((ledger, old), (runner.ledger, new))
    auc, rocs, kinds = None, list[str](), [*comparison.compared]
    for trial in old.trials.values():
        other = new.scored(Trial(fit=fit, test=trial.test).id)
        if other is None or other.scoring_digest != trial.scoring_digest:
            continue
        for name in _AUCS:
            before, now = getattr(trial, name), getattr(other, name)
            if name == "auc_val_pu":
                before, now = old.auc_val_pu(trial), new.auc_val_pu(other)
            difference = AUCDifference(name, trial.test, before, now)
            if before != now and (auc is None or difference.size > auc.size):
                auc = difference
        if trial.roc is not None and other.roc is not None:
            kinds.append("ROC curves")
            if trial.roc != other.roc:
                apart = float(abs(decode(trial.roc) - decode(other.roc)).max())
                rocs.append(f"ROC curve of trial {trial.trial_id}: largest absolute difference {apart:.3g}")
    arrays = [difference for difference in comparison.differences if not difference.array.startswith(_AUCS)]
    texts = [str(difference).partition(": ")[2] for difference in arrays]
    return Recomputed(
        fit, _origin(old), machines, tuple(dict.fromkeys(kinds)), auc, (*texts, *rocs), lanes_lack=lanes_lack
    )


def _machine(entry: Entry) -> str:
    return f"{entry.result.machine or 'unknown'}, {entry.result.device or 'unknown device'}"
