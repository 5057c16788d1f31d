"""Groups of fits with the same change of digests, and the sample of each group that is compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from puoc.records import Fit, FitResult, canonical_json
from puoc.run.executors.batches import Batch
from puoc.run.stages import Part, names, selected_trials
from puoc.store.ledger import Ledger
from puoc.store.ledger_adopt import Comparison, Digests, digests_of, equal_but_digests, id_without_digests

_MIN_SAMPLE = 2

#: Session, number of lanes, seconds and lane key, which the lanes of one batch share.
BatchKey = tuple[str | None, int | None, float | None, str]


class Pair(NamedTuple):
    """A planned fit, and the record of a fit that differs from it only in digests."""

    new: Fit
    old: FitResult

    @property
    def batch(self) -> BatchKey:
        """Return a key that is equal for records that were lanes of one batch."""
        return self.old.session, self.old.n_lanes, self.old.fit_seconds, self.old.fit.lane_key

    @property
    def is_vmap(self) -> bool:
        """Return True if the last bits of the result depend on the other lanes of its batch."""
        return self.old.lane_map == "vmap"


@dataclass
class Group:
    """The fits of one method on one dataset with the same change of digests, and the outcome of their comparison."""

    learner: str
    dataset: str
    device: str
    old: Digests
    new: Digests
    pairs: list[Pair]  # planned fits without a record
    sample: list[Pair] = field(default_factory=list)
    comparisons: dict[str, Comparison] = field(default_factory=dict)  # by the old id
    refused: str | None = None
    adopted: int = 0

    @property
    def changes(self) -> str:
        """Return the digests that changed, as ``code 12345678 -> 9abcdef0``."""
        changed = {name: (self.old.get(name, "none"), new) for name, new in self.new.items()}
        return ", ".join(f"{name} {old[:8]} -> {new[:8]}" for name, (old, new) in changed.items() if old != new)

    @property
    def compared(self) -> list[str]:
        """Return the kinds of parts that were compared."""
        return sorted({kind for comparison in self.comparisons.values() for kind in comparison.compared})


def planned_fits(root: Path) -> tuple[dict[str, Fit], list[str]]:
    """Return the planned fits and the fits that they need, by id, and the entries without a configuration."""
    fits, not_selected = dict[str, Fit](), list[str]()

    def add(fit: Fit) -> None:
        if fit.id not in fits:
            fits[fit.id] = fit
            for need in fit.needs():
                add(need)

    parts: tuple[Part, ...] = ("tables", "tune")
    for part in parts:
        for name in names(root, part):
            _, trials, unknown = selected_trials(root, part, name)
            not_selected += [f"{name} ({', '.join(unknown)})"] if unknown else []
            for planned in trials:
                if planned.skip is None:
                    add(planned.trial.fit)
    return fits, not_selected


def pairs_of(ledger: Ledger, fits: dict[str, Fit]) -> list[Pair]:
    """Return each planned fit with each record of other digests; empty if the ledger has all fits."""
    if all(ledger.is_final(fit_id) for fit_id in fits):
        return []
    bare_ids = {fit_id: id_without_digests(fit.canonical()) for fit_id, fit in fits.items()}
    records = equal_but_digests(ledger, set(bare_ids.values()))
    results = {fit_id: entry.result for ids in records.values() for fit_id in ids if (entry := ledger.get(fit_id))}
    return [
        Pair(fit, results[old])
        for fit_id, fit in fits.items()
        for old in records.get(bare_ids[fit_id], ())
        if old != fit_id
    ]


def groups_of(ledger: Ledger, pairs: Iterable[Pair]) -> list[Group]:
    """Group the pairs whose planned fit has no record by method, dataset, device and digests."""
    groups: dict[str, Group] = {}
    for pair in pairs:
        if ledger.is_final(pair.new.id):
            continue
        old, new = (digests_of(fit.canonical()) for fit in (pair.old.fit, pair.new))
        values = (pair.new.method, pair.new.sample.dataset, pair.old.device or "cpu", old, new)
        groups.setdefault(canonical_json(values), Group(*values, pairs=[])).pairs.append(pair)
    return sorted(groups.values(), key=lambda group: (group.learner, group.dataset, group.changes))


def sample_of(pairs: list[Pair], every: bool) -> list[Pair]:
    """Return the cheapest fit of each variant of the settings, and more of the cheapest fits up to two in all."""
    if every:
        return pairs
    cheapest = sorted(pairs, key=lambda pair: (pair.old.fit_seconds or 0.0, pair.new.id))
    chosen: dict[str, Pair] = {}
    for pair in cheapest:
        chosen.setdefault(_variant(pair), pair)
    ids = {pair.new.id for pair in chosen.values()}
    rest = [pair for pair in cheapest if pair.new.id not in ids]
    return [*chosen.values(), *rest[: max(0, _MIN_SAMPLE - len(ids))]]


def _variant(pair: Pair) -> str:
    """Return a key of the path through the code: settings without numbers except whether they are zero, and the map."""
    fit = pair.new.canonical()
    del fit["seed"], fit["sample"]
    parts = sorted(pair.new.sample.canonical())
    return canonical_json([_without_numbers(fit), parts, bool(pair.new.sample.holdout), pair.old.lane_map])


def _without_numbers(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _without_numbers(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_numbers(part) for part in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [type(value).__name__, value == 0]
    return value


def with_companions(
    ledger: Ledger, pairs: list[Pair], sample: Iterable[Pair]
) -> tuple[dict[str, Pair], dict[str, Batch], set[str]]:
    """Return the fits that must be computed for a sample, by new id in the order of the plan.

    Returns
    -------
    The sample with the fits that they need and the other lanes of their batches; the batch of each fit; and the ids of
    fits whose batch is no longer complete in the plan.
    """
    by_id: dict[str, Pair] = {}
    by_batch: dict[BatchKey, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_id.setdefault(pair.new.id, pair)
        by_batch[pair.batch].append(pair)
    chosen, batches, incomplete = dict[str, Pair](), dict[str, Batch](), set[str]()
    queue = [*sample]
    while queue:
        pair = queue.pop()
        if pair.new.id in chosen:
            continue
        lanes = by_batch[pair.batch] if pair.is_vmap else [pair]
        lanes = list({lane.new.id: lane for lane in lanes if lane.new.id not in chosen}.values())
        for lane in lanes:
            chosen[lane.new.id] = lane
            batches[lane.new.id] = Batch(lanes[0].new.id, "vmap" if pair.is_vmap else "loop")
            if pair.is_vmap and len(lanes) != lane.old.n_lanes:
                incomplete.add(lane.new.id)
            needs = [by_id[need.id] for need in lane.new.needs() if need.id in by_id]
            queue += [need for need in needs if not ledger.is_final(need.new.id)]
    return {fit_id: chosen[fit_id] for fit_id in by_id if fit_id in chosen}, batches, incomplete
