"""The ledger: one record per finished fit, named by the content of its question. Everything else is a view of it.

Files, all below ``<root>/<first two digits of the fit's id>/``::

    <fit>.json               the final record: FitResult and the TrialResults known when it was written
    <fit>.failed-<n>.json    the record of the n-th attempt, which failed
    <fit>.retry-<n>          a person's leave for one attempt more
    <fit>+<trial>.json       a test set asked for later
    <fit>+<trial>.<scoring>.json    one scored again, by the code with this digest
    <fit>.<hash>.safetensors / .npy    models and scores, named by their content, referred to by the records
    <fit>.claim              who is computing this fit just now

Nothing is ever changed or written twice: a record is written under a temporary name, synced, and linked to its final
name, which fails if the name exists. So where two computations of one fit do meet, the first record wins.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from puoc.records import Array, FitResult, JsonObject, TrialResult
from puoc.store.atomic import create
from puoc.store.claims import Claim, claim, holder

R = TypeVar("R")

MAX_ATTEMPTS = 2  # a failed fit is tried once more by the next run, then it is quarantined

_RECORD = re.compile(r"^(?P<fit>[0-9a-f]{24})(?P<rest>\.json|\.failed-\d+\.json)$")


class Entry(NamedTuple):
    """What the ledger holds of one fit."""

    result: FitResult
    trials: dict[str, TrialResult]  # as first scored, by id
    again: dict[tuple[str, str], TrialResult]  # by id and digest of the scoring code, which has changed since

    def scored(self, trial_id: str, scoring: str | None = None) -> TrialResult | None:
        """What scoring a trial gave by the code with this digest, by default by the first; None where it did not."""
        first = self.trials.get(trial_id)
        if scoring is None or (first is not None and first.scoring_digest == scoring):
            return first
        return self.again.get((trial_id, scoring))

    def auc_val_pu(self, trial: TrialResult | None) -> float | None:
        """AUC of the withheld rows, by the code that scored a trial."""
        if trial is None or trial.auc_val_pu is None:
            return self.result.auc_val_pu
        return trial.auc_val_pu


class Scored(NamedTuple):
    """A trial's result with the scores behind it."""

    result: TrialResult
    scores: Array


