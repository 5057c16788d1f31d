"""Files of results: whatever became of one, its rows come back as they were written, or its name is told."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from project import REPOSITORY

from puoc.datasets.prepare.arrays import prepare
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params
from puoc.run.stages import run_part
from puoc.store.checked_parquet import BY_SWEEP, FROM_LEDGER, read_frame, read_rows, to_parquet, write_rows
from puoc.store.result_rows import TEST_COLUMNS, OutcomeRow, ResultRow

FLIPS = 1500
OUTCOME = [field.name for field in fields(OutcomeRow)]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Validation rows of the tiny profile's sweep."""
    root = tmp_path_factory.mktemp("swept")
    make_plan(read_params(REPOSITORY / "profiles" / "tiny.yaml", REPOSITORY)).write(root)
    prepare("digits", root / "data", root / "work" / "prepared")
    run_part(root, "tune", "pu_svm")
    return root / "results" / "tune" / "val" / "pu_svm.parquet"


def flipped(content: bytes, chance: random.Random, n: int = 1) -> bytes:
    """With ``n`` bits turned."""
    damaged = bytearray(content)
    for _ in range(n):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def outcomes(path: Path) -> list[OutcomeRow]:
    return read_rows(path, OutcomeRow)


def outcome_frame(path: Path) -> pd.DataFrame:
    return read_frame(path, OUTCOME)


def told(path: Path) -> str:
    """What is said of a file that cannot be read, by both readers."""
    said = []
    for read in (outcomes, outcome_frame):
        with pytest.raises(ValueError, match="delete it, and dvc repro writes it again from the ledger") as raised:
            read(path)
        assert str(raised.value).startswith(f"{path}: ")
        assert str(raised.value).count(str(path)) == str(raised.value).count("\n") + 1 == 1
        said.append(str(raised.value))
    return said[0]


@pytest.mark.parametrize("bits", [1, 2, 5])
def test_flipped_bits_are_told_or_change_nothing(results: Path, tmp_path: Path, bits: int) -> None:
    content, rows, frame = results.read_bytes(), read_rows(results, ResultRow), read_frame(results)
    chance, path, n_told = random.Random(bits), tmp_path / "damaged.parquet", 0
    for _ in range(FLIPS // bits):
        path.write_bytes(flipped(content, chance, bits))
        try:
            found = read_rows(path, ResultRow)
        except ValueError as error:
            assert str(error).startswith(f"{path}: "), error  # noqa: PT017 - either may happen
            n_told += 1
        else:
            assert found == rows
            pd.testing.assert_frame_equal(read_frame(path), frame)
    assert n_told > FLIPS // bits * 0.97  # all but those of the checksum's own name


@pytest.mark.slow
def test_flipped_bits_of_a_file_without_a_checksum_are_told_where_they_are_seen(results: Path, tmp_path: Path) -> None:
    pq.write_table(pq.ParquetFile(results).read().replace_schema_metadata(None), tmp_path / "old.parquet")
    content, chance, path = (tmp_path / "old.parquet").read_bytes(), random.Random(0), tmp_path / "damaged.parquet"
    assert read_rows(tmp_path / "old.parquet", ResultRow) == read_rows(results, ResultRow)
    n_told = 0
    for _ in range(FLIPS // 3):
        path.write_bytes(flipped(content, chance))
        for read in (outcomes, outcome_frame):
            try:
                read(path)
            except ValueError as error:
                assert str(error).startswith(f"{path}: "), error  # noqa: PT017 - either may happen
                n_told += 1
    assert n_told > FLIPS // 3 / 4


@pytest.mark.parametrize("share", [0, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999])
def test_a_file_that_breaks_off_is_told(results: Path, tmp_path: Path, share: float) -> None:
    content, path = results.read_bytes(), tmp_path / "short.parquet"
    path.write_bytes(content[: int(share * len(content))])
    assert "damaged (" in told(path)


@pytest.mark.parametrize("content", [b"PA", b"PAR1", b"PAR1PAR1", b"entry,seed\n1,2\n", b"\x00" * 1000, b"[]"])
def test_what_is_no_parquet_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "text.parquet"
    path.write_bytes(content)
    assert "damaged (" in told(path)


def test_appended_bytes_and_those_of_another_file_are_told(results: Path, tmp_path: Path) -> None:
    content, path = results.read_bytes(), tmp_path / "mixed.parquet"
    for mixed in (content + b"\n", content + content, content[:2000] + content[2001:]):
        path.write_bytes(mixed)
        assert "damaged (" in told(path)


ODD_TABLES: dict[str, tuple[Callable[[], pa.Table], str]] = {
    "of other columns": (lambda: pa.table({"a": [1], "b": ["x"]}), "no column entry, config_id, cell, .* among a, b; "),
    "of no columns": (lambda: pa.table({}), "no column entry, .* among none; "),
    "that lacks one": (
        lambda: pa.table({name: pa.array([], "string") for name in OUTCOME if name != "status"}),
        "no column status among entry, config_id, cell, seed, fit_id, ...; ",
    ),
}


@pytest.mark.parametrize("name", ODD_TABLES)
@pytest.mark.parametrize("sealed", [True, False])
def test_a_table_of_something_else_is_told_with_what_it_lacks(tmp_path: Path, name: str, sealed: bool) -> None:
    make, expected = ODD_TABLES[name]
    path = tmp_path / "other.parquet"
    if sealed:
        path.write_bytes(to_parquet(make()))
    else:
        pq.write_table(make(), path)
    with pytest.raises(ValueError, match=expected):
        outcomes(path)
    assert "no column" in told(path)


def test_the_message_says_how_the_file_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "sweep.parquet"
    path.write_bytes(b"")
    for again in (FROM_LEDGER, BY_SWEEP):
        with pytest.raises(ValueError, match=again):
            read_rows(path, OutcomeRow, again)


def test_what_lies_not_there_or_is_a_folder_is_the_systems_own_error(tmp_path: Path) -> None:
    for read in (outcomes, outcome_frame):
        with pytest.raises(FileNotFoundError, match="gone"):
            read(tmp_path / "gone.parquet")
        with pytest.raises(IsADirectoryError, match=str(tmp_path)):
            read(tmp_path)


def test_equal_rows_give_equal_bytes_that_any_reader_of_parquet_reads(results: Path, tmp_path: Path) -> None:
    rows = read_rows(results, ResultRow)
    columns = [field.name for field in fields(ResultRow) if field.name not in TEST_COLUMNS]
    write_rows(tmp_path / "again.parquet", rows, ResultRow, TEST_COLUMNS)
    assert (tmp_path / "again.parquet").read_bytes() == results.read_bytes()
    assert [ResultRow(**row) for row in pq.read_table(results).to_pylist()] == rows
    assert list(pd.read_parquet(results).columns) == columns


@pytest.mark.parametrize("value", ["one", None, 0.5])
def test_a_value_of_another_type_is_told_with_its_column(results: Path, tmp_path: Path, value: object) -> None:
    table, path = pq.ParquetFile(results).read(), tmp_path / "other.parquet"
    column = pa.array([value] * len(table))
    path.write_bytes(to_parquet(table.set_column(table.schema.get_field_index("seed"), "seed", column)))
    with pytest.raises(ValueError, match=rf"other\.parquet: column seed: got {value!r} \(.*\); delete it"):
        outcomes(path)
