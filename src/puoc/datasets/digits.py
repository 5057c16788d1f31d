"""The 1,797 handwritten digits included in scikit-learn, as vectors: the smallest real dataset, for quick runs."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs, RawFile
from puoc.registry import dataset


@dataset("digits")
class Digits(Dataset):
    """Counts of dark pixels, 0 to 16, on an 8 x 8 grid, row by row. No standard split (the UCI data's test part)."""

    inputs: ClassVar[Inputs] = "vector"
    shape = (64,)
    classes = tuple("0123456789")
    counts: ClassVar = {"all": (178, 182, 177, 183, 181, 182, 181, 179, 174, 180)}
    digest = "9b305717af123dcd65e612383bbcf092"
    scale = 16.0
    files = (
        RawFile(
            path="digits.csv.gz",
            size=57523,
            sha256="09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22",
            package=("sklearn", "datasets/data/digits.csv.gz"),
        ),
    )
    licence = (
        "The data: UCI Machine Learning Repository, stated there as CC BY 4.0. The copy: scikit-learn, BSD 3-Clause."
    )
    citation = (
        "E. Alpaydin, C. Kaynak: Optical recognition of handwritten digits. UCI Machine Learning Repository, 1998, "
        "doi:10.24432/C50P49."
    )

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Read the table. Each line has 64 counts, then the digit."""
        table = np.loadtxt(folder / cls.files[0].path, delimiter=",", dtype=np.uint8)
        return Arrays(table[:, :-1].copy(), table[:, -1].astype(np.int64))
