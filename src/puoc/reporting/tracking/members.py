"""The trials of each cell, from the rows of this run and from runs that the store has of others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from puoc.reporting.tracking.places import unpack_places
from puoc.reporting.tracking.run_specs import Key, Member, Trial
from puoc.reporting.tracking.stored_run import StoredRun


def members_of(runs: Mapping[Key, StoredRun], trials: Mapping[Key, Trial]) -> dict[Key, list[Member]]:
    """Return the members of each cell, in an order that does not depend on theirs."""
    members: dict[Key, list[Member]] = defaultdict(list)
    for key, stored in runs.items():
        if key not in trials:
            for cell in unpack_places(stored.tags):
                known = (stored.metrics.get(name) for name in ("auc", "auc_val_pu"))
                members[key[0], cell].append(Member(stored.tags.get("status", ""), *known))
    for key, trial in trials.items():
        for cell in trial.places:
            members[key[0], cell].append(Member(trial.row.status, trial.row.auc, trial.row.auc_val_pu))
    return {key: sorted(value, key=_order) for key, value in members.items()}


def _order(member: Member) -> tuple[str, float, float]:
    return member.status, member.auc or 0.0, member.val or 0.0
