"""Records of the ledger as objects: the result of a fit with its trials, parsed from JSON and written as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, TypeVar

from puoc.records import Array, FitResult, JsonObject, TrialResult

R = TypeVar("R")


class Entry(NamedTuple):
    """The result of one fit and its trials, as recorded."""

    result: FitResult
    trials: dict[str, TrialResult]  # as first scored, by id
    rescored: dict[tuple[str, str], TrialResult]  # scored again after the scoring code changed, by id and its digest

    def scored(self, trial_id: str, scoring: str | None = None) -> TrialResult | None:
        """Return the result of a trial by the scoring code with this digest, by default the first result, or None."""
        first = self.trials.get(trial_id)
        if scoring is None or (first is not None and first.scoring_digest == scoring):
            return first
        return self.rescored.get((trial_id, scoring))

    def auc_val_pu(self, trial: TrialResult | None) -> float | None:
        """Return the AUC of the withheld rows, by the code that scored a trial."""
        if trial is None or trial.auc_val_pu is None:
            return self.result.auc_val_pu
        return trial.auc_val_pu


class Scored(NamedTuple):
    """The result of a trial and its scores."""

    result: TrialResult
    scores: Array


def content_name(content: bytes) -> str:
    """Return the hash of the content of a model or of scores, 16 hexadecimal digits."""
    return blake2b(content, digest_size=8).hexdigest()


def parse_entry(content: bytes) -> Entry:
    """Parse the record of a fit, final or failed, with its trials.

    Raises
    ------
    ValueError : the record is damaged or was written by another version of puoc.
    """
    with _damage_as_value_error():
        value = json.loads(content)
        trials = {key: TrialResult.model_validate(trial) for key, trial in value["trials"].items()}
        return Entry(FitResult.model_validate(value["result"]), trials, {})


def parse_trial(content: bytes) -> TrialResult:
    """Parse the record of a trial that was scored after the final record. Raises ValueError as ``parse_entry``."""
    with _damage_as_value_error():
        return TrialResult.model_validate(json.loads(content))


@contextmanager
def _damage_as_value_error() -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # not JSON, not text, or of another form
        reason = " ".join(str(error).split())
        raise ValueError(f"not a record of this version of puoc, or damaged ({reason})") from error


def record_of(result: FitResult, trials: dict[str, TrialResult]) -> JsonObject:
    """Return the JSON of a fit's record."""
    return {"result": result.canonical(), "trials": {key: value.canonical() for key, value in trials.items()}}


def read_parsed(path: Path, parse: Callable[[bytes], R]) -> R:
    """Read a record by one of the parsers. Raises ValueError, with the file, if it is damaged."""
    try:
        return parse(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}; delete it and run again") from error
