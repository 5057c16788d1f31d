"""The files of a ledger one by one: what their names say, and whether their content agrees."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np

from puoc.records import Fit, FitResult, Trial, TrialResult
from puoc.store.ledger import Ledger, content_name, parse_entry, parse_trial

NAME = re.compile(
    r"(?P<fit>[0-9a-f]{24})(?:(?P<final>\.json)|\.failed-(?P<failed>[1-9]\d*)\.json|(?P<retry>\.retry-[1-9]\d*)"
    r"|\+(?P<trial>[0-9a-f]{24})(?:\.(?P<scoring>[0-9a-f]{16}))?\.json"
    r"|(?P<content>\.[0-9a-f]{16}\.(?:npy|safetensors))|(?P<claim>\.claim))"
)
TEMPORARY = re.compile(r"\.(?P<fit>[0-9a-f]{24})[.+].+")

#: Kinds of records, in the order in which they come into being.
KINDS = ("failed", "retry", "final", "trial")


class RecordFile(NamedTuple):
    """A record's file that is what its name says."""

    fit_id: str
    kind: str  # one of KINDS
    result: FitResult | None  # of a final record or a failed attempt
    trials: tuple[TrialResult, ...]

    @property
    def files(self) -> set[str]:
        """Names of the models and scores it refers to."""
        named = [trial.scores for trial in self.trials] + ([self.result.model] if self.result else [])
        return {name for name in named if name is not None}


def kind_of(name: str) -> str | None:
    """The kind of record that a file of this name holds; None where it holds none."""
    found = NAME.fullmatch(name)
    return next((kind for kind in KINDS if found[kind]), None) if found else None


def check_record(name: str, content: bytes, fit: Fit | None = None) -> RecordFile:
    """Parse a record and compare it with its name.

    Parameters
    ----------
    fit : of a trial's own record, the fit it belongs to; other records hold theirs.

    Raises
    ------
    ValueError : not a record's name, damaged, or of another fit, status, attempt or trial than the name says.
    """
    found, kind = NAME.fullmatch(name), kind_of(name)
    if found is None or kind is None:
        raise ValueError("not the name of a record")
    fit_id = found["fit"]
    if kind == "retry":
        return RecordFile(fit_id, kind, None, ())
    if kind == "trial":
        trial = parse_trial(content)
        if fit is None:
            raise ValueError(f"the record of fit {fit_id}, which this trial belongs to, is missing or damaged")
        _check_trial(found["trial"], trial, fit)
        if found["scoring"] not in (None, trial.scoring_digest):
            raise ValueError(f"it was scored by code {trial.scoring_digest}; expected that in its name")
        return _own_files(RecordFile(fit_id, kind, None, (trial,)))
    result, trials, _ = parse_entry(content)
    if result.fit.id != fit_id:
        raise ValueError(f"it holds the fit {result.fit.id}; expected the one in its name")
    if (result.status == "failed") != (kind == "failed"):
        raise ValueError(f"its status is {result.status}, which this name does not stand for")
    if kind == "failed" and result.attempts != int(found["failed"]):
        raise ValueError(f"it holds attempt {result.attempts}; expected the one in its name")
    for trial_id, trial in trials.items():
        _check_trial(trial_id, trial, result.fit)
    return _own_files(RecordFile(fit_id, kind, result, tuple(trials.values())))


def check_scores(name: str, content: bytes, trial: TrialResult) -> None:
    """Raise ValueError where scores are not those in the name, or not one per test row."""
    _check_content(name, content)
    try:
        scores = np.load(BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"not an npy file ({error})") from error
    if scores.shape != (trial.n_pos + trial.n_neg,):
        raise ValueError(f"scores of shape {scores.shape}; expected ({trial.n_pos + trial.n_neg},), one per test row")


def check_model(name: str, content: bytes) -> None:
    """Raise ValueError where a model is not the one in the name, or no safetensors file."""
    from safetensors import SafetensorError, deserialize

    _check_content(name, content)
    try:
        deserialize(content)
    except SafetensorError as error:
        raise ValueError(f"not a safetensors file ({error})") from error


def _own_files(record: RecordFile) -> RecordFile:
    for name in record.files:
        found = NAME.fullmatch(name)
        if found is None or not found["content"] or found["fit"] != record.fit_id:
            raise ValueError(f"it names the file {name!r}; expected a model or scores of its own fit")
    return record


def _check_content(name: str, content: bytes) -> None:
    found = content_name(content)
    if found != name.split(".")[1]:
        raise ValueError(f"its content has the name {found}, so it was changed or is another file")


def _check_trial(trial_id: str, trial: TrialResult, fit: Fit) -> None:
    asked = Trial(fit=fit, test=trial.test).id
    if not trial_id == trial.trial_id == asked or trial.fit_id != fit.id:
        raise ValueError(
            f"trial {trial_id} says it is {trial.trial_id} of fit {trial.fit_id}, but its question is {asked}"
        )


def fits_of(ledger: Ledger) -> Iterator[tuple[Path, str, list[str]]]:
    """Folder, fit and the names of its files, temporary ones among them. Any other file comes as a fit of its own."""
    for folder in sorted(path for path in ledger.root.glob("[0-9a-f][0-9a-f]") if path.is_dir()):
        names: dict[str, list[str]] = defaultdict(list)
        for path in folder.iterdir():
            names[path.name.removeprefix(".")[:24]].append(path.name)
        for fit_id in sorted(names):
            yield folder, fit_id, sorted(names[fit_id])


def records_among(names: Iterable[str]) -> list[str]:
    """The records among files of one fit, as they came into being."""
    return sorted((n for n in names if kind_of(n)), key=lambda n: (KINDS.index(str(kind_of(n))), len(n), n))


def read_record(path: Path) -> RecordFile:
    """A checked record. Raises ValueError, which names the file, where ``check_record`` does."""
    try:
        return check_record(path.name, path.read_bytes(), final_fit(path))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def final_fit(path: Path) -> Fit | None:
    """For a trial's own record, the fit in the final record beside it."""
    final = path.with_name(f"{path.name[:24]}.json")
    if kind_of(path.name) != "trial" or not final.exists():
        return None
    result = check_record(final.name, final.read_bytes()).result
    return result.fit if result else None
