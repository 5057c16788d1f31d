"""Adoption of records of earlier code for the fits of the plan: a sample is computed again and compared bit for bit.

A group consists of the fits of one method on one dataset with the same change of digests. Its sample has a fit for
every variant of the settings of the method, without regard to their numbers, and at least two fits. If one bit of the
sample differs, no fit of the group is adopted.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from puoc.digests import scoring_digest
from puoc.records import Fit, JsonObject, TestSet, Trial
from puoc.run.adopt_sample import Group, Pair, groups_of, pairs_of, planned_fits, sample_of, with_companions
from puoc.run.runner import Progress, Runner
from puoc.store.atomic import write_json
from puoc.store.ledger import Ledger
from puoc.store.ledger_adopt import adopt_record, compare_records, copy_fit
from puoc.store.plan_files import read_compute
from puoc.store.provenance import git_state, versions

#: Parts of a record that later steps use. At least one must be compared; the objective by epoch is not sufficient.
_LEARNED = frozenset(("weights", "scores", "alpha_hat"))
_MAX_LISTED = 10  # compared fits in each adopted record; the log lists all


@dataclass
class Adoption:
    """The result of ``adopt``."""

    groups: list[Group]
    not_selected: list[str]  # tables, or TABLE (ENTRIES), without selected configurations
    n_computed: int = 0  # computed fits: the sample, the fits that it needs and the other fits of its batches
    expected_seconds: float = 0.0  # of these fits with one worker, from the records
    seconds: float = 0.0
    log: Path | None = None


def adopt(
    root: Path,
    every: bool = False,
    dry_run: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Adoption:
    """Compare a sample of earlier records with the present code and adopt the groups that are bit-equal.

    Parameters
    ----------
    every : compare all fits.
    dry_run : only choose the sample; nothing is computed or written.

    Raises
    ------
    ValueError : the prepared data are missing, or a record is damaged. No record is adopted then.
    OSError : the ledger cannot be written.
    """
    started, ledger, settings = time.perf_counter(), Ledger(root / "ledger"), read_compute(root)
    fits, not_selected = planned_fits(root)
    pairs = pairs_of(ledger, fits)
    adoption = Adoption(groups_of(ledger, pairs), not_selected)
    for group in adoption.groups:
        if group.device == settings.device:
            group.sample = sample_of(group.pairs, every)
        else:
            group.refused = f"computed on {group.device}; compute.device in params.yaml is {settings.device}"
    sample = [pair for group in adoption.groups for pair in group.sample]
    wanted, batches, incomplete = with_companions(ledger, pairs, sample)
    adoption.n_computed = len(wanted)
    adoption.expected_seconds = sum(pair.old.fit_seconds or 0.0 for pair in wanted.values())
    if adoption.groups and not dry_run:
        with TemporaryDirectory(dir=root / "work", prefix="adopt-") as folder:
            runner = Runner(
                *(root, settings.model_copy(update={"models": "all"})),
                on_progress=on_progress,
                ledger=Path(folder),
                batches=batches,
            )
            _compute(runner, ledger, wanted)
            for group in adoption.groups:
                _compare(group, ledger, runner, incomplete)
        _adopt_groups(root, ledger, adoption)
    adoption.seconds = time.perf_counter() - started
    return adoption


# comparison


def _compute(runner: Runner, ledger: Ledger, wanted: dict[str, Pair]) -> None:
    """Compute fits in the ledger of the runner. Needed fits that no code changed are copied from ``ledger``."""
    tests: dict[str, dict[str, TestSet]] = {}
    for fit_id, pair in wanted.items():
        entry = ledger.get(pair.old.fit.id)
        known = [trial.test for trial in entry.trials.values()] if entry else []
        tests[fit_id] = {Trial(fit=pair.new, test=test).id: test for test in known}
        for need in pair.new.needs():
            if need.id not in wanted and ledger.is_final(need.id):
                for part in (need, *need.needs()):
                    copy_fit(ledger, part.id, runner.ledger)
    runner.compute_fits({fit_id: pair.new for fit_id, pair in wanted.items()}, tests, scoring_digest())


def _compare(group: Group, ledger: Ledger, runner: Runner, incomplete: set[str]) -> None:
    """Compare the sample of a group, and set the reason if the group is refused."""
    for pair in group.sample:
        old_id, new_id = pair.old.fit.id, pair.new.id
        old, new = ledger.get(old_id), runner.ledger.get(new_id)
        if old is None or new is None or new.result.status != "ok":
            why = new.result.reason if new else runner.reasons.get(new_id)
            group.refused = f"fit {old_id} cannot be computed any more: {why}"
            return
        comparison = group.comparisons[old_id] = compare_records((ledger, old), (runner.ledger, new))
        if not _LEARNED & set(comparison.compared):
            group.refused = f"fit {old_id} cannot be compared: neither its model nor scores are in the ledger"
        elif comparison.differences and new_id in incomplete:
            group.refused = (
                f"fit {old_id} is not comparable bit for bit: it was trained with {pair.old.n_lanes} lanes under vmap, "
                "which the plan no longer has"
            )
        elif comparison.differences:
            group.refused = "its numbers changed"
            return


# adoption


def _adopt_groups(root: Path, ledger: Ledger, adoption: Adoption) -> None:
    now = datetime.now(UTC)
    adoption.log = ledger.root / "adopted" / f"{now:%Y%m%dT%H%M%S}-{os.getpid()}.json"
    about: JsonObject = {
        "when": f"{now:%Y-%m-%dT%H:%M:%SZ}",
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {**versions()},
        "git": git_state(root),
    }
    accepted = [group for group in adoption.groups if group.refused is None]
    blocked = {pair.new.id for group in adoption.groups if group.refused for pair in group.pairs}
    blocked -= {pair.new.id for group in accepted for pair in group.pairs}
    write_json(adoption.log, {**about, "groups": [_logged(group) for group in adoption.groups]})
    marks = {id(group): _mark(group, adoption.log) | about for group in accepted}
    # fits that others need come first, so that an interruption leaves no fit without the fits that it needs
    for group, pair in sorted(_members(accepted), key=lambda member: _depth(member[1].new)):
        if not _needed(pair.new) & blocked:
            mark = marks[id(group)]
            group.adopted += adopt_record(ledger, pair.old.fit.id, pair.new, mark)


def _members(groups: Iterable[Group]) -> Iterator[tuple[Group, Pair]]:
    for group in groups:
        for pair in group.pairs:
            yield group, pair


def _depth(fit: Fit) -> int:
    return max((1 + _depth(need) for need in fit.needs()), default=0)


def _needed(fit: Fit) -> set[str]:
    return {need.id for need in fit.needs()}.union(*(_needed(need) for need in fit.needs()))


def _mark(group: Group, log: Path) -> JsonObject:
    """Return the mark of each adopted record of a group: the comparison that it relies on."""
    listed = list(group.comparisons)[:_MAX_LISTED]
    return {
        "compared": [*listed],
        "n_compared": len(group.comparisons),
        "kinds": [*group.compared],
        "log": f"{log.parent.name}/{log.name}",
    }


def _logged(group: Group) -> dict[str, object]:
    comparisons = {
        old_id: {"kinds": compared.compared, "differences": [item._asdict() for item in compared.differences]}
        for old_id, compared in group.comparisons.items()
    }
    return {
        "learner": group.learner,
        "dataset": group.dataset,
        "device": group.device,
        "old": group.old,
        "new": group.new,
        "refused": group.refused,
        "compared": comparisons,
        "fits": {pair.old.fit.id: pair.new.id for pair in group.pairs},
    }
