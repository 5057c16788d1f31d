"""PenDigits in the version of UCI: 10,992 digits written on a tablet, each given by eight positions of the pen."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from puoc.datasets.declare.content_checked import ReadFile
from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs
from puoc.records import Array
from puoc.registry import dataset


def read_table(path: Path) -> Array:
    """Read rows (n, 17) of bytes: x1, y1, ..., x8, y8 and the digit. The file pads the values with blanks.

    Raises
    ------
    ValueError : the file does not contain such a table.
    """
    return np.loadtxt(path, delimiter=",", dtype=np.uint8, ndmin=2)


def _file(name: str, rows: int, sha256: str) -> ReadFile:
    address = f"https://archive.ics.uci.edu/ml/machine-learning-databases/pendigits/{name}"
    return ReadFile(path=name, size=17 * rows, sha256=sha256, url=address, read=read_table)


@dataset("pendigits")
class PenDigits(Dataset):
    """Rows of sixteen integers from 0 to 100, x and y alternating; the test part comes from other writers.

    The encoder ``sequence`` converts a row to 16 steps of one value or 8 steps of two values. No checksum of UCI's own
    files was available. Therefore a file is verified by its numbers, which agree with two independent copies.
    """

    inputs: ClassVar[Inputs] = "vector"
    shape = (16,)
    classes = tuple("0123456789")
    counts: ClassVar = {
        "train": (780, 779, 780, 719, 780, 720, 720, 778, 719, 719),
        "test": (363, 364, 364, 336, 364, 335, 336, 364, 336, 336),
    }
    digest = "fe134f6c3c528869015b6ecb41b48bf4"
    scale = 100.0
    files = (
        _file("pendigits.tra", 7494, "cbc52923bac9f4b90a33acb326ca5fe2147eee4ab0ad272cc6bf195f58aefbc9"),
        _file("pendigits.tes", 3498, "413f3ee29a04b3066a7cc109860e0cf0ce5c538f3bbc86e5ec304212055eb627"),
    )
    licence = "CC BY 4.0 (UCI Machine Learning Repository)."
    citation = (
        "E. Alpaydin, F. Alimoglu: Pen-Based Recognition of Handwritten Digits. UCI Machine Learning Repository, 1998, "
        "doi:10.24432/C5MG6K."
    )

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Read both tables, the training part first."""
        parts = [read_table(folder / file.path) for file in cls.files]
        table = np.concatenate(parts)
        split = np.repeat(np.array([0, 1], dtype=np.uint8), [len(part) for part in parts])
        return Arrays(table[:, :16].copy(), table[:, 16].astype(np.int64), split)
