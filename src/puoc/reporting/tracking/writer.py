"""Bringing a store into line: what is there, what ought to be, and the fewest writes from the one to the other.

A run is written in one order: created (RUNNING), model, one ``log_batch``, artifacts, terminated. So a run that does
not say FINISHED or FAILED was cut short; it is deleted and written anew. ``Deleted`` is MLflow's word: such a run
stays in the database and can be looked at, and one that is asked again is restored.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from puoc.reporting.tracking import wanted_runs as asked
from puoc.reporting.tracking.models import ModelLog, delete_models
from puoc.reporting.tracking.recorded import curve, pipeline, recorded, write_files
from puoc.reporting.tracking.store import Store
from puoc.reporting.tracking.wanted_runs import DIGEST, Key, Member, Trial, Wanted
from puoc.store.ledger import Entry, Ledger
from puoc.store.result_rows import ResultRow

if TYPE_CHECKING:
    from mlflow.entities import Metric, Run

RETIRED = "puoc.retired"  # tag: why a run was deleted
NOT_ASKED = "no table asks for it any more"
_COMPLETE = ("FINISHED", "FAILED")
_PATIENCE = 600  # seconds after which a RUNNING run on a server is taken for abandoned: its writer may be elsewhere


@dataclass
class Seen:
    """A run in the store, as far as we need to know it."""

    run_id: str
    experiment: str  # name
    status: str
    tags: dict[str, str] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run, experiment: str) -> Seen:
        """From MLflow's run."""
        data = run.data
        return cls(run.info.run_id, experiment, run.info.status, dict(data.tags), dict(data.params), dict(data.metrics))

    @property
    def key(self) -> Key:
        """Experiment and id of the trial or cell."""
        return self.experiment, self.tags["trial_id" if self.tags["kind"] == "trial" else "cell_id"]


def _order(member: Member) -> tuple[str, float, float]:
    return member.status, member.auc or 0.0, member.val or 0.0


