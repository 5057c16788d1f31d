"""CIFAR-10 is what torchvision reads, and its pickles cannot do anything else than hold it."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from puoc.datasets.cifar10 import CIFAR10, ArrayUnpickler, read_batch
from puoc.datasets.declare.archived import ArchivedFile
from puoc.datasets.prepare.arrays import Prepared, prepare
from puoc.records import Sample, TestSet
from puoc.scenarios import check_disjoint, draw
from puoc.scenarios import test_rows as rows_of_test


@pytest.fixture(scope="module")
def torchvision_cifar10() -> Any:
    """The class of torchvision, imported late: collecting the tests should not take its second."""
    import torchvision

    return torchvision.datasets.CIFAR10


@pytest.fixture(scope="module")
def root(mirror: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the raw files in data/ and the prepared arrays in prepared/; 370 MB, so it is removed."""
    folder = tmp_path_factory.mktemp("cifar10")
    assert prepare("cifar10", folder / "data", folder / "prepared", mirror=mirror("cifar10")) == CIFAR10.digest
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def prepared(root: Path) -> Prepared:
    return Prepared.open(root / "prepared" / "cifar10")


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, 1], ids=["train", "test"])
def test_images_labels_and_classes_are_those_of_torchvision(
    prepared: Prepared, root: Path, torchvision_cifar10: Any, part: int
) -> None:
    theirs = torchvision_cifar10(root / "data" / "cifar10", train=part == 0, download=False)
    rows = slice(0, 50_000) if part == 0 else slice(50_000, 60_000)
    assert prepared.split is not None
    assert (prepared.split[rows] == part).all()
    np.testing.assert_array_equal(prepared.X[rows], theirs.data.transpose(0, 3, 1, 2))
    assert prepared.y[rows].tolist() == theirs.targets
    assert list(prepared.meta.classes) == theirs.classes


def test_what_is_declared_is_what_is_published(torchvision_cifar10: Any) -> None:
    published = [
        *torchvision_cifar10.train_list,
        *torchvision_cifar10.test_list,
        [torchvision_cifar10.meta["filename"], torchvision_cifar10.meta["md5"]],
    ]
    folder = torchvision_cifar10.base_folder
    assert [(file.path, file.md5) for file in CIFAR10.files] == [(f"{folder}/{name}", md5) for name, md5 in published]
    assert {(file.url, file.archive_md5) for file in CIFAR10.files} == {
        (torchvision_cifar10.url, torchvision_cifar10.tgz_md5)
    }


@pytest.mark.slow
def test_no_two_images_are_equal_and_channels_have_the_known_means(prepared: Prepared) -> None:
    """The means with which CIFAR-10 is commonly normalised."""
    assert prepared.meta.duplicates == 0
    means = prepared.X[:50_000].mean(axis=(0, 2, 3)) / prepared.meta.scale
    np.testing.assert_allclose(means, [0.4914, 0.4822, 0.4465], atol=5e-5)


@pytest.mark.slow
def test_the_published_draw_is_exact_and_takes_no_time(prepared: Prepared) -> None:
    others = tuple(range(1, 10))
    counts = {"n_pos_lab": 2500, "n_pos_unl": 2500, "n_neg_unl": 2500}
    sample = Sample(dataset="cifar10", data_digest=CIFAR10.digest, pos=(0,), neg=others, **counts)
    draw(prepared, sample, 99)
    started = time.process_time()
    drawn = [draw(prepared, sample, seed) for seed in range(3)]
    seconds = (time.process_time() - started) / len(drawn)
    assert seconds < 5
    for one in drawn:
        assert (len(one.p), len(one.u), one.y_u.sum()) == (2500, 5000, 2500)
        assert set(prepared.y[one.p].tolist()) == {0}
        np.testing.assert_array_equal(prepared.y[one.u] == 0, one.y_u)
        assert set(np.concatenate([one.p, one.u[one.y_u]])) == set(np.flatnonzero(prepared.y[:50_000] == 0))
        assert np.unique(prepared.y[one.u[~one.y_u]]).tolist() == list(others)
        check_disjoint(prepared, one, np.arange(50_000, 60_000))
    rows, is_positive = rows_of_test(prepared, TestSet(pos=(0,), neg=others), 0)
    assert rows.tolist() == list(range(50_000, 60_000))
    assert is_positive.sum() == 1000


def written(folder: Path, content: bytes, md5: str | None = None) -> ArchivedFile:
    (folder / "batch").write_bytes(content)
    known = md5 or hashlib.md5(content).hexdigest()
    return ArchivedFile(path="batch", size=len(content), sha256="", md5=known, url="", archive_md5="")


def test_a_pickle_of_unknown_content_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object) -> None:
        raise AssertionError("it was opened")

    monkeypatch.setattr(ArrayUnpickler, "find_class", opened)
    content = pickle.dumps({"data": np.zeros(3)}, protocol=2)
    with pytest.raises(AssertionError, match="it was opened"):
        read_batch(tmp_path, written(tmp_path, content))
    with pytest.raises(ValueError, match=f"batch: got MD5 {hashlib.md5(content).hexdigest()}, expected {'0' * 32}"):
        read_batch(tmp_path, written(tmp_path, content, md5="0" * 32))


class Reduces:
    """Pickles as a call, which an ordinary unpickler makes."""

    def __init__(self, *call: object) -> None:
        self.call = call

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call[0], self.call[1:]


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ((os.mkdir, "made"), f"{os.name}.mkdir"),
        ((eval, "1 + 1"), "__builtin__.eval"),
        ((getattr, "text", "upper"), "__builtin__.getattr"),
        ((np.load, "file.npy"), "numpy.load"),
        ((np.testing.runstring, "1 + 1", {}), r"numpy.testing\S*.runstring"),
    ],
)
def test_a_pickle_that_asks_for_more_than_arrays_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: tuple[object, ...], named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path, pickle.dumps({"data": Reduces(*call)}, protocol=2))
    with pytest.raises(ValueError, match=f"the pickle asks for {named}; only numpy arrays"):
        read_batch(tmp_path, file)
    assert not (tmp_path / "made").exists()


def test_an_array_as_python_2_pickled_it_is_read(tmp_path: Path) -> None:
    content = (
        b"\x80\x02}U\x04datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x03\x85cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        b"U\x03\x07\x80\xfftbs."
    )
    data = read_batch(tmp_path, written(tmp_path, content))["data"]
    assert (data.dtype, data.tolist()) == (np.uint8, [7, 128, 255])
