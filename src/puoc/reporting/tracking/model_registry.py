"""The model registry: the entry with the highest mean test AUC has the alias ``best``, per scenario and dataset.

If several tables share a scenario and a dataset, each has its own registered model. The choice uses test labels, as in
the literature; the tag ``chosen_by`` of the registered version states this. A model that contains training rows is not
registered, because passing it on would pass on data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from puoc.reporting.tracking import project_trials
from puoc.reporting.tracking.address import TrackingError
from puoc.reporting.tracking.store import Store, StoreBusy
from puoc.reporting.tracking.stored_run import StoredRun
from puoc.reporting.tracking.sync import WAIT_TRACK
from puoc.reporting.tracking.writer import Writer
from puoc.store.result_rows import ResultRow

ALIAS = "best"


class Registered(NamedTuple):
    """Outcome of the registration for a scenario on a dataset, or for one of several tables of both."""

    scenario: str
    dataset: str
    entry: str | None
    version: str | None  # None: nothing was registered; ``note`` has the reason
    note: str
    table: str | None = None  # None: there is only one

    @property
    def name(self) -> str:
        """Return the name of the registered model.

        AUCs on different datasets, classes or sizes cannot be compared, since the easiest would always win. So each
        dataset has its own name, and each table if there are several.
        """
        return ".".join(filter(None, (self.scenario, self.dataset, self.table)))


def register_best(root: Path | str, planned_trials: Mapping[str, frozenset[str]] | None = None) -> list[Registered]:
    """Register the best configuration of every planned scenario and dataset; registered versions stay.

    The mean is taken over the cells' means of a table. Only entries whose trials all succeeded are compared. The model
    is that of the trial whose AUC is nearest to the mean, so it is a typical one.

    Parameters
    ----------
    planned_trials : ids of the planned trials by table. Rows of other trials belong to an earlier plan and are ignored.
        All rows of a table that is not in the mapping count; without the mapping, all rows count.

    Raises
    ------
    TrackingError : the store cannot be used.
    """
    store = Store(root)
    rows, _ = project_trials.read_results_of_project(store.root)
    tables = [row for row in rows if not project_trials.is_sweep(row) and _is_planned(row, planned_trials or {})]
    try:
        with store.lock(WAIT_TRACK), store.database_errors():
            store.open()
            writer = Writer(store)
            writer.load()
            groups: dict[tuple[str, str], dict[str, list[ResultRow]]] = defaultdict(lambda: defaultdict(list))
            for row in tables:
                groups[row.scenario, row.dataset][row.table].append(row)
            outcomes = [
                _register(
                    writer, Registered(*key, None, None, "", table if len(by_table) > 1 else None), by_table[table]
                )
                for key, by_table in sorted(groups.items())
                for table in sorted(by_table)
            ]
    except StoreBusy as busy:
        raise TrackingError(f"{busy}; wait until it ends, or stop it, and try again") from busy
    return outcomes


def _is_planned(row: ResultRow, planned_trials: Mapping[str, frozenset[str]]) -> bool:
    return row.table not in planned_trials or row.trial_id in planned_trials[row.table]


def _register(writer: Writer, place: Registered, rows: list[ResultRow]) -> Registered:
    from mlflow.exceptions import MlflowException

    scenario, dataset = place.scenario, place.dataset
    nothing = place._replace(note="no entry has come out well in all of its trials")
    means = _means(rows)
    if not means and all(row.status != "ok" or row.auc is None for row in rows):
        untested = any(row.status == "ok" for row in rows)
        return nothing._replace(note="no labelled test rows to choose by") if untested else nothing
    if not means:
        return nothing
    (table, entry), mean = max(means.items(), key=lambda item: (item[1], item[0]))
    aucs = [(r.auc, r) for r in rows if (r.table, r.entry) == (table, entry) and r.auc is not None]
    _, row = min(aucs, key=lambda item: (abs(item[0] - mean), item[1].cell_index, item[1].seed))
    best, client = nothing._replace(entry=entry), writer.store.client
    run = writer.runs["trial"].get((scenario, row.trial_id))
    if run is None:
        return best._replace(note=f"{entry}: no run of trial {row.trial_id}; run `puoc track`")
    if "model_uri" not in run.tags:
        reason = "the ledger keeps no model of it (compute: {models: all} keeps them, for fits to come)"
        return best._replace(note=f"{entry}, trial {row.trial_id}: {reason}")
    model_id = run.tags["model_uri"].removeprefix("models:/")
    try:
        model = client.get_logged_model(model_id)
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        writer.forget_model(run.tags["model_uri"])
        gone = f"the model of trial {row.trial_id} was deleted from MLflow's store"
        return best._replace(note=f"{entry}: {gone}; `puoc track` logs it again")
    if model.tags["contains_training_rows"] == "true":
        return best._replace(note=f"{entry} is best but its models contain training rows: not registered")
    tags = {"chosen_by": "test_auc_mean", "test_auc_mean": repr(mean), "table": table, "entry": entry}
    tags |= {"scenario": scenario, "dataset": dataset, "cell": row.cell, "seed": str(row.seed)}
    version = _version(writer.store, best.name, model_id, run, tags | {"trial_id": row.trial_id})
    return best._replace(version=version, note=f"mean test AUC {mean:.4f}")


def _means(rows: list[ResultRow]) -> dict[tuple[str, str], float]:
    """Return the mean over cells of the mean test AUC, for the entries that have all trials.

    An entry without rows in some cells is left out, since the others may have harder cells.
    """
    aucs: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    places_of_table: dict[str, set[tuple[str, int]]] = defaultdict(set)
    places_of_entry: dict[tuple[str, str], set[tuple[str, int]]] = defaultdict(set)
    for row in rows:
        place = (row.cell, row.seed)
        places_of_table[row.table].add(place)
        places_of_entry[row.table, row.entry].add(place)
    incomplete = {key for key, places in places_of_entry.items() if places != places_of_table[key[0]]}
    for row in rows:
        key = (row.table, row.entry)
        if row.status != "ok" or row.auc is None:
            incomplete.add(key)
        elif row.labels != "oracle":
            aucs[key][row.cell].append(row.auc)
    return {key: fmean(map(fmean, cells.values())) for key, cells in aucs.items() if key not in incomplete}


def _version(store: Store, name: str, model_id: str, run: StoredRun, tags: dict[str, str]) -> str:
    from mlflow.exceptions import MlflowException

    client = store.client
    try:
        current = client.get_model_version_by_alias(name, ALIAS)
    except MlflowException:  # no such model or alias yet; mlflow raises an error for both
        current = None
    if current is not None and current.tags.get("model_id") == model_id:
        return str(current.version)
    if not client.search_registered_models(f"name = '{name}'", max_results=1):
        client.create_registered_model(name)
    # without a server, mlflow resolves models:/ in the store of its global settings, which may be another one
    source = f"models:/{model_id}" if store.is_server else client.get_logged_model(model_id).artifact_location
    version = client.create_model_version(
        name, source, run_id=run.run_id, tags={**tags, "model_id": model_id}, model_id=model_id
    )
    client.set_registered_model_alias(name, ALIAS, version.version)
    return str(version.version)