class Ledger:
    """Records of fits below one folder, shared by processes and, on a shared file system, by machines.

    Reading raises ValueError where a record is damaged, writing OSError where the storage refuses; both name the file.
    """

    def __init__(self, root: Path | str):
        self.root = Path(root)

    # reading

    def get(self, fit_id: str) -> Entry | None:
        """The final record, else the last failed attempt, else None."""
        path = self._path(fit_id, ".json")
        if not path.exists():
            attempt = self._failures(fit_id)
            if not attempt:
                return None
            path = self._path(fit_id, f".failed-{attempt}.json")
        entry = _read(path, parse_entry)
        for name, trial in self._added(fit_id):
            if "." in name:
                entry.again[trial.trial_id, trial.scoring_digest] = trial
            else:
                entry.trials.setdefault(trial.trial_id, trial)
        return entry

    def is_final(self, fit_id: str) -> bool:
        """True where the fit is done or not applicable: it is never computed again."""
        return self._path(fit_id, ".json").exists()

    def has(self, fit_id: str, trial_id: str, scoring: str | None = None) -> bool:
        """True where this trial needs no computation: scored by the code with this digest, or not applicable."""
        if not self.is_final(fit_id):
            return False
        entry = _read(self._path(fit_id, ".json"), parse_entry)
        if entry.result.status == "skipped":
            return True
        first, later = entry.trials.get(trial_id), self._path(fit_id, f"+{trial_id}.json")
        # by its name: a folder is not looked through for each of the many fits that a sweep asks
        if first is None and later.exists():
            first = _read(later, parse_trial)
        if first is None or scoring in (None, first.scoring_digest):
            return first is not None
        return self._path(fit_id, f"+{trial_id}.{scoring}.json").exists()

    def attempts(self, fit_id: str) -> int:
        """How many attempts were made and recorded."""
        return self._failures(fit_id) + self.is_final(fit_id)

    def may_try(self, fit_id: str) -> bool:
        """False for a final record and for a fit in quarantine."""
        if self.is_final(fit_id):
            return False
        return self._failures(fit_id) < MAX_ATTEMPTS + self.leaves(fit_id)

    def retries(self, fit_id: str) -> int:
        """Number of the last attempt beyond the first that was made or is due; 0 for a fit that needs none.

        It does not change when that attempt is made, whatever its outcome, so a stage that depends on it runs once for
        each retry and not again.
        """
        made = self.attempts(fit_id)
        return made if self.may_try(fit_id) else max(made - 1, 0)

    def leaves(self, fit_id: str) -> int:
        """How often a person allowed one attempt more."""
        return self._count(fit_id, ".retry-{}")

    def ids(self) -> Iterator[str]:
        """Ids of all fits with a record."""
        seen: set[str] = set()
        for folder in sorted(self.root.glob("[0-9a-f][0-9a-f]")):
            for item in os.scandir(folder):
                found = _RECORD.match(item.name)
                if found and found["fit"] not in seen:
                    seen.add(found["fit"])
                    yield found["fit"]

    def model_path(self, result: FitResult) -> Path | None:
        """Where the fitted model lies; None if it was not kept, or did not come along with an imported record."""
        path = self._folder(result.fit.id) / result.model if result.model else None
        return path if path and path.exists() else None

    def scores(self, trial: TrialResult) -> Array | None:
        """Scores of the test rows, positives first; None where they were not kept."""
        if trial.scores is None:
            return None
        scores: Array = np.load(self._folder(trial.fit_id) / trial.scores, allow_pickle=False)
        return scores

    # writing

    def put(self, result: FitResult, scored: Sequence[Scored] = (), model: bytes | None = None) -> bool:
        """Record a fit; True if this record is the one that stands.

        A failure after the final record is not recorded: its computation lost, whatever became of it.
        """
        fit_id = result.fit.id
        if self.is_final(fit_id):
            return False
        if result.status == "failed":
            number = self._failures(fit_id) + 1
            result = result.model_copy(update={"attempts": number})
            return self._create(self._path(fit_id, f".failed-{number}.json"), _record(result, {}))
        kept = {s.result.trial_id: self._keep_scores(s) for s in scored}
        changes: dict[str, int | str] = {"attempts": self.attempts(fit_id) + 1}
        if model is not None:
            changes["model"] = self._keep(fit_id, model, "safetensors")
        return self._create(self._path(fit_id, ".json"), _record(result.model_copy(update=changes), kept))

    def put_adopted(self, result: FitResult, trials: dict[str, TrialResult]) -> bool:
        """Record a fit whose model and scores lie under its name already; True if this record stands."""
        return self._create(self._path(result.fit.id, ".json"), _record(result, trials))

    def put_imported(self, result: FitResult, trials: Sequence[TrialResult]) -> bool:
        """Record a fit that another ledger computed, without its model and scores; True if this record stands."""
        first: dict[str, TrialResult] = {}
        for trial in trials:
            first.setdefault(trial.trial_id, trial)
        created = self._create(self._path(result.fit.id, ".json"), _record(result, first))
        for trial in trials if created else ():
            self.add_imported(trial)
        return created

    def add_imported(self, trial: TrialResult) -> bool:
        """Record a trial that another ledger scored, of a fit that has its record; True if this record stands."""
        if self.has(trial.fit_id, trial.trial_id, trial.scoring_digest):
            return False
        again = f".{trial.scoring_digest}" if self.has(trial.fit_id, trial.trial_id) else ""
        return self._create(self._path(trial.fit_id, f"+{trial.trial_id}{again}.json"), trial.canonical())

    def add_trial(self, scored: Scored) -> bool:
        """Record one more test set of a fit that has its record, or one again; True if this record stands."""
        fit_id, trial_id, scoring = scored.result.fit_id, scored.result.trial_id, scored.result.scoring_digest
        if not self.is_final(fit_id):
            raise ValueError(f"trial {trial_id}: the ledger has no record of its fit {fit_id}; put the fit first")
        if self.has(fit_id, trial_id, scoring):
            return False
        again = f".{scoring}" if self.has(fit_id, trial_id) else ""
        return self._create(self._path(fit_id, f"+{trial_id}{again}.json"), self._keep_scores(scored).canonical())

    def claim(self, fit_id: str) -> Claim | None:
        """Claim the computation of a fit, or None while somebody else holds it."""
        return claim(self._path(fit_id, ".claim"))

    def holder(self, fit_id: str) -> str | None:
        """Who computes this fit just now, in words."""
        return holder(self._path(fit_id, ".claim"))

    def allow_retry(self, fit_id: str) -> None:
        """Lift the quarantine of a fit for one attempt."""
        self._create(self._path(fit_id, f".retry-{self.leaves(fit_id) + 1}"), {})

    # files

    def _folder(self, fit_id: str) -> Path:
        return self.root / fit_id[:2]

    def _path(self, fit_id: str, suffix: str) -> Path:
        return self._folder(fit_id) / f"{fit_id}{suffix}"

    def _failures(self, fit_id: str) -> int:
        return self._count(fit_id, ".failed-{}.json")

    def _count(self, fit_id: str, suffix: str) -> int:
        """How many files are numbered on from 1: looked for one by one, because folders are long and numbers small."""
        number = 0
        while self._path(fit_id, suffix.format(number + 1)).exists():
            number += 1
        return number

    def _added(self, fit_id: str) -> Iterator[tuple[str, TrialResult]]:
        """Names without their ending, and what the files hold."""
        for item in os.scandir(self._folder(fit_id)):
            if item.name.startswith(f"{fit_id}+"):
                yield item.name.removesuffix(".json"), _read(Path(item.path), parse_trial)

    def _keep_scores(self, scored: Scored) -> TrialResult:
        if not len(scored.scores):
            return scored.result
        buffer = BytesIO()
        np.save(buffer, scored.scores, allow_pickle=False)
        name = self._keep(scored.result.fit_id, buffer.getvalue(), "npy")
        return scored.result.model_copy(update={"scores": name})

    def _keep(self, fit_id: str, content: bytes, ending: str) -> str:
        """Keep bytes under a name that is their hash: two computations never write the same name differently."""
        path = self._path(fit_id, f".{content_name(content)}.{ending}")
        if not create(path, content):
            os.utime(path)  # an orphan of an earlier attempt is in use again, so `compact` must not find it old
        return path.name

    @staticmethod
    def _create(path: Path, record: JsonObject) -> bool:
        try:
            text = json.dumps(record, sort_keys=True, allow_nan=False)
        except ValueError as error:
            reason = "NaN or an infinite number in a result (curve, alpha_hat, ...); expected finite numbers"
            raise ValueError(f"{path.name}: {reason}") from error
        return create(path, text.encode())


