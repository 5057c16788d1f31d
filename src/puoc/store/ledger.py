"""The ledger: one record per finished fit, named by the id of the fit. All results are computed from it.

Files, all below ``<root>/<first two digits of the fit's id>/``::

    <fit>.json               the final record: FitResult and the TrialResults known when it was written
    <fit>.failed-<n>.json    the record of the n-th attempt, which failed
    <fit>.retry-<n>          the permission of a user for the n-th extra attempt
    <fit>+<trial>.json       a trial that was scored after the final record
    <fit>+<trial>.<scoring>.json    a trial that was scored again, by the code with this digest
    <fit>.<hash>.safetensors / .npy    models and scores, named by their content, referred to by the records
    <fit>.claim              the process that is computing this fit

No file is changed or written twice. A record is written under a temporary name, synced, and linked to its final name,
which fails if the name exists. So if two processes compute one fit at the same time, the first record is kept.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import compress
from pathlib import Path

import numpy as np

from puoc.records import Array, FitResult, JsonObject, TrialResult
from puoc.store.atomic import create, create_many
from puoc.store.claims import Claim, claim, holder
from puoc.store.ledger_records import Entry, Scored, content_name, parse_entry, parse_trial, read_parsed, record_of

MAX_ATTEMPTS = 2  # a failed fit is tried once more by the next run, then it is quarantined

_RECORD = re.compile(r"^(?P<fit>[0-9a-f]{24})(?P<rest>\.json|\.failed-\d+\.json)$")


class Ledger:
    """Records of fits below one folder, shared by processes and, on a shared file system, by machines.

    Reading raises ValueError if a record is damaged. Writing raises OSError if the storage fails. Both name the file.
    """

    def __init__(self, root: Path | str):
        self.root = Path(root)

    # reading

    def get(self, fit_id: str) -> Entry | None:
        """Return the final record of a fit, else its last failed attempt, else None."""
        path = self._path(fit_id, ".json")
        if not path.exists():
            attempt = self.failures(fit_id)
            if not attempt:
                return None
            path = self._path(fit_id, f".failed-{attempt}.json")
        entry = read_parsed(path, parse_entry)
        for name, trial in self._added(fit_id):
            if "." in name:
                entry.rescored[trial.trial_id, trial.scoring_digest] = trial
            else:
                entry.trials.setdefault(trial.trial_id, trial)
        return entry

    def is_final(self, fit_id: str) -> bool:
        """Return True if the fit is done or not applicable, so that it is never computed again."""
        return _exists(f"{self.root}/{fit_id[:2]}/{fit_id}.json")

    def has(self, fit_id: str, trial_id: str, scoring: str | None = None) -> bool:
        """Return True if a trial is not applicable, or was scored by the code with this digest (by default any)."""
        if not self.is_final(fit_id):
            return False
        entry = read_parsed(self._path(fit_id, ".json"), parse_entry)
        if entry.result.status == "skipped":
            return True
        first, added_path = entry.trials.get(trial_id), self._path(fit_id, f"+{trial_id}.json")
        # the file is opened by its name, because listing a folder for each of the many fits of a sweep takes long
        if first is None and added_path.exists():
            first = read_parsed(added_path, parse_trial)
        if first is None or scoring in (None, first.scoring_digest):
            return first is not None
        return self._path(fit_id, f"+{trial_id}.{scoring}.json").exists()

    def attempts(self, fit_id: str) -> int:
        """Return the number of recorded attempts."""
        return self.failures(fit_id) + self.is_final(fit_id)

    def failures(self, fit_id: str) -> int:
        """Return the number of recorded attempts that failed."""
        return self._count(fit_id, ".failed-{}.json")

    def may_try(self, fit_id: str) -> bool:
        """Return True if the fit may be attempted: it has no final record and is not in quarantine."""
        if self.is_final(fit_id):
            return False
        return self.failures(fit_id) < MAX_ATTEMPTS + self.extra_attempts(fit_id)

    def retries(self, fit_id: str) -> int:
        """Return the number of retries, the attempts after the first, that were made or are due.

        The number does not change when a due attempt is made, whatever its outcome. So a stage that depends on it runs
        once for each retry.
        """
        n_attempts = self.attempts(fit_id)
        return n_attempts if self.may_try(fit_id) else max(n_attempts - 1, 0)

    def extra_attempts(self, fit_id: str) -> int:
        """Return the number of extra attempts that a user has allowed."""
        return self._count(fit_id, ".retry-{}")

    def ids(self) -> Iterator[str]:
        """Yield the ids of all fits with a record."""
        known: set[str] = set()
        for folder in sorted(self.root.glob("[0-9a-f][0-9a-f]")):
            for item in os.scandir(folder):
                match = _RECORD.match(item.name)
                if match and match["fit"] not in known:
                    known.add(match["fit"])
                    yield match["fit"]

    def model_path(self, result: FitResult) -> Path | None:
        """Return the path of the fitted model; None if it was not kept, or if the record was imported without it."""
        path = self._folder(result.fit.id) / result.model if result.model else None
        return path if path and path.exists() else None

    def scores(self, trial: TrialResult) -> Array | None:
        """Return the scores of the test rows, positives first; None if they were not kept."""
        path = self.scores_path(trial)
        if path is None:
            return None
        scores: Array = np.load(path, allow_pickle=False)
        return scores

    def scores_path(self, trial: TrialResult) -> Path | None:
        """Return the path of the scores of the test rows; None if they were not kept."""
        return None if trial.scores is None else self._folder(trial.fit_id) / trial.scores

    # writing

    def put(self, result: FitResult, scored: Sequence[Scored] = (), model: bytes | None = None) -> bool:
        """Record a fit. Return False if another record was first, which is kept.

        A failure is not recorded if the fit has a final record.
        """
        fit_id = result.fit.id
        if self.is_final(fit_id):
            return False
        if result.status == "failed":
            number = self.failures(fit_id) + 1
            result = result.model_copy(update={"attempts": number})
            return self._create(self._path(fit_id, f".failed-{number}.json"), record_of(result, {}))
        trials = {s.result.trial_id: self._keep_scores(s) for s in scored}
        changes: dict[str, int | str] = {"attempts": self.attempts(fit_id) + 1}
        if model is not None:
            changes["model"] = self._keep(fit_id, model, "safetensors")
        return self._create(self._path(fit_id, ".json"), record_of(result.model_copy(update=changes), trials))

    def put_adopted(self, result: FitResult, trials: dict[str, TrialResult]) -> bool:
        """Record a fit; its model and scores have its name already. Return False if another record was first."""
        return self._create(self._path(result.fit.id, ".json"), record_of(result, trials))

    def put_imported(self, fits: Sequence[tuple[FitResult, Sequence[TrialResult]]]) -> list[bool]:
        """Record fits that another ledger computed, without models and scores. Return which of these records stand."""
        records, rescored = [], []
        for result, trials in fits:
            first: dict[str, TrialResult] = {}
            rescored.append([trial for trial in trials if first.setdefault(trial.trial_id, trial) is not trial])
            path = self._path(result.fit.id, ".json")
            records.append((path, self._encoded(path, record_of(result, first))))
        created = create_many(records)
        for others in compress(rescored, created):
            for trial in others:
                self.add_imported(trial)
        return created

    def add_imported(self, trial: TrialResult) -> bool:
        """Record a trial that another ledger scored, of a fit that has its record; True if this record stands."""
        if self.has(trial.fit_id, trial.trial_id, trial.scoring_digest):
            return False
        again = f".{trial.scoring_digest}" if self.has(trial.fit_id, trial.trial_id) else ""
        return self._create(self._path(trial.fit_id, f"+{trial.trial_id}{again}.json"), trial.canonical())

    def add_trial(self, scored: Scored) -> bool:
        """Record a trial of a fit that has a final record. Return False if the trial is recorded already."""
        fit_id, trial_id, scoring = scored.result.fit_id, scored.result.trial_id, scored.result.scoring_digest
        if not self.is_final(fit_id):
            raise ValueError(f"trial {trial_id}: the ledger has no record of its fit {fit_id}; put the fit first")
        if self.has(fit_id, trial_id, scoring):
            return False
        suffix = f".{scoring}" if self.has(fit_id, trial_id) else ""
        return self._create(self._path(fit_id, f"+{trial_id}{suffix}.json"), self._keep_scores(scored).canonical())

    def claim(self, fit_id: str) -> Claim | None:
        """Claim the computation of a fit; return None while another process has claimed it."""
        return claim(self.claim_path(fit_id))

    def holder(self, fit_id: str) -> str | None:
        """Describe the process that is computing this fit; None if there is none."""
        return holder(self.claim_path(fit_id))

    def claim_path(self, fit_id: str) -> Path:
        """Return the path of the claim of a fit."""
        return self._path(fit_id, ".claim")

    def allow_retry(self, fit_id: str) -> None:
        """Lift the quarantine of a fit for one attempt."""
        self._create(self._path(fit_id, f".retry-{self.extra_attempts(fit_id) + 1}"), {})

    # files

    def _folder(self, fit_id: str) -> Path:
        return self.root / fit_id[:2]

    def _path(self, fit_id: str, suffix: str) -> Path:
        return self._folder(fit_id) / f"{fit_id}{suffix}"

    def _count(self, fit_id: str, suffix: str) -> int:
        """Count the files that are numbered from 1, by name: the numbers are small, and listing a folder takes long."""
        number = 0
        while _exists(f"{self.root}/{fit_id[:2]}/{fit_id}{suffix.format(number + 1)}"):
            number += 1
        return number

    def _added(self, fit_id: str) -> Iterator[tuple[str, TrialResult]]:
        """Yield the trials that were added to a fit, with the names of their files without ``.json``."""
        for item in os.scandir(self._folder(fit_id)):
            if item.name.startswith(f"{fit_id}+"):
                yield item.name.removesuffix(".json"), read_parsed(Path(item.path), parse_trial)

    def _keep_scores(self, scored: Scored) -> TrialResult:
        if not len(scored.scores):
            return scored.result
        buffer = BytesIO()
        np.save(buffer, scored.scores, allow_pickle=False)
        name = self._keep(scored.result.fit_id, buffer.getvalue(), "npy")
        return scored.result.model_copy(update={"scores": name})

    def _keep(self, fit_id: str, content: bytes, ending: str) -> str:
        """Write bytes to a file whose name contains their hash, so that one name never has two contents."""
        path = self._path(fit_id, f".{content_name(content)}.{ending}")
        if not create(path, content):
            os.utime(path)  # a file of an earlier attempt is in use again, so `compact` must not remove it for its age
        return path.name

    def _create(self, path: Path, record: JsonObject) -> bool:
        return create(path, self._encoded(path, record))

    @staticmethod
    def _encoded(path: Path, record: JsonObject) -> bytes:
        try:
            return json.dumps(record, sort_keys=True, allow_nan=False).encode()
        except ValueError as error:
            reason = "NaN or an infinite number in a result (curve, alpha_hat, ...); expected finite numbers"
            raise ValueError(f"{path.name}: {reason}") from error


def _exists(path: str) -> bool:
    """Return whether there is a file, as ``Path.exists``, but without making a path: a plan looks for thousands."""
    try:
        os.stat(path)  # noqa: PTH116 - a Path takes longer
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