class Writer:
    """Knows the runs of a store and writes what differs. To be used under the store's lock."""

    def __init__(self, store: Store, context: Mapping[str, object] | None = None):
        self.store = store
        self.context = {key: str(value) for key, value in (context or {}).items()} | pipeline(store.root)
        self.runs: dict[str, dict[Key, Seen]] = {"trial": {}, "cell": {}}
        self.written = 0  # runs created, changed, restored or deleted
        self._shelved: dict[str, dict[Key, Seen]] = {"trial": {}, "cell": {}}
        self._models: dict[str, str] = {}  # fit id to model URI
        self._ids: dict[str, str] = {}  # experiment name to id

    def load(self) -> None:
        """Read the store anew and delete what another process left half done."""
        self.runs, self._shelved, self._models = {"trial": {}, "cell": {}}, {"trial": {}, "cell": {}}, {}
        names = self.store.experiments()
        self._ids = {name: experiment for experiment, name in names.items()}
        surplus = []
        found = sorted(self.store.runs(list(names)), key=lambda run: (run.info.start_time, run.info.run_id))
        for run in found:
            if run.data.tags.get("kind") not in self.runs:
                continue  # somebody's own run
            seen = Seen.of(run, names[run.info.experiment_id])
            kind = seen.tags["kind"]
            deleted = run.info.lifecycle_stage == "deleted"
            if not deleted and seen.status not in _COMPLETE:
                if not (self.store.is_server and time.time() - run.info.start_time / 1000 < _PATIENCE):
                    surplus.append((seen, "its writer was killed; written anew"))
                continue
            if deleted and seen.tags.get(RETIRED) == NOT_ASKED:
                self._shelved[kind][seen.key] = seen
            elif not deleted and self.runs[kind].setdefault(seen.key, seen) is not seen:
                surplus.append((seen, "written twice; the older one stays"))
            if "model_uri" in seen.tags and seen.status in _COMPLETE and RETIRED not in seen.tags:
                self._models.setdefault(seen.tags["fit_id"], seen.tags["model_uri"])
        for seen, reason in surplus:
            self._retire(seen, reason)

    def bring(self, rows: list[ResultRow], ledger: Ledger, whole: frozenset[str] = frozenset()) -> None:
        """Write the runs of these rows.

        Parameters
        ----------
        whole : sources (tables, sweeps) of which ``rows`` holds every row: what they do not ask any more is retired.
        """
        rows = asked.answered(rows)
        if self._open_experiments({asked.experiment_of(row) for row in rows}):
            self.load()
        wanted = asked.trials(rows)
        self._merge(wanted, whole)
        parents = self._bring_cells(rows, wanted, whole)
        with ModelLog(self.store.client) as models:
            for (experiment, _), trial in wanted.items():
                known = [(place, key) for key, place in trial.places.items() if (experiment, key) in parents]
                parent = parents[experiment, min(known)[1]] if known else None
                self._bring_trial(asked.wanted_trial(trial, parent), trial.row, ledger, models)

    def _open_experiments(self, names: set[str]) -> bool:
        """Make the experiments there are none of; True where one came back with the runs it had."""
        restored = False
        for name in sorted(names - set(self._ids)):
            self._ids[name], again = self.store.experiment(name)
            restored = restored or again
        return restored

    def _merge(self, wanted: dict[Key, Trial], whole: frozenset[str]) -> None:
        """Keep the places a run has from elsewhere; retire runs that lost all of theirs."""
        for key, seen in list(self.runs["trial"].items()):
            before = asked.unpack_places(seen.tags)
            kept = {cell: place for cell, place in before.items() if place.source not in whole}
            if key in wanted:
                wanted[key].places = kept | wanted[key].places
            elif not kept:
                self._retire(seen, NOT_ASKED)
            elif kept != before:
                self._log(seen, {}, asked.pack_places(kept), [])

    def _bring_cells(self, rows: list[ResultRow], wanted: dict[Key, Trial], whole: frozenset[str]) -> dict[Key, str]:
        """Write the runs of cells; ids of all runs of cells."""
        describing = {(asked.experiment_of(row), asked.cell_id(row)): row for row in reversed(rows)}
        members = self._members(wanted)
        for key, seen in list(self.runs["cell"].items()):
            source = next(iter(asked.unpack_places(seen.tags).values())).source
            if key not in describing and source in whole:
                self._retire(seen, NOT_ASKED)
        for key, row in describing.items():
            self._bring_cell(asked.wanted_cell(row, members[key]))
        return {key: seen.run_id for key, seen in self.runs["cell"].items()}

    def _members(self, wanted: dict[Key, Trial]) -> dict[Key, list[Member]]:
        found: dict[Key, list[Member]] = defaultdict(list)
        for key, seen in self.runs["trial"].items():
            if key not in wanted:
                for cell in asked.unpack_places(seen.tags):
                    known = (seen.metrics.get(name) for name in ("auc", "auc_val_pu"))
                    found[key[0], cell].append(Member(seen.tags.get("status", ""), *known))
        for key, trial in wanted.items():
            for cell in trial.places:
                found[key[0], cell].append(Member(trial.row.status, trial.row.auc, trial.row.auc_val_pu))
        return {key: sorted(value, key=_order) for key, value in found.items()}

    def _bring_cell(self, want: Wanted) -> None:
        seen = self._current(want)
        if seen is None:
            seen = self._create(want, {})
            self._write(seen, want, {})
            self._finish(seen, want)
        elif seen.tags.get(DIGEST) != want.digest:
            self._write(seen, want, {})

    def _bring_trial(self, want: Wanted, row: ResultRow, ledger: Ledger, models: ModelLog) -> None:
        seen = self._current(want)
        digest = seen.tags.get(DIGEST) if seen is not None else None
        if seen is not None and digest == want.digest and seen.tags.get("ledger") == "present":
            return
        entry = ledger.get(row.fit_id)
        if digest == want.digest and entry is None:
            return
        extra = recorded(entry)
        if seen is None:
            seen = self._create(want, extra)
        else:
            self.store.client.update_run(seen.run_id, status="RUNNING")  # until it is whole again
        self._write(seen, want, extra | self._model(seen, row, entry, ledger, models), entry)
        with tempfile.TemporaryDirectory(prefix="puoc-run-") as folder:
            if write_files(Path(folder), row.trial_id, row.scoring_digest, entry, ledger):
                self.store.client.log_artifacts(seen.run_id, folder)
        self._finish(seen, want)

    def _current(self, want: Wanted) -> Seen | None:
        """The run that stands for this key; restored, or retired where its parameters, which are final, differ."""
        key = (want.experiment, want.key)
        runs, shelved = self.runs[want.kind], self._shelved[want.kind]
        if key not in runs and key in shelved:
            seen = shelved.pop(key)
            self.store.client.restore_run(seen.run_id)
            self.store.client.delete_tag(seen.run_id, RETIRED)
            seen.tags.pop(RETIRED, None)
            runs[key] = seen
            self.written += 1
        found = runs.get(key)
        if found is not None and any(found.params.get(name, text) != text for name, text in want.params.items()):
            self._retire(found, "laid out anew")
            return None
        return found

    def _create(self, want: Wanted, extra: dict[str, str]) -> Seen:
        """A new run with its tags, which cost less here than in a batch."""
        identity = "trial_id" if want.kind == "trial" else "cell_id"
        tags = {**self.context, **want.tags, **extra, "kind": want.kind, identity: want.key}
        run = self.store.client.create_run(self._ids[want.experiment], tags=tags, run_name=want.name)
        seen = Seen(run.info.run_id, want.experiment, "RUNNING", tags)
        self.runs[want.kind][want.experiment, want.key] = seen
        return seen

    def _write(self, seen: Seen, want: Wanted, extra: dict[str, str], entry: Entry | None = None) -> None:
        """One batch with whatever differs; values that are wanted no more become NaN or empty."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        model = extra.get("model_uri", "").removeprefix("models:/") if extra.get("model_owner") == seen.run_id else None
        gone = {key: float("nan") for key in seen.metrics if key not in want.metrics and not key.startswith("curve/")}
        changed = {k: v for k, v in {**want.metrics, **gone}.items() if seen.metrics.get(k) != v}
        metrics = [Metric(k, v, now, 0, model_id=model if k.startswith("auc") else None) for k, v in changed.items()]
        curves = {name: values for name, values in curve(entry).items() if name not in seen.metrics}
        metrics += [
            Metric(name, value, now, step) for name, values in curves.items() for step, value in enumerate(values)
        ]
        params = {key: text for key, text in want.params.items() if key not in seen.params}
        dropped = {key: "" for key in ("reason",) if key in seen.tags and key not in want.tags}
        tags = {**want.tags, **dropped, **extra, DIGEST: want.digest}
        self._log(seen, params, {k: v for k, v in tags.items() if seen.tags.get(k) != v}, metrics)
        seen.metrics |= changed

    def _log(self, seen: Seen, params: dict[str, str], tags: dict[str, str], metrics: list[Metric]) -> None:
        from mlflow.entities import Param, RunTag

        first = 1000 - len(params) - len(tags)  # MLflow takes 1,000 things a batch
        for start in range(first, len(metrics), 1000):
            self.store.client.log_batch(seen.run_id, metrics=metrics[start : start + 1000])
        self.store.client.log_batch(
            seen.run_id,
            metrics=metrics[:first],
            params=[Param(key, text) for key, text in params.items()],
            tags=[RunTag(key, text) for key, text in tags.items()],
        )
        seen.params |= params
        seen.tags |= tags
        self.written += 1

    def _model(
        self, seen: Seen, row: ResultRow, entry: Entry | None, ledger: Ledger, models: ModelLog
    ) -> dict[str, str]:
        """Tags that lead to the model of a fit. It is logged once, by the first of the runs that share it."""
        path = ledger.model_path(entry.result) if entry is not None and row.status == "ok" else None
        fit = row.fit_id
        if path is None or not path.is_file():
            return {}
        if fit not in self._models:
            tags = {"fit_id": fit, "trial_id": row.trial_id, "entry": row.entry, "cell": row.cell}
            self._models[fit] = f"models:/{models.log(self._ids[seen.experiment], seen.run_id, path, tags)}"
            return {"model_uri": self._models[fit], "model_owner": seen.run_id}
        return {"model_uri": self._models[fit]}

    def forget_model(self, uri: str) -> None:
        """Have ``bring`` log a model again that is gone from the store: runs lead to it no longer."""
        for seen in self.runs["trial"].values():
            if seen.tags.get("model_uri") == uri:
                self.store.client.delete_tag(seen.run_id, "model_uri")
                self.store.client.set_tag(seen.run_id, DIGEST, "")

    def _finish(self, seen: Seen, want: Wanted) -> None:
        self.store.client.set_terminated(seen.run_id, want.status)
        seen.status = want.status

    def _retire(self, seen: Seen, reason: str) -> None:
        client = self.store.client
        client.set_tag(seen.run_id, RETIRED, reason)
        if seen.status not in _COMPLETE:
            # where it was being updated, the model is an older one, and runs of other tables lead to it
            delete_models(client, self._ids[seen.experiment], seen.run_id, keep=set(self._models.values()))
            client.set_terminated(seen.run_id, "KILLED")
        client.delete_run(seen.run_id)
        seen.tags[RETIRED] = reason
        kind = seen.tags["kind"]
        if self.runs[kind].get(seen.key) is seen:
            del self.runs[kind][seen.key]
        if reason == NOT_ASKED:
            self._shelved[kind][seen.key] = seen
        self.written += 1
