"""Writer of the store: compare its runs with their specifications, and write the differences.

New runs are written many at a time (``batch.py``) where the store's tables can be reached, otherwise one by one with
MLflow's API in this order: creation (RUNNING), model, one ``log_batch``, artifacts, termination. So a run with another
status than FINISHED or FAILED was interrupted; it is deleted and written again. MLflow keeps deleted runs in the
database, where they can be viewed. A deleted run that is planned again is restored.

The file is longer than others, because every step reads and changes the runs that the class has loaded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from puoc.reporting.tracking import project_trials, run_specs
from puoc.reporting.tracking.all_runs import all_runs
from puoc.reporting.tracking.artifacts import LEFT_OUT, TAG, Artifacts, with_artifacts
from puoc.reporting.tracking.batch import Batch, NewRun, sql_store
from puoc.reporting.tracking.datasets import UsedDataset
from puoc.reporting.tracking.members import by_configuration, members_of, sweeps_of
from puoc.reporting.tracking.models import ModelLog, delete_models
from puoc.reporting.tracking.places import emptied, place_tags, unpack_places
from puoc.reporting.tracking.project_trials import Key, Trial
from puoc.reporting.tracking.recorded import metrics_of, pipeline, recorded, write_files
from puoc.reporting.tracking.run_specs import DIGEST, ID_TAGS, Member, RunSpec
from puoc.reporting.tracking.store import Store
from puoc.reporting.tracking.stored_run import StoredRun, is_older, without_edited_note
from puoc.store.ledger import Ledger
from puoc.store.ledger_records import Entry
from puoc.store.result_rows import ResultRow
from puoc.store.temporary import temporary_folder

if TYPE_CHECKING:
    from mlflow.entities import Metric

RETIRED = "puoc.retired"  # tag: reason why a run was deleted
NOT_PLANNED = "no table asks for it any more"
_COMPLETE = ("FINISHED", "FAILED")
#: Tags that become empty where the specification lacks them. Runs of trials had the last three in older stores.
_DROPPED = ("reason", "cell", "table", "entry")
_ABANDONED_SECONDS = 600  # age at which a RUNNING run on a server counts as abandoned; its writer may be elsewhere


OnProgress = Callable[[int, int], None]  # done, total


def silent(done: int, total: int) -> None:
    """Show nothing."""


class Writer:
    """Writes the runs of a store that differ from their specifications. Use it under the store's lock."""

    def __init__(self, store: Store, context: Mapping[str, object] | None = None, artifacts: Artifacts = "auto"):
        self.store, self.artifacts = store, artifacts
        self.context = {key: str(value) for key, value in (context or {}).items()} | pipeline(store.root)
        self.runs: dict[str, dict[Key, StoredRun]] = {kind: {} for kind in ID_TAGS}
        self.written = 0  # runs created, changed, restored or deleted
        self._shelved: dict[str, dict[Key, StoredRun]] = {kind: {} for kind in ID_TAGS}
        self._models: dict[str, str] = {}  # fit id to model URI
        self._ids: dict[str, str] = {}  # experiment name to id
        self._described: dict[str, dict[str, str]] = {}  # experiment name to tags, until they are checked
        self._wanted = frozenset[Key]()  # trials whose runs get artifacts

    def load(self) -> None:
        """Read all runs of the store, and delete runs that another process did not finish."""
        self.runs, self._shelved, self._models = {kind: {} for kind in ID_TAGS}, {kind: {} for kind in ID_TAGS}, {}
        experiments, known = self.store.own_experiments(), set()
        names = {each.experiment_id: each.name for each in experiments}
        self._described = {each.name: dict(each.tags) for each in experiments}
        self._ids = {name: experiment for experiment, name in names.items()}
        surplus = []
        for stored, start_time, deleted in all_runs(self.store, names):
            known.add(stored.run_id)
            kind = stored.tags.get("kind")
            if kind not in self.runs:
                continue  # a run that a user created
            if not deleted and stored.status not in _COMPLETE:
                if not (self.store.is_server and time.time() - start_time / 1000 < _ABANDONED_SECONDS):
                    surplus.append((stored, "its writer was stopped; written again"))
                continue
            if deleted and stored.tags.get(RETIRED) == NOT_PLANNED:
                self._shelved[kind][stored.key] = stored
            elif not deleted and self.runs[kind].setdefault(stored.key, stored) is not stored:
                surplus.append((stored, "written twice; the older run is kept"))
            if "model_uri" in stored.tags and stored.status in _COMPLETE and RETIRED not in stored.tags:
                self._models.setdefault(stored.tags["fit_id"], stored.tags["model_uri"])
        for stored, reason in surplus:
            self._retire(stored, reason)
        if (batch := self._new_batch()) is not None:
            batch.remove_lost(known)

    def sync_runs(
        self,
        rows: list[ResultRow],
        ledger: Ledger,
        complete_sources: frozenset[str] = frozenset(),
        on_progress: OnProgress = silent,
    ) -> None:
        """Write the runs of these rows.

        Parameters
        ----------
        complete_sources : sources (tables, sweeps) of which ``rows`` has every row. Their other runs are retired.
        on_progress : called with the number of runs of trials that are written, and of those that differ.
        """
        rows = project_trials.rows_with_outcome(rows)
        if self._open_experiments({project_trials.experiment_of(row) for row in rows}):
            self.load()
        for name, tags in self._described.items():
            self.store.describe(self._ids[name], name, tags)
        self._described = {}
        trials_by_key = project_trials.trials(rows)
        self._merge(trials_by_key, complete_sources)
        n_stored = len(self.runs["trial"].keys() | trials_by_key.keys())
        self._wanted = with_artifacts(self.artifacts, trials_by_key, n_stored, bool(complete_sources))
        batch = self._new_batch()
        parents = self._sync_cells(rows, trials_by_key, complete_sources, batch)
        different = []
        for (experiment, _), trial in trials_by_key.items():
            known = [(place, key) for key, place in trial.places.items() if (experiment, key) in parents]
            parent = parents[experiment, min(known)[1]] if known else None
            spec = run_specs.trial_spec(trial, parent)
            if not self._is_current(spec, trial.row, ledger):
                different.append((spec, trial.row))
        with ModelLog(self.store.client) as models:
            for n, (spec, row) in enumerate(different):
                on_progress(n, len(different))
                self._sync_trial(spec, row, ledger, models, batch)
        if batch is not None:
            batch.write()

    def _new_batch(self) -> Batch | None:
        sql = sql_store(self.store)
        return Batch(self.store, sql) if sql is not None else None

    def _open_experiments(self, names: set[str]) -> bool:
        """Create the missing experiments. Return True if a deleted one was restored with its runs."""
        restored = False
        for name in sorted(names - set(self._ids)):
            self._ids[name], was_deleted = self.store.experiment(name)
            self._described[name] = {}
            restored = restored or was_deleted
        return restored

    def _merge(self, trials_by_key: dict[Key, Trial], complete_sources: frozenset[str]) -> None:
        """Keep the places of a run that come from other sources; retire runs that have no place left."""
        for key, stored in list(self.runs["trial"].items()):
            before = unpack_places(stored.tags)
            kept = {cell: place for cell, place in before.items() if place.source not in complete_sources}
            if key in trials_by_key:
                trials_by_key[key].places = kept | trials_by_key[key].places
            elif not kept:
                self._retire(stored, NOT_PLANNED)
            elif kept != before:
                tags = place_tags(kept)
                self._log(stored, {}, emptied(stored.tags, tags) | tags, [])

    def _sync_cells(
        self,
        rows: list[ResultRow],
        trials_by_key: dict[Key, Trial],
        complete_sources: frozenset[str],
        batch: Batch | None,
    ) -> dict[Key, str]:
        """Write the runs of cells; return the ids of all runs of cells."""
        describing = {(project_trials.experiment_of(row), project_trials.cell_id(row)): row for row in reversed(rows)}
        members = members_of(self.runs["trial"], trials_by_key)
        for key, stored in list(self.runs["cell"].items()):
            source = next(iter(unpack_places(stored.tags).values())).source
            if key not in describing and source in complete_sources:
                self._retire(stored, NOT_PLANNED)
        sweeps = self._sync_sweeps(describing, members, complete_sources, batch)
        for key, row in describing.items():
            parent = sweeps.get(run_specs.sweep_key(row))
            self._sync_parent(run_specs.cell_spec(row, members[key], parent), batch)
        return {key: stored.run_id for key, stored in self.runs["cell"].items()}

    def _sync_sweeps(
        self,
        describing: Mapping[Key, ResultRow],
        members: Mapping[Key, list[Member]],
        complete_sources: frozenset[str],
        batch: Batch | None,
    ) -> dict[Key | None, str]:
        """Write the runs of the sweeps of these cells; return their ids."""
        rows = sweeps_of(describing)
        for sweep, of_sweep in rows.items():
            trials = by_configuration(sweep, of_sweep, members, self.runs["cell"])
            self._sync_parent(run_specs.sweep_spec(list(of_sweep.values()), trials), batch)
        for key, stored in list(self.runs["sweep"].items()):
            if key not in rows and f"tune/{key[1]}" in complete_sources:
                self._retire(stored, NOT_PLANNED)
        return {key: stored.run_id for key, stored in self.runs["sweep"].items()}

    def _sync_parent(self, spec: RunSpec, batch: Batch | None) -> None:
        """Write the run of a cell or sweep, if it differs."""
        stored = self._current(spec)
        if stored is None and batch is not None:
            self._add(batch, self._new(spec, {}, batch.new_id()), spec, {})
        elif stored is None:
            stored = self._create(spec, {})
            self._write(stored, spec, {})
            self._finish(stored, spec)
        elif stored.tags.get(DIGEST) != spec.digest:
            if batch is not None and is_older(stored):
                self._replace(batch, stored, spec, {})
            else:
                self._write(stored, spec, {})

    def _is_current(self, spec: RunSpec, row: ResultRow, ledger: Ledger) -> bool:
        """Check whether the store has the run as it is specified, with all that the ledger knows of its fit."""
        stored = self.runs["trial"].get((spec.experiment, spec.key))
        if stored is None or stored.tags.get(DIGEST) != spec.digest:
            return False
        complete = stored.tags.get("ledger") == "present" and not (stored.tags.get(TAG) and self._wants(spec))
        return complete or ledger.get(row.ids_in_ledger[0]) is None

    def _wants(self, spec: RunSpec) -> bool:
        return (spec.experiment, spec.key) in self._wanted

    def _sync_trial(self, spec: RunSpec, row: ResultRow, ledger: Ledger, models: ModelLog, batch: Batch | None) -> None:
        stored = self._current(spec)
        if stored is not None and self._is_current(spec, row, ledger):
            return  # it was restored, and is as specified
        entry = ledger.get(row.ids_in_ledger[0])
        extra = recorded(entry)
        kept = entry if self._wants(spec) else None
        if kept is not None:
            extra |= {TAG: ""} if stored is not None and stored.tags.get(TAG) else {}
        elif entry is not None and (stored is None or stored.tags.get(TAG)):
            extra[TAG] = LEFT_OUT
        if stored is None and batch is not None:
            stored = self._new(spec, extra, batch.new_id())
            extra |= self._model(stored, row, entry, ledger, models, batch)
            if kept is not None:
                folder = batch.folder(self._ids[spec.experiment], stored.run_id)
                folder.mkdir(parents=True)
                write_files(folder, row.ids_in_ledger[1], row.scoring_digest, kept, ledger)
            self._add(batch, stored, spec, extra, entry)
            return
        completed = kept is not None and TAG in extra  # its artifacts were left out so far
        if batch is not None and entry is not None and stored is not None and (completed or is_older(stored)):
            extra |= self._model(stored, row, entry, ledger, models)
            if kept is not None:
                folder = batch.artifacts_of(self._ids[spec.experiment], stored.run_id)
                folder.mkdir(parents=True, exist_ok=True)
                write_files(folder, row.ids_in_ledger[1], row.scoring_digest, kept, ledger)
            self._replace(batch, stored, spec, extra, entry)
            return
        if stored is None:
            stored = self._create(spec, extra)
        else:
            self.store.client.update_run(stored.run_id, status="RUNNING")  # until all its content is written
        self._write(stored, spec, extra | self._model(stored, row, entry, ledger, models), entry)
        if (dataset := UsedDataset.of(entry)) is not None:
            self.store.client.log_inputs(stored.run_id, [dataset.as_input()])
        with temporary_folder("run") as folder:
            if write_files(folder, row.ids_in_ledger[1], row.scoring_digest, kept, ledger):
                self.store.client.log_artifacts(stored.run_id, str(folder))
        self._finish(stored, spec)

    def _current(self, spec: RunSpec) -> StoredRun | None:
        """Return the run with this key; a deleted one is restored.

        Return None if there is none or if its parameters, which MLflow cannot change, differ; such a run is retired.
        """
        key = (spec.experiment, spec.key)
        runs, shelved = self.runs[spec.kind], self._shelved[spec.kind]
        if key not in runs and key in shelved:
            stored = shelved.pop(key)
            self.store.client.restore_run(stored.run_id)
            self.store.client.delete_tag(stored.run_id, RETIRED)
            stored.tags.pop(RETIRED, None)
            runs[key] = stored
            self.written += 1
        current = runs.get(key)
        if current is not None and any(current.params.get(name, text) != text for name, text in spec.params.items()):
            self._retire(current, "written with another layout")
            return None
        return current

    def _new(self, spec: RunSpec, extra: dict[str, str], run_id: str) -> StoredRun:
        """Return a run without params and metrics, and keep it as the one of its key."""
        tags = {**self.context, **spec.tags, **extra, "kind": spec.kind, ID_TAGS[spec.kind]: spec.key}
        stored = StoredRun(run_id, spec.experiment, "RUNNING", tags)
        self.runs[spec.kind][spec.experiment, spec.key] = stored
        return stored

    def _create(self, spec: RunSpec, extra: dict[str, str]) -> StoredRun:
        """Create a run with its tags, which cost less here than in a batch."""
        stored = self._new(spec, extra, "")
        run = self.store.client.create_run(self._ids[spec.experiment], tags=stored.tags, run_name=spec.name)
        stored.run_id = run.info.run_id
        return stored

    def _add(
        self, batch: Batch, stored: StoredRun, spec: RunSpec, extra: dict[str, str], entry: Entry | None = None
    ) -> None:
        """Add a new run to the batch."""
        metrics = metrics_of(stored, spec.metrics, extra, entry)
        stored.tags |= extra | {DIGEST: spec.digest}
        stored.params, stored.metrics, stored.status = dict(spec.params), dict(spec.metrics), spec.status
        where = (stored.run_id, self._ids[spec.experiment])
        dataset = UsedDataset.of(entry)
        batch.add(NewRun(*where, spec.name, spec.status, stored.tags, stored.params, metrics, dataset))
        self.written += 1

    def _replace(
        self, batch: Batch, stored: StoredRun, spec: RunSpec, extra: dict[str, str], entry: Entry | None = None
    ) -> None:
        """Write a run of an older layout again under its id, without the metrics and tags that it no longer has."""
        gone = {*_DROPPED, *emptied(stored.tags, spec.tags)}
        kept = {key: text for key, text in stored.tags.items() if key not in gone}
        new = {**spec.tags, **extra, DIGEST: spec.digest}
        stored.tags = kept | without_edited_note(stored, new)
        stored.params, stored.metrics, stored.status = dict(spec.params), {}, spec.status
        metrics = metrics_of(stored, spec.metrics, stored.tags, entry)
        stored.metrics = dict(spec.metrics)
        where = (stored.run_id, self._ids[spec.experiment])
        run = NewRun(*where, spec.name, spec.status, stored.tags, stored.params, metrics, UsedDataset.of(entry))
        batch.add(run, replaces=True)
        self.written += 1

    def _write(self, stored: StoredRun, spec: RunSpec, extra: dict[str, str], entry: Entry | None = None) -> None:
        """Write the differences in one batch; values that the specification does not have become NaN or empty."""
        gone = {key: float("nan") for key in stored.metrics if key not in spec.metrics and not key.startswith("curve/")}
        changed = {k: v for k, v in {**spec.metrics, **gone}.items() if stored.metrics.get(k) != v}
        metrics = metrics_of(stored, changed, extra, entry)
        params = {key: text for key, text in spec.params.items() if key not in stored.params}
        dropped = {key: "" for key in _DROPPED if key in stored.tags and key not in spec.tags}
        tags = {**dropped, **emptied(stored.tags, spec.tags), **spec.tags, **extra, DIGEST: spec.digest}
        tags = without_edited_note(stored, tags)
        self._log(stored, params, {k: v for k, v in tags.items() if stored.tags.get(k) != v}, metrics)
        stored.metrics |= changed

    def _log(self, stored: StoredRun, params: dict[str, str], tags: dict[str, str], metrics: list[Metric]) -> None:
        stored.log(self.store.client, params, tags, metrics)
        self.written += 1

    def _model(
        self,
        stored: StoredRun,
        row: ResultRow,
        entry: Entry | None,
        ledger: Ledger,
        models: ModelLog,
        batch: Batch | None = None,
    ) -> dict[str, str]:
        """Return the tags that refer to the model of a fit. The first of the runs that share it logs it."""
        path = ledger.model_path(entry.result) if entry is not None and row.status == "ok" else None
        fit = row.fit_id
        if path is None or not path.is_file():
            return {}
        if fit not in self._models:
            tags = {"fit_id": fit, "trial_id": row.trial_id, "entry": row.entry, "cell": row.cell}
            where = (self._ids[stored.experiment], stored.run_id)
            self._models[fit] = f"models:/{models.log(*where, path, tags, batch)}"
            return {"model_uri": self._models[fit], "model_owner": stored.run_id}
        return {"model_uri": self._models[fit]}

    def forget_model(self, uri: str) -> None:
        """Remove a deleted model from the tags of its runs, so that ``sync_runs`` logs it again."""
        for stored in self.runs["trial"].values():
            if stored.tags.get("model_uri") == uri:
                self.store.client.delete_tag(stored.run_id, "model_uri")
                self.store.client.set_tag(stored.run_id, DIGEST, "")

    def _finish(self, stored: StoredRun, spec: RunSpec) -> None:
        self.store.client.set_terminated(stored.run_id, spec.status)
        stored.status = spec.status

    def _retire(self, stored: StoredRun, reason: str) -> None:
        client = self.store.client
        client.set_tag(stored.run_id, RETIRED, reason)
        if stored.status not in _COMPLETE:
            # if the run was being updated, its model is an older one, and runs of other tables refer to it
            delete_models(client, self._ids[stored.experiment], stored.run_id, keep=set(self._models.values()))
            client.set_terminated(stored.run_id, "KILLED")
        client.delete_run(stored.run_id)
        stored.tags[RETIRED] = reason
        kind = stored.tags["kind"]
        if self.runs[kind].get(stored.key) is stored:
            del self.runs[kind][stored.key]
        if reason == NOT_PLANNED:
            self._shelved[kind][stored.key] = stored
        self.written += 1
