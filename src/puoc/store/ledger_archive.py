"""Export of a ledger to one file, and import of such a file.

An export is one parquet file with one row per record: key columns for queries, the exact JSON of the record, and the
scores. It contains no models, since they can be fitted again, and no claims.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from puoc.records import Fit
from puoc.store.atomic import create
from puoc.store.ledger import Ledger
from puoc.store.ledger_files import (
    RecordFile,
    check_record,
    check_scores,
    final_fit,
    fits_of,
    read_record,
    records_among,
)

if TYPE_CHECKING:
    import pyarrow as pa

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
