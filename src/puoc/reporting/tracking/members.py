"""The trials of each cell, from the rows of this run and from runs that the store has of others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from puoc.reporting.tracking.places import unpack_places
from puoc.reporting.tracking.project_trials import Key, Trial
from puoc.reporting.tracking.run_specs import Member, sweep_key
from puoc.reporting.tracking.stored_run import StoredRun
from puoc.store.result_rows import ResultRow


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


def sweeps_of(describing: Mapping[Key, ResultRow]) -> dict[Key, dict[Key, ResultRow]]:
    """Return the rows that describe cells of sweeps, by the key of the sweep's run."""
    rows: dict[Key, dict[Key, ResultRow]] = defaultdict(dict)
    for key, row in describing.items():
        if (sweep := sweep_key(row)) is not None:
            rows[sweep][key] = row
    return rows


def by_configuration(
    sweep: Key,
    rows: Mapping[Key, ResultRow],
    members: Mapping[Key, list[Member]],
    stored_cells: Mapping[Key, StoredRun],
) -> dict[str, list[Member]]:
    """Return the trials of each configuration of a sweep, from its cells that are described and that the store has."""
    known = {key: run for key, run in stored_cells.items() if (key[0], run.tags.get("table")) == sweep}
    by_config: dict[str, list[Member]] = defaultdict(list)
    for key in sorted(known.keys() | rows.keys()):
        config = rows[key].config_id if key in rows else known[key].tags.get("config_id")
        by_config[config or key[1]] += members.get(key, [])
    return by_config


def _order(member: Member) -> tuple[str, float, float]:
    return member.status, member.auc or 0.0, member.val or 0.0
