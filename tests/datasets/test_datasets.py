"""Datasets are what they declare: counts, shapes and digests of the real files."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from puoc.datasets import DATASETS
from puoc.datasets.declare.dataset import Arrays, content_digest
from puoc.datasets.prepare.arrays import Prepared, class_counts, duplicate_groups, prepare


@pytest.mark.parametrize(("name", "n", "n_first"), [("mnist5k", 5000, 500), ("digits", 1797, 178)])
def test_the_prepared_arrays_are_those_declared(name, n, n_first, tmp_path):
    declared = DATASETS[name]
    assert prepare(name, tmp_path / "data", tmp_path / "prepared") == declared.digest
    prepared = Prepared.open(tmp_path / "prepared" / name)
    assert prepared.X.shape == (n, *declared.shape)
    assert isinstance(prepared.X, np.memmap)
    assert not prepared.X.flags.writeable
    assert content_digest(Arrays(prepared.X, prepared.y, prepared.split)) == declared.digest == prepared.digest
    assert class_counts(Arrays(prepared.X, prepared.y), 10) == declared.counts
    assert (prepared.y == 0).sum() == n_first
    assert prepared.meta.duplicates == n - len(np.unique(prepared.X.reshape(n, -1), axis=0))


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_a_dataset_declares_its_licence_and_its_files(name):
    declared = DATASETS[name]
    assert declared.licence
    assert declared.citation
    assert declared.inputs in ("image", "vector", "sequence", "text")
    assert set(declared.counts) in ({"all"}, {"train", "test"})
    assert all(len(part) == len(declared.classes) for part in declared.counts.values())
    assert all(len(raw.sha256) == 64 for raw in declared.files) or name == "abnormal1001"  # nobody has had it
    assert all(
        raw.package or raw.url or getattr(raw, "obtain", "") or getattr(raw, "requirement", "")
        for raw in declared.files
    )


@pytest.mark.parametrize("name", sorted(name for name in DATASETS if DATASETS[name].inputs != "text"))
def test_the_documentation_has_each_dataset_with_its_number_of_rows(name):
    table = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
    lines = [line for line in table.splitlines() if line.startswith(f"| [`{name}`]")]
    assert len(lines) == 1, f"docs/datasets.md: {len(lines)} lines for {name}; add one to the table of datasets"
    (line,) = lines
    _, rows, classes, row, split, _ = (part.strip() for part in line.strip("|").split("|"))
    declared = DATASETS[name]
    n = sum(sum(part) for part in declared.counts.values())
    assert rows == ("as found" if name == "abnormal1001" else f"{n:,}")
    assert int(classes) == len(declared.classes)
    assert " x ".join(map(str, declared.shape)) in row
    assert (split == "drawn 4:1") == ("all" in declared.counts)


def test_rows_are_taken_as_float32_between_0_and_1(tmp_path):
    prepare("digits", tmp_path / "data", tmp_path / "prepared")
    prepared = Prepared.open(tmp_path / "prepared" / "digits")
    rows = prepared.take(np.array([1, 0]))
    assert rows.dtype == np.float32
    assert type(rows) is np.ndarray
    assert rows[1, :8].tolist() == [0, 0, 5 / 16, 13 / 16, 9 / 16, 1 / 16, 0, 0]
    every = prepared.take(np.arange(1797))
    assert (every.min(), every.max()) == (0, 1)


def test_mnist_images_are_upright_digits(tmp_path):
    """The mean zero is dark in its middle and bright in a ring, in both directions; the mean one is a bright column."""
    prepare("mnist5k", tmp_path / "data", tmp_path / "prepared")
    prepared = Prepared.open(tmp_path / "prepared" / "mnist5k")
    zero, one = (prepared.take(np.flatnonzero(prepared.y == digit)).mean(axis=0)[0] for digit in (0, 1))
    assert zero[14, 14] < 0.1 < 0.4 < min(zero[14, 6:11].max(), zero[14, 17:22].max(), zero[5:10, 14].max())
    assert one[6:21, 13:15].mean() > 2 * one[13:15, 6:21].mean()


def test_digests_tell_type_shape_content_and_split_apart():
    X, y = np.arange(6, dtype=np.uint8).reshape(3, 2), np.array([0, 1, 1])
    digests = [
        content_digest(arrays)
        for arrays in (
            Arrays(X, y),
            Arrays(X.astype(np.uint16), y),
            Arrays(X.reshape(3, 1, 2), y),
            Arrays(X + np.uint8(1), y),
            Arrays(X, y[::-1].copy()),
            Arrays(X, y, np.zeros(3, dtype=np.uint8)),
        )
    ]
    assert len(set(digests)) == 6
    assert {len(digest) for digest in digests} == {32}
    assert content_digest(Arrays(np.asfortranarray(X), y.astype(">i8"))) == digests[0]


def test_equal_rows_share_the_number_of_the_first_of_them():
    X = np.array([[1, 2], [3, 4], [1, 2], [0.0, 5], [-0.0, 5], [3, 4], [1, 2]], dtype=np.float32)
    assert duplicate_groups(X).tolist() == [0, 1, 0, 3, 3, 1, 0]
    assert duplicate_groups(X[:0]).tolist() == []


def test_declared_datasets_load_no_heavy_library(tmp_path):
    """Nor does fetching and preparing them: files of packages are found without importing the packages."""
    code = (
        "import sys; from pathlib import Path; import puoc.scenarios\n"
        "from puoc.datasets.prepare.arrays import prepare\n"
        f"for name in ('mnist5k', 'digits'): prepare(name, Path({str(tmp_path)!r}) / 'data', Path({str(tmp_path)!r}))\n"
        "heavy = {'torch', 'mlflow', 'dvc', 'ray', 'pandas', 'sklearn', 'mlxtend', 'scipy'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
