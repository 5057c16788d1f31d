"""Single files of a ledger: the meaning of their names, and checks of their content against the name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np

from puoc.records import Fit, FitResult, Trial, TrialResult
from puoc.store.ledger import Ledger
from puoc.store.ledger_records import content_name, parse_entry, parse_trial

NAME = re.compile(
    r"(?P<fit>[0-9a-f]{24})(?:(?P<final>\.json)|\.failed-(?P<failed>[1-9]\d*)\.json|(?P<retry>\.retry-[1-9]\d*)"
    r"|\+(?P<trial>[0-9a-f]{24})(?:\.(?P<scoring>[0-9a-f]{16}))?\.json"
    r"|(?P<content>\.[0-9a-f]{16}\.(?:npy|safetensors))|(?P<claim>\.claim))"
)
TEMPORARY = re.compile(r"\.(?P<fit>[0-9a-f]{24})[.+].+")

#: Kinds of records, in the order in which they are written.
KINDS = ("failed", "retry", "final", "trial")


class RecordFile(NamedTuple):
    """A file of a record, whose content matches its name."""

    fit_id: str
    kind: str  # one of KINDS
    result: FitResult | None  # of a final record or a failed attempt
    trials: tuple[TrialResult, ...]

    @property
    def files(self) -> set[str]:
        """Return the names of the models and scores that the record refers to."""
        names = [trial.scores for trial in self.trials] + ([self.result.model] if self.result else [])
        return {name for name in names if name is not None}


def kind_of(name: str) -> str | None:
    """Return the kind of record in a file with this name; None if the file is no record."""
    match = NAME.fullmatch(name)
    return next((kind for kind in KINDS if match[kind]), None) if match else None


def check_record(name: str, content: bytes, fit: Fit | None = None) -> RecordFile:
    """Parse a record and compare it with its name.

    Parameters
    ----------
    fit : the fit of a trial that has a record of its own; other records contain their fit.

    Raises
    ------
    ValueError : the name is not that of a record, the record is damaged, or its fit, status, attempt or trial is not
        the one in the name.
    """
    match, kind = NAME.fullmatch(name), kind_of(name)
    if match is None or kind is None:
        raise ValueError("not the name of a record")
    fit_id = match["fit"]
    if kind == "retry":
        return RecordFile(fit_id, kind, None, ())
    if kind == "trial":
        trial = parse_trial(content)
        if fit is None:
            raise ValueError(f"the record of fit {fit_id}, which this trial belongs to, is missing or damaged")
        _check_trial(match["trial"], trial, fit)
        if match["scoring"] not in (None, trial.scoring_digest):
            raise ValueError(f"got a trial scored by code {trial.scoring_digest}; expected the digest in its name")
        return _own_files(RecordFile(fit_id, kind, None, (trial,)))
    result, trials, _ = parse_entry(content)
    if result.fit.id != fit_id:
        raise ValueError(f"got the fit {result.fit.id}; expected the fit in its name")
    if (result.status == "failed") != (kind == "failed"):
        raise ValueError(f"got the status {result.status}; expected the status in its name")
    if kind == "failed" and result.attempts != int(match["failed"]):
        raise ValueError(f"got attempt {result.attempts}; expected the attempt in its name")
    for trial_id, trial in trials.items():
        _check_trial(trial_id, trial, result.fit)
    return _own_files(RecordFile(fit_id, kind, result, tuple(trials.values())))


def check_scores(name: str, content: bytes, trial: TrialResult) -> None:
    """Raise ValueError if scores do not match their name, or are not one per test row."""
    _check_content(name, content)
    try:
        scores = np.load(BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"not an npy file ({error})") from error
    if scores.shape != (trial.n_pos + trial.n_neg,):
        raise ValueError(f"scores of shape {scores.shape}; expected ({trial.n_pos + trial.n_neg},), one per test row")


def check_model(name: str, content: bytes) -> None:
    """Raise ValueError if a model does not match its name, or is no safetensors file."""
    from safetensors import SafetensorError, deserialize

    _check_content(name, content)
    try:
        deserialize(content)
    except SafetensorError as error:
        raise ValueError(f"not a safetensors file ({error})") from error


def _own_files(record: RecordFile) -> RecordFile:
    for name in record.files:
        match = NAME.fullmatch(name)
        if match is None or not match["content"] or match["fit"] != record.fit_id:
            raise ValueError(f"it names the file {name!r}; expected a model or scores of its own fit")
    return record


def _check_content(name: str, content: bytes) -> None:
    content_hash = content_name(content)
    if content_hash != name.split(".")[1]:
        raise ValueError(f"its content has the name {content_hash}, so it was changed or is another file")


def _check_trial(trial_id: str, trial: TrialResult, fit: Fit) -> None:
    expected = Trial(fit=fit, test=trial.test).id
    if not trial_id == trial.trial_id == expected or trial.fit_id != fit.id:
        raise ValueError(
            f"trial {trial_id}: got the ids {trial.trial_id} and {trial.fit_id} (its fit); expected {expected} and "
            f"{fit.id}, from its content"
        )


def fits_of(ledger: Ledger) -> Iterator[tuple[Path, str, list[str]]]:
    """Yield folder, fit id and file names of each fit, with temporary files. Any other file is a fit of its own."""
    for folder in sorted(path for path in ledger.root.glob("[0-9a-f][0-9a-f]") if path.is_dir()):
        names: dict[str, list[str]] = defaultdict(list)
        for path in folder.iterdir():
            names[path.name.removeprefix(".")[:24]].append(path.name)
        for fit_id in sorted(names):
            yield folder, fit_id, sorted(names[fit_id])


def records_among(names: Iterable[str]) -> list[str]:
    """Return the names of records among files of one fit, in the order in which they were written."""
    return sorted((n for n in names if kind_of(n)), key=lambda n: (KINDS.index(str(kind_of(n))), len(n), n))


def read_record(path: Path) -> RecordFile:
    """Read and check a record. Raises ValueError as ``check_record``, with the path of the file in the message."""
    try:
        return check_record(path.name, path.read_bytes(), final_fit(path))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def final_fit(path: Path) -> Fit | None:
    """Return the fit of a trial with a record of its own, from the final record beside it; None for other records."""
    final = path.with_name(f"{path.name[:24]}.json")
    if kind_of(path.name) != "trial" or not final.exists():
        return None
    result = check_record(final.name, final.read_bytes()).result
    return result.fit if result else None
