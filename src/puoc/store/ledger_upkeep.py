"""Upkeep of a ledger: count its records, verify them, and remove files that no record refers to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from puoc.store import claims
from puoc.store.ledger import Ledger
from puoc.store.ledger_files import (
    NAME,
    TEMPORARY,
    RecordFile,
    check_model,
    check_record,
    check_scores,
    final_fit,
    fits_of,
    read_record,
    records_among,
)

_MIN_AGE = 86400.0  # seconds; a younger file may belong to a paused process, or to a machine with another clock


def count(ledger: Ledger) -> dict[str, int]:
    """Count fits by outcome, and the fits that are claimed now.

    Returns
    -------
    Numbers of fits: ``ok``, ``failed`` (an attempt is left), ``skipped`` (not applicable), ``quarantined`` (no attempt
    is left) and ``claimed``.

    Raises
    ------
    ValueError : a record is damaged; ``verify`` lists them all.
    """
    counts = dict.fromkeys(("ok", "failed", "skipped", "quarantined", "claimed"), 0)
    for fit_id in ledger.ids():
        entry = ledger.get(fit_id)
        if entry is not None:
            spent = entry.result.status == "failed" and not ledger.may_try(fit_id)
            counts["quarantined" if spent else entry.result.status] += 1
    counts["claimed"] = sum(claims.is_held(path) for path in _claims(ledger))
    return counts


def verify(ledger: Ledger) -> list[str]:
    """Return the faults of a ledger, one sentence each; empty if there are none.

    A record must parse and have the id of its fit as name. The models and scores that it refers to must exist, be
    complete, and have the hash of their content in their name. Missing models are reported in one sentence together,
    because an imported ledger has none.
    """
    faults: list[str] = []
    no_model: list[Path] = []
    for folder, fit_id, names in fits_of(ledger):
        strange = [name for name in names if not NAME.fullmatch(name) and not TEMPORARY.fullmatch(name)]
        faults += [f"{folder / name}: not the name of a file of a ledger; move the file elsewhere" for name in strange]
        if not strange and folder.name != fit_id[:2]:
            faults.append(f"{folder}: holds files of {fit_id}; expected them in {folder.with_name(fit_id[:2])}")
        for path in (folder / name for name in records_among(names)):
            with _faults_noted(faults, path):
                record = check_record(path.name, path.read_bytes(), final_fit(path))
                _verify_files(folder, record, faults, no_model)
    if no_model:
        faults.append(f"{no_model[0]}: this model is missing, {len(no_model)} in all; an exported ledger has no models")
    return faults


def _verify_files(folder: Path, record: RecordFile, faults: list[str], no_model: list[Path]) -> None:
    for trial in record.trials:
        if trial.scores is not None:
            with _faults_noted(faults, folder / trial.scores):
                check_scores(trial.scores, (folder / trial.scores).read_bytes(), trial)
    model = folder / record.result.model if record.result and record.result.model else None
    if model and not model.exists():
        no_model.append(model)
    elif model:
        with _faults_noted(faults, model):
            check_model(model.name, model.read_bytes())


def clear_claims(ledger: Ledger) -> None:
    """Remove the dead claims of fits with a final record.

    A process that is killed between the record and the release of a claim leaves such a claim, and no process claims
    the fit again.

    Raises
    ------
    OSError : a claim cannot be read or removed.
    """
    for path in _claims(ledger):
        if ledger.is_final(path.stem):
            claims.clear(path)


def _claims(ledger: Ledger) -> Iterator[Path]:
    return ledger.root.glob("[0-9a-f][0-9a-f]/*.claim")


def compact(ledger: Ledger) -> int:
    """Remove dead claims, and unused temporary files, models and scores that are older than a day.

    The files of a fit are checked under its claim: fits that are being computed are left out, and no process can begin
    with a fit meanwhile.

    Returns
    -------
    The number of removed files. Records are never removed.

    Raises
    ------
    ValueError : a record is damaged, so its models and scores are not known. No file of that fit is removed.
    """
    removed = 0
    for folder, fit_id, names in fits_of(ledger):
        claim = folder / f"{fit_id}.claim"
        if claim.name in names and not claims.is_held(claim):
            removed += claims.clear(claim)
        if folder.name != fit_id[:2] or not any(_is_loose(folder / name) for name in names):
            continue
        fit_claim = ledger.claim(fit_id)
        if fit_claim is not None:
            try:
                removed += _remove_loose(folder, fit_id)
            finally:
                fit_claim.release()
    return removed


def _remove_loose(folder: Path, fit_id: str) -> int:
    names = [path.name for path in folder.iterdir() if fit_id in path.name]
    referred: set[str] = set()
    for name in records_among(names):
        referred |= read_record(folder / name).files
    loose = [folder / name for name in names if name not in referred and _is_loose(folder / name)]
    for path in loose:
        path.unlink(missing_ok=True)
    return len(loose)


def _is_loose(path: Path) -> bool:
    """Return True for an old model, scores or temporary file, so for neither a record nor a claim."""
    match = NAME.fullmatch(path.name)
    if not (match["content"] if match else TEMPORARY.fullmatch(path.name)):
        return False
    try:
        return time.time() - path.stat().st_mtime > _MIN_AGE
    except FileNotFoundError:  # a temporary file that its writer has just removed
        return False


@contextmanager
def _faults_noted(faults: list[str], path: Path) -> Iterator[None]:
    """Add a fault to the list if a file cannot be read or a check of its content raises."""
    try:
        yield
    except OSError as error:
        faults.append(f"{path}: cannot be read ({error.strerror})")
    except ValueError as error:
        faults.append(f"{path}: {error}")
