"""The rows of ``results/**/*.parquet``. The fields of a class are the columns of a file, in their order.

A field without a default value is a column that a file must have. A field that may be None is a column that may be
empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

from puoc.store.checked_parquet import FROM_LEDGER, read_rows, write_rows


@dataclass(frozen=True, kw_only=True)
class ResultRow:
    """A row of a table, or of a sweep: one planned trial, whether it has a result or not."""

    table: str
    scenario: str
    dataset: str
    entry: str
    method: str
    kind: str
    twin: str | None
    labels: str
    configs: str
    config_source: str | None
    config_id: str | None
    is_published: bool | None
    params: str  # JSON text
    numerics: str
    encoder: str | None
    prior: str | None
    cell: str
    cell_index: int
    seed: int
    pos: str  # JSON text, as the next two
    neg: str | None
    neg_test: str | None
    n_pos_lab: int
    n_pos_unl: int | None
    n_neg_unl: int | None
    n_unl: int | None = None  # unlabelled rows of unknown classes; the two columns before it are empty then
    alpha: float | None
    prior_alpha: float | None
    alpha_hat: float | None
    status: str  # ok, failed, skipped or missing
    reason: str | None
    attempts: int
    auc: float | None = None  # validation rows of a sweep lack this column and the next one
    auc_train_pool: float | None = None
    auc_val_pu: float | None
    metrics: str | None = None  # of test rows, JSON text by name; validation rows of a sweep lack it
    metrics_val_pu: str | None = None  # of withheld rows, JSON text by name
    fit_seconds: float | None
    peak_memory: int | None
    n_lanes: int | None
    lane_map: str | None
    device: str | None
    torch_version: str | None
    fit_id: str
    trial_id: str
    encoder_fit_id: str | None
    prior_fit_id: str | None
    code_digest: str
    draw_digest: str
    scoring_digest: str
    adopted_from: str | None = None  # id of the fit with other digests that has the record of this one
    imported_from: str | None = None  # title and date of the published results that the record comes from
    computed_by: str | None = None  # of published results: version of puoc and commit
    record_fit_id: str | None = None  # of published results: ids of the record, where other code computed it
    record_trial_id: str | None = None
    marks: str | None = None  # warnings shown with the numbers: test rows that overlap with training rows
    labelling: str | None = None  # mechanism of biased labelling; None: SCAR
    setting: str | None = None  # single_training_set; None: case control
    n_noise: int | None = None  # negatives among the n_pos_lab rows of P; None: none

    @property
    def ids_in_ledger(self) -> tuple[str, str]:
        """Return the ids of the fit and of the trial by which the ledger has them."""
        return self.record_fit_id or self.fit_id, self.record_trial_id or self.trial_id


@dataclass(frozen=True, kw_only=True)
class TrialKey:
    """Columns that identify a trial in a file."""

    entry: str
    config_id: str | None
    cell: str
    seed: int
    fit_id: str
    trial_id: str


@dataclass(frozen=True, kw_only=True)
class TestRow(TrialKey):
    """The columns of a sweep that depend on test labels. They have a file of their own, so that no choice reads it."""

    __test__ = False  # not a test case of pytest

    auc: float | None
    auc_train_pool: float | None
    metrics: str | None = None  # JSON text by name

    @classmethod
    def of(cls, row: ResultRow) -> Self:
        """Return these columns of a row."""
        return cls(
            entry=row.entry,
            config_id=row.config_id,
            cell=row.cell,
            seed=row.seed,
            fit_id=row.fit_id,
            trial_id=row.trial_id,
            auc=row.auc,
            auc_train_pool=row.auc_train_pool,
            metrics=row.metrics,
        )


@dataclass(frozen=True, kw_only=True)
class OutcomeRow(TrialKey):
    """The columns that show whether a trial has a result."""

    status: str
    reason: str | None
    attempts: int
    scoring_digest: str


@dataclass(frozen=True, kw_only=True)
class ValidationRow(OutcomeRow):
    """The columns of a sweep that a configuration is chosen by."""

    config_id: str
    auc_val_pu: float | None
    is_published: bool
    params: str  # JSON text
    kind: str


#: Columns that validation rows of a sweep lack.
TEST_COLUMNS = ("auc", "auc_train_pool", "metrics")


def read_results(path: Path, again: str = FROM_LEDGER) -> list[ResultRow]:
    """Read the rows of a table, or the validation rows of a sweep. See ``read_rows`` for parameters and errors."""
    return read_rows(path, ResultRow, again, first=[field.name for field in fields(OutcomeRow)])


def write_table(folder: Path, name: str, rows: Sequence[ResultRow]) -> None:
    """Write the rows of a table to ``<name>.parquet``."""
    write_rows(folder / f"{name}.parquet", rows, ResultRow)


def write_sweep(folder: Path, name: str, rows: Sequence[ResultRow]) -> None:
    """Write the rows of a sweep to ``val/<name>.parquet``, and their test columns to ``test/<name>.parquet``."""
    write_rows(folder / "val" / f"{name}.parquet", rows, ResultRow, TEST_COLUMNS)
    write_rows(folder / "test" / f"{name}.parquet", [TestRow.of(row) for row in rows], TestRow)
