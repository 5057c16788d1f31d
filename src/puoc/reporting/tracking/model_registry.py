"""The registry: the configuration with the highest mean test AUC under the alias ``best``, per scenario and dataset.

Where several tables share both, each has its own. That choice looks at test labels, as the literature does; the
registered version says so (``chosen_by``). A model that contains training rows is not registered: to hand it on is to
hand on data.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from puoc.reporting.tracking import wanted_runs as asked
from puoc.reporting.tracking.address import TrackingError
from puoc.reporting.tracking.store import Busy, Store
from puoc.reporting.tracking.sync import WAIT_TRACK
from puoc.reporting.tracking.writer import Seen, Writer
from puoc.store.result_rows import ResultRow

ALIAS = "best"


class Registered(NamedTuple):
    """What became of a scenario on a dataset, or of one of several tables of both."""

    scenario: str
    dataset: str
    entry: str | None
    version: str | None  # absent: nothing was registered, for the reason in the note
    note: str
    table: str | None = None  # absent: the only one

    @property
    def name(self) -> str:
        """Of the registered model. Numbers of different data do not compare, so each dataset has its own.

        Neither do those of two tables that ask other classes or sizes of one dataset: the easier would always win.
        """
        return ".".join(filter(None, (self.scenario, self.dataset, self.table)))


def register_best(root: Path | str, now: Mapping[str, frozenset[str]] | None = None) -> list[Registered]:
    """Register the best configuration of every planned scenario and dataset; what is registered already is left alone.

    The mean goes over the cells' means of a table, and only an entry whose every trial came out well takes part. Its
    model is the one of the trial whose AUC is nearest to that mean: typical, not the luckiest.

    Parameters
    ----------
    now : of each table the ids of the trials that the plan asks. Rows of others answer an earlier question and have no
        say. Of a table that it lacks, and without it, all rows have.

    Raises
    ------
    TrackingError : the store cannot be used.
    """
    store = Store(root)
    rows, _ = asked.read_asked(store.root)
    tables = [row for row in rows if not asked.is_sweep(row) and _is_asked(row, now or {})]
    try:
        with store.lock(WAIT_TRACK), store.refusals():
            store.open()
            writer = Writer(store)
            writer.load()
            groups: dict[tuple[str, str], dict[str, list[ResultRow]]] = defaultdict(lambda: defaultdict(list))
            for row in tables:
                groups[row.scenario, row.dataset][row.table].append(row)
            done = [
                _register(
                    writer, Registered(*key, None, None, "", table if len(by_table) > 1 else None), by_table[table]
                )
                for key, by_table in sorted(groups.items())
                for table in sorted(by_table)
            ]
    except Busy as busy:
        raise TrackingError(f"{busy}; wait for it, or end it, and try again") from busy
    for one in done:
        if one.version is None:
            warnings.warn(f"{one.name}: {one.note}", stacklevel=2)
    return done


def _is_asked(row: ResultRow, now: Mapping[str, frozenset[str]]) -> bool:
    return row.table not in now or row.trial_id in now[row.table]


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
        why = "the ledger keeps no model of it (compute: {models: all} keeps them, for fits to come)"
        return best._replace(note=f"{entry}, trial {row.trial_id}: {why}")
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
    """Mean over cells of the mean test AUC, of the entries that answered everything.

    An entry of which some cells answer an earlier question has holes there: others would be judged on harder cells.
    """
    aucs: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    asked_of: dict[str, set[tuple[str, int]]] = defaultdict(set)
    has: dict[tuple[str, str], set[tuple[str, int]]] = defaultdict(set)
    for row in rows:
        place = (row.cell, row.seed)
        asked_of[row.table].add(place)
        has[row.table, row.entry].add(place)
    holes = {key for key, places in has.items() if places != asked_of[key[0]]}
    for row in rows:
        key = (row.table, row.entry)
        if row.status != "ok" or row.auc is None:
            holes.add(key)
        elif row.labels != "oracle":
            aucs[key][row.cell].append(row.auc)
    return {key: fmean(map(fmean, cells.values())) for key, cells in aucs.items() if key not in holes}


def _version(store: Store, name: str, model_id: str, run: Seen, tags: dict[str, str]) -> str:
    from mlflow.exceptions import MlflowException

    client = store.client
    try:
        current = client.get_model_version_by_alias(name, ALIAS)
    except MlflowException:  # no such model or alias yet: mlflow has no question that answers with None
        current = None
    if current is not None and current.tags.get("model_id") == model_id:
        return str(current.version)
    if not client.search_registered_models(f"name = '{name}'", max_results=1):
        client.create_registered_model(name)
    # without a server, mlflow looks a models:/ address up in the store of its global settings, which may be another one
    source = f"models:/{model_id}" if store.is_server else client.get_logged_model(model_id).artifact_location
    made = client.create_model_version(
        name, source, run_id=run.run_id, tags={**tags, "model_id": model_id}, model_id=model_id
    )
    client.set_registered_model_alias(name, ALIAS, made.version)
    return str(made.version)
