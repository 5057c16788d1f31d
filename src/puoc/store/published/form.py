"""The form of published results: the manifest, the rows of a file, and the digest of the outcomes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from puoc.records import Fit, FitResult, TrialResult, content_id
from puoc.store.ledger_records import Entry

MANIFEST = "manifest.json"
#: Beside the manifest: the profile as it was run, and its plan, by the paths of its files.
PARAMS, PLAN = "params.yaml", "plan.json"
#: The parts of a plan, below work/.
PLANNED = ("plan", "configs")
SUFFIX = ".parquet"
VERSION = 1
_PLACEHOLDER = "0" * 64  # stands in the place of the manifest's checksum while it is computed


class Manifest(BaseModel):
    """What a folder of published results contains and where it comes from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["puoc-results"] = "puoc-results"
    version: Literal[1] = 1
    title: str
    written: str  # date
    puoc: str  # version that wrote the folder
    commits: tuple[str, ...]  # of the code that computed the fits
    fits: int
    trials: int
    seeds: dict[str, int]  # largest number of seeds, by dataset
    fits_by_method: dict[str, int]
    hours: float  # sum of the seconds of all fits, as hours of one core
    libraries: dict[str, tuple[str, ...]]  # versions, by library
    machines: tuple[str, ...]
    devices: tuple[str, ...]
    code_digests: dict[str, tuple[str, ...]]  # by method, encoder or prior
    data_digests: dict[str, tuple[str, ...]]  # by dataset
    content: str  # digest of all outcomes
    files: dict[str, str]  # SHA-256 by name
    checksum: str = _PLACEHOLDER  # SHA-256 of the bytes of the manifest with zeros in the place of this checksum

    def to_bytes(self) -> bytes:
        """Return the file of the manifest, with its checksum."""
        value = self.model_copy(update={"checksum": _PLACEHOLDER}).model_dump(mode="json")
        content = (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()
        return _with_checksum(content, _PLACEHOLDER, sha256(content).hexdigest())

    def is_of(self, content: bytes) -> bool:
        """Return True if the bytes that the manifest was read from match its checksum."""
        if content.count(self.checksum.encode()) != 1:
            return False
        return sha256(_with_checksum(content, self.checksum, _PLACEHOLDER)).hexdigest() == self.checksum


def _with_checksum(content: bytes, old: str, new: str) -> bytes:
    before, _, after = content.rpartition(old.encode())
    return before + new.encode() + after


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """A row of a Parquet file: one fit with its trials."""

    fit_id: str
    method: str
    dataset: str
    seed: int
    status: str
    result: str  # JSON of FitResult
    trials: str  # JSON of a list of TrialResult, those first that were scored first


class PublishedFit(NamedTuple):
    """A fit of a folder with its trials."""

    result: FitResult
    trials: tuple[TrialResult, ...]

    @property
    def row(self) -> PublishedRow:
        """Return the row of the fit."""
        fit = self.result.fit
        return PublishedRow(
            fit_id=fit.id,
            method=fit.method,
            dataset=fit.sample.dataset,
            seed=fit.seed,
            status=self.result.status,
            result=json.dumps(self.result.canonical(), sort_keys=True),
            trials=json.dumps([trial.canonical() for trial in self.trials], sort_keys=True),
        )


def published_form(entry: Entry) -> PublishedFit:
    """Return a record without what is of no use elsewhere: its model, the scores of rows, and the name of a machine.

    Each trial has its own AUC of the withheld rows, since another ledger may have another trial first.
    """
    result = entry.result.model_copy(update={"model": None, "session": None, "imported": None, "withheld": None})
    trials = [entry.trials[key] for key in sorted(entry.trials)] + [
        entry.rescored[key] for key in sorted(entry.rescored)
    ]
    kept = [
        trial.model_copy(update={"scores": None, "imported": None, "auc_val_pu": entry.auc_val_pu(trial)})
        for trial in trials
    ]
    return PublishedFit(result, tuple(kept))


def content_digest(fits: Iterable[PublishedFit]) -> str:
    """Return a digest of the outcomes of fits. It does not depend on their order, on times or on machines."""
    return content_id(
        sorted([fit.result.fit.id, outcome(fit.result), *sorted(map(trial_outcome, fit.trials))] for fit in fits)
    )


def outcome(result: FitResult) -> str:
    """Return a digest of what training gave. AUCs depend on the code that scored, so they belong to the trials."""
    return content_id(result.model_dump(mode="json", include={"alpha", "alpha_hat", "curve", "status"}))


def trial_outcome(trial: TrialResult) -> str:
    """Return a digest of what scoring gave."""
    numbers = {"trial_id", "scoring_digest", "auc", "auc_train_pool", "auc_val_pu", "n_pos", "n_neg"}
    return content_id(trial.model_dump(mode="json", include=numbers))


def in_words(fit: Fit) -> str:
    """Return the method, dataset and seed of a fit, for messages."""
    return f"{fit.method} on {fit.sample.dataset}, seed {fit.seed}"
