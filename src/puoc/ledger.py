"""The ledger: one record per finished fit, named by the content of its question. Everything else is a view of it.

Files, all below ``<root>/<first two digits of the fit's id>/``::

    <fit>.json               the final record: FitResult and the TrialResults known when it was written
    <fit>.failed-<n>.json    the record of the n-th attempt, which failed
    <fit>.retry-<n>          a person's leave for one attempt more
    <fit>+<trial>.json       a test set asked for later
    <fit>.<hash>.safetensors / .npy    models and scores, named by their content, referred to by the records
    <fit>.claim              who is computing this fit just now

Nothing is ever changed or written twice: a record is written under a temporary name, synced, and linked to its final
name, which fails if the name exists. So where two computations of one fit do meet, the first record wins.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from puoc.claims import Claim, claim, holder
from puoc.records import FitResult, TrialResult

MAX_ATTEMPTS = 2  # a failed fit is tried once more by the next run, then it is quarantined

_RECORD = re.compile(r"^(?P<fit>[0-9a-f]{24})(?P<rest>\.json|\.failed-\d+\.json)$")


class Entry(NamedTuple):
    """What the ledger holds of one fit."""

    result: FitResult
    trials: dict[str, TrialResult]


class Scored(NamedTuple):
    """A trial's result with the scores behind it."""

    result: TrialResult
    scores: np.ndarray[Any, np.dtype[Any]]


class Ledger:
    """Records of fits below one folder, shared by processes and, on a shared file system, by machines."""

    def __init__(self, root: Path | str):
        self.root = Path(root)

    # reading

    def get(self, fit_id: str) -> Entry | None:
        """The final record, else the last failed attempt, else None."""
        final = _read(self._path(fit_id, ".json"))
        if final is None:
            attempts = self._numbers(fit_id, ".failed-")
            final = _read(self._path(fit_id, f".failed-{max(attempts)}.json")) if attempts else None
        if final is None:
            return None
        trials = {key: TrialResult.model_validate(value) for key, value in final["trials"].items()}
        for path in self._folder(fit_id).glob(f"{fit_id}+*.json"):
            added = TrialResult.model_validate(_read(path))
            trials.setdefault(added.trial_id, added)
        return Entry(FitResult.model_validate(final["result"]), trials)

    def is_final(self, fit_id: str) -> bool:
        """True where the fit is done or not applicable: it is never computed again."""
        return self._path(fit_id, ".json").exists()

    def has(self, fit_id: str, trial_id: str) -> bool:
        """True where this trial needs no computation: scored, or not applicable."""
        entry = self.get(fit_id) if self.is_final(fit_id) else None
        return entry is not None and (entry.result.status == "skipped" or trial_id in entry.trials)

    def attempts(self, fit_id: str) -> int:
        """How many attempts were made and recorded."""
        return max(self._numbers(fit_id, ".failed-"), default=0) + self.is_final(fit_id)

    def may_try(self, fit_id: str) -> bool:
        """False for a final record and for a fit in quarantine."""
        if self.is_final(fit_id):
            return False
        failed = max(self._numbers(fit_id, ".failed-"), default=0)
        return failed < MAX_ATTEMPTS + len(self._numbers(fit_id, ".retry-"))

    def retries(self, fit_id: str) -> int:
        """Number of the last attempt beyond the first that was made or is due; 0 for a fit that needs none.

        It does not change when that attempt is made, whatever its outcome, so a stage that depends on it runs once for
        each retry and not again.
        """
        made = self.attempts(fit_id)
        return made if self.may_try(fit_id) else max(made - 1, 0)

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
        """Where the fitted model lies, if it was kept."""
        return self._folder(result.fit.id) / result.model if result.model else None

    def scores(self, trial: TrialResult) -> np.ndarray[Any, np.dtype[Any]] | None:
        """Scores of the test rows, positives first; None where they were not kept."""
        if trial.scores is None:
            return None
        return np.load(self._folder(trial.fit_id) / trial.scores, allow_pickle=False)  # type: ignore[no-any-return]

    # writing

    def put(self, result: FitResult, scored: Sequence[Scored] = (), model: bytes | None = None) -> bool:
        """Record a fit; True if this record is the one that stands."""
        fit_id = result.fit.id
        if result.status == "failed":
            number = max(self._numbers(fit_id, ".failed-"), default=0) + 1
            result = result.model_copy(update={"attempts": number})
            return self._create(self._path(fit_id, f".failed-{number}.json"), _record(result, {}))
        if self.is_final(fit_id):
            return False
        kept = {s.result.trial_id: self._keep_scores(s) for s in scored}
        changes: dict[str, Any] = {"attempts": self.attempts(fit_id) + 1}
        if model is not None:
            changes["model"] = self._keep(fit_id, model, "safetensors")
        return self._create(self._path(fit_id, ".json"), _record(result.model_copy(update=changes), kept))

    def add_trial(self, scored: Scored) -> bool:
        """Record one more test set of a fit that has its record; True if this record stands."""
        result = self._keep_scores(scored)
        path = self._folder(result.fit_id) / f"{result.fit_id}+{result.trial_id}.json"
        return self._create(path, result.canonical())

    def claim(self, fit_id: str) -> Claim | None:
        """Claim the computation of a fit, or None while somebody else holds it."""
        self._folder(fit_id).mkdir(parents=True, exist_ok=True)
        return claim(self._path(fit_id, ".claim"))

    def holder(self, fit_id: str) -> str | None:
        """Who computes this fit just now, in words."""
        return holder(self._path(fit_id, ".claim"))

    def allow_retry(self, fit_id: str) -> None:
        """Lift the quarantine of a fit for one attempt."""
        number = max(self._numbers(fit_id, ".retry-"), default=0) + 1
        self._create(self._path(fit_id, f".retry-{number}"), {})

    # files

    def _folder(self, fit_id: str) -> Path:
        return self.root / fit_id[:2]

    def _path(self, fit_id: str, suffix: str) -> Path:
        return self._folder(fit_id) / f"{fit_id}{suffix}"

    def _numbers(self, fit_id: str, infix: str) -> list[int]:
        start = len(fit_id) + len(infix)
        return [int(path.name[start:].removesuffix(".json")) for path in self._folder(fit_id).glob(f"{fit_id}{infix}*")]

    def _keep_scores(self, scored: Scored) -> TrialResult:
        buffer = BytesIO()
        np.save(buffer, scored.scores, allow_pickle=False)
        name = self._keep(scored.result.fit_id, buffer.getvalue(), "npy")
        return scored.result.model_copy(update={"scores": name})

    def _keep(self, fit_id: str, content: bytes, ending: str) -> str:
        """Keep bytes under a name that is their hash: two computations never write the same name differently."""
        path = self._path(fit_id, f".{blake2b(content, digest_size=8).hexdigest()}.{ending}")
        _create(path, content)
        return path.name

    def _create(self, path: Path, record: dict[str, Any]) -> bool:
        return _create(path, json.dumps(record, sort_keys=True, allow_nan=False).encode())


def _record(result: FitResult, trials: dict[str, TrialResult]) -> dict[str, Any]:
    return {"result": result.canonical(), "trials": {key: value.canonical() for key, value in trials.items()}}


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path}: not a record ({error}); records are written whole, so the file was damaged. Delete it and run again."
        ) from error


def _create(path: Path, content: bytes) -> bool:
    """Write a file under a temporary name and link it to its own; False if that name is taken."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name}.{uuid.uuid4().hex[:8]}"
    with temporary.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    return True