def content_name(content: bytes) -> str:
    """16 hexadecimal digits that name the content of a model or of scores."""
    return blake2b(content, digest_size=8).hexdigest()


def parse_entry(content: bytes) -> Entry:
    """A fit's record, final or failed, with the trials in it.

    Raises
    ------
    ValueError : damaged, or a record of another version of puoc.
    """
    with _as_damage():
        value = json.loads(content)
        trials = {key: TrialResult.model_validate(trial) for key, trial in value["trials"].items()}
        return Entry(FitResult.model_validate(value["result"]), trials, {})


def parse_trial(content: bytes) -> TrialResult:
    """The record of a test set that was asked for later; raises as ``parse_entry`` does."""
    with _as_damage():
        return TrialResult.model_validate(json.loads(content))


@contextmanager
def _as_damage() -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # no JSON, no text, or not of this form
        reason = " ".join(str(error).split())
        raise ValueError(f"not a record of this version of puoc, or damaged ({reason})") from error


def _record(result: FitResult, trials: dict[str, TrialResult]) -> JsonObject:
    return {"result": result.canonical(), "trials": {key: value.canonical() for key, value in trials.items()}}


def _read(path: Path, parse: Callable[[bytes], R]) -> R:
    try:
        return parse(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}; delete it and run again") from error
