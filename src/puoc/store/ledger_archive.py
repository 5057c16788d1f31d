"""Maintenance of a ledger: count its records, verify them, export and import them, and remove unused files.

An export is one parquet file with one row per record: key columns for queries, the exact JSON of the record, and the
scores. It contains no models, since they can be fitted again, and no claims.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from puoc.records import Fit
from puoc.store import claims
from puoc.store.atomic import create
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

if TYPE_CHECKING:
    import pyarrow as pa

_MIN_AGE = 86400.0  # seconds; a younger file may belong to a paused process, or to a machine with another clock
_BATCH_SIZE = 256  # records in memory at once


class ArchiveRow(NamedTuple):
    """A row of an exported file: one record. The fields are the columns."""

    fit_id: str
    name: str  # of the record's file
    status: str | None
    method: str | None
    dataset: str | None
    seed: int | None
    auc: list[tuple[str, float | None]]  # by trial id
    record: str  # JSON
    scores: list[tuple[str, bytes]]  # npy files by name


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
    counts["claimed"] = sum(claims.is_held(path) for path in ledger.root.glob("[0-9a-f][0-9a-f]/*.claim"))
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


def export(ledger: Ledger, path: Path) -> None:
    """Write every record and all scores to one parquet file, without models.

    Columns: ``fit_id``, ``name`` (of the record's file), ``status``, ``method``, ``dataset``, ``seed``, ``auc`` (by
    trial id), ``record`` (JSON), ``scores`` (npy files by name).

    Raises
    ------
    ValueError : the suffix is not .parquet, a record is damaged, or scores are missing. Nothing is written then.
    """
    if path.suffix.lower() != ".parquet":
        raise ValueError(f"{path}: got {path.suffix or 'no suffix'}; expected .parquet, the format of the file")
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name}.{uuid.uuid4().hex[:8]}"
    rows, schema = _rows(ledger), _schema()
    try:
        with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            while batch := list(islice(rows, _BATCH_SIZE)):
                writer.write_table(pa.Table.from_pylist([row._asdict() for row in batch], schema=schema))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def import_(ledger: Ledger, path: Path) -> tuple[int, int]:
    """Add the records of an exported file; records of the ledger are not changed.

    Returns
    -------
    The number of added records, and the number of records that were not added: the ledger has the record, or a final
    record of its fit.

    Raises
    ------
    ValueError : the file is no export, or a record or scores in it do not match their name. Nothing is added then.
    """
    for _ in _checked(ledger, path):
        pass  # the whole file is checked before anything is added
    new = known = 0
    for row, record in _checked(ledger, path):
        folder = ledger.root / record.fit_id[:2]
        late = record.kind in ("failed", "retry") and ledger.is_final(record.fit_id)
        added = not late and not (folder / row.name).exists() and _add(folder, row)
        new, known = new + added, known + (not added)
    return new, known


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


def _schema() -> pa.Schema:
    import pyarrow as pa

    text = pa.string()
    columns = dict.fromkeys(("fit_id", "name", "status", "method", "dataset"), text) | {"seed": pa.int64()}
    columns |= {"auc": pa.map_(text, pa.float64()), "record": text, "scores": pa.map_(text, pa.binary())}
    return pa.schema(list(columns.items()))


def _rows(ledger: Ledger) -> Iterator[ArchiveRow]:
    for folder, _, names in fits_of(ledger):
        for name in records_among(names):
            record, fit = read_record(folder / name), final_fit(folder / name)
            fit = record.result.fit if record.result else fit
            yield ArchiveRow(
                fit_id=record.fit_id,
                name=name,
                status=record.result.status if record.result else ("ok" if record.trials else None),
                method=fit.method if fit else None,
                dataset=fit.sample.dataset if fit else None,
                seed=fit.seed if fit else None,
                auc=[(trial.trial_id, trial.auc) for trial in record.trials],
                record=(folder / name).read_text(encoding="utf-8"),
                scores=[(t.scores, _scores(folder / t.scores)) for t in record.trials if t.scores],
            )


def _scores(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ValueError(
            f"{path}: these scores are missing, so the ledger cannot be exported; see puoc ledger verify"
        ) from error


def _checked(ledger: Ledger, path: Path) -> Iterator[tuple[ArchiveRow, RecordFile]]:
    """Yield the rows of an exported file with their parsed records."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fits: dict[str, Fit] = {}
    try:
        file = pq.ParquetFile(path)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror or error}); expected an exported ledger") from error
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: not a parquet file ({error}); expected one written by puoc ledger export") from error
    with file:
        if not file.schema_arrow.equals(_schema()):
            raise ValueError(f"{path}: columns {file.schema_arrow.names}; expected those written by puoc ledger export")
        for batch in file.iter_batches(_BATCH_SIZE):
            for row in (ArchiveRow(**values) for values in batch.to_pylist()):
                try:
                    record = _check_row(row, fits, ledger)
                except ValueError as error:
                    raise ValueError(f"{path}: {row.name}: {error}; nothing was imported") from error
                yield row, record


def _check_row(row: ArchiveRow, fits: dict[str, Fit], ledger: Ledger) -> RecordFile:
    name, scores = row.name, dict(row.scores)
    fit = fits.get(name[:24]) or final_fit(ledger.root / name[:2] / name)
    record = check_record(name, row.record.encode(), fit)
    if record.result and record.kind == "final":
        fits[record.fit_id] = record.result.fit
    if set(scores) != {trial.scores for trial in record.trials if trial.scores}:
        raise ValueError(f"got the scores {sorted(scores)}; expected those that the record names")
    for trial in record.trials:
        if trial.scores:
            check_scores(trial.scores, scores[trial.scores], trial)
    return record


def _add(folder: Path, row: ArchiveRow) -> bool:
    for name, content in row.scores:
        create(folder / name, content)
    return create(folder / row.name, row.record.encode())
