"""Preparing: done once, whole or not at all, and never other arrays than declared."""

import json

import numpy as np
import pytest

from puoc.datasets import DATASETS
from puoc.datasets.declare.dataset import Arrays
from puoc.datasets.prepare.arrays import Prepared, prepare
from puoc.run.stages import prepare_data
from puoc.scenarios.drawing.draws import split_rows
from puoc.store.atomic import write_json


@pytest.fixture
def folder(tmp_path):
    prepare("digits", tmp_path / "data", tmp_path / "prepared")
    return tmp_path / "prepared" / "digits"


def again(folder):
    return prepare("digits", folder.parent.parent / "data", folder.parent)


def test_what_is_prepared_is_not_touched(folder):
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert set(before) == {"X.npy", "y.npy", "group.npy", "meta.json"}
    (folder.parent.parent / "data" / "digits" / "digits.csv.gz").unlink()
    again(folder)
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    assert not (folder.parent.parent / "data" / "digits" / "digits.csv.gz").exists()


@pytest.mark.parametrize("part", ["X.npy", "y.npy", "group.npy", "meta.json"])
@pytest.mark.parametrize("damage", ["absent", "truncated"])
def test_a_damaged_folder_is_refused_and_prepared_anew(folder, part, damage):
    whole = (folder / part).read_bytes()
    (folder / part).unlink()
    if damage == "truncated":
        (folder / part).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="run `puoc prepare`"):
        Prepared.open(folder)
    again(folder)
    assert (folder / part).read_bytes() == whole


@pytest.mark.parametrize("part", ["X.npy", "y.npy", "group.npy"])
def test_an_array_that_was_changed_since_is_prepared_anew(folder, part):
    """Of the same shape, so that nothing but its bytes tells."""
    whole = (folder / part).read_bytes()
    (folder / part).write_bytes(whole[:-7] + bytes([whole[-7] ^ 1]) + whole[-6:])
    assert Prepared.open(folder).digest == DATASETS["digits"].digest
    again(folder)
    assert (folder / part).read_bytes() == whole


def test_a_dataset_that_is_being_added_is_told_its_digest(tmp_path, monkeypatch):
    actual = DATASETS["digits"].digest
    monkeypatch.setattr(DATASETS["digits"], "digest", "")
    with pytest.raises(ValueError, match=f'no digest is declared; write digest = "{actual}" into puoc.datasets.digits'):
        prepare("digits", tmp_path / "data", tmp_path / "prepared")
    assert not (tmp_path / "prepared" / "digits" / "meta.json").exists()


def test_arrays_of_another_version_are_prepared_anew(folder):
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | {"digest": "0" * 32}))
    again(folder)
    assert Prepared.open(folder).digest == DATASETS["digits"].digest


def test_arrays_that_are_not_those_declared_are_an_error_with_both_digests(tmp_path, monkeypatch):
    actual = DATASETS["digits"].digest
    monkeypatch.setattr(DATASETS["digits"], "digest", "0" * 32)
    with pytest.raises(ValueError, match=f"digits: the prepared arrays have digest {actual}, {'0' * 32} declared"):
        prepare("digits", tmp_path / "data", tmp_path / "prepared")
    assert not (tmp_path / "prepared" / "digits" / "meta.json").exists()


def test_pickled_arrays_are_refused(folder):
    np.save(folder / "y.npy", np.array([{"a": 1}] * 1797, dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        Prepared.open(folder)


def test_an_unknown_dataset_is_named_with_those_known(tmp_path):
    with pytest.raises(
        ValueError, match=rf"unknown dataset 'mnist'; params\.yaml may name: {', '.join(sorted(DATASETS))}$"
    ):
        prepare("mnist", tmp_path / "data", tmp_path / "prepared")


def test_arrays_that_do_not_fit_are_refused():
    X, y = np.zeros((3, 2), dtype=np.uint8), np.array([0, 1, 2])
    asked = {"name": "own", "inputs": "vector"}
    with pytest.raises(ValueError, match="own: X, y and split have"):
        Prepared.of(Arrays(X[:2], y), classes=("a", "b", "c"), **asked)
    with pytest.raises(ValueError, match="own: y has classes 0 to 2, 0 to 1 expected"):
        Prepared.of(Arrays(X, y), classes=("a", "b"), **asked)


def test_a_standard_split_survives_the_disk(tmp_path, monkeypatch):
    """Every third row as test, by a dataset registered for the purpose."""
    plain = DATASETS["digits"]
    split = (np.arange(1797) % 3 == 0).astype(np.uint8)

    class Halved(plain):
        @classmethod
        def load(cls, folder):
            return plain.load(folder)._replace(split=split)

    wanted = Prepared.of(
        Arrays(*_raw(tmp_path, plain), split), name="thirds", inputs="vector", classes=plain.classes, scale=16.0
    )
    Halved.name, Halved.digest, Halved.counts = "thirds", wanted.digest, wanted.meta.counts
    monkeypatch.setitem(DATASETS, "thirds", Halved)
    prepare("thirds", tmp_path / "data", tmp_path / "prepared")
    opened = Prepared.open(tmp_path / "prepared" / "thirds")
    assert opened.split.tolist() == split.tolist()
    assert set(opened.meta.counts) == {"train", "test"}


def _raw(tmp_path, dataset):
    prepare("digits", tmp_path / "data", tmp_path / "prepared")
    arrays = dataset.load(tmp_path / "data" / "digits")
    return arrays.X, arrays.y


@pytest.mark.parametrize("repeated", [0, 4])
def test_training_rows_that_repeat_a_test_row_are_told_and_in_no_draw(repeated, tmp_path, monkeypatch):
    """The first rows of the training side of a standard split are made equal to the first ones of its test side."""
    plain = DATASETS["digits"]
    X, y = _raw(tmp_path, plain)
    split = (np.arange(1797) >= 1200).astype(np.uint8)
    X[:repeated] = X[1200 : 1200 + repeated]

    class Repeating(plain):
        @classmethod
        def load(cls, folder):
            return Arrays(X, y, split)

    made = Prepared.of(Arrays(X, y, split), name="repeating", inputs="vector", classes=plain.classes, scale=16.0)
    Repeating.name, Repeating.digest, Repeating.counts = "repeating", made.digest, made.meta.counts
    monkeypatch.setitem(DATASETS, "repeating", Repeating)
    write_json(tmp_path / "work" / "plan" / "data.json", {"repeating": {}})
    digests, notes = prepare_data(tmp_path, None)
    assert digests == {"repeating": made.digest}
    told = f"repeating: {repeated} training rows have the content of a test row, and no draw uses them"
    assert notes == ([told] if repeated else [])
    assert not set(range(repeated)) & set(split_rows(made, 0).train)
