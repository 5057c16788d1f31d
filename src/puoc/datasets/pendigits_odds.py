"""PenDigits as an outlier problem, in the version of the ODDS library, which the paper uses."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs, RawFile
from puoc.registry import dataset


@dataset("pendigits_odds")
class PenDigitsODDS(Dataset):
    """Digits 1 to 9 of UCI's training part as normal rows, 156 of its zeros as outliers. No standard split.

    The file's label is 1 for an outlier. Here the normal rows are class 0, so that a table has ``pos: 0``, as in the
    paper. The values come from a finer resampling of the pen's track than UCI's and lie in [0, 1]. ``pendigits`` and
    this dataset show the same digits: do not test on one of them a model that was trained on the other.
    """

    inputs: ClassVar[Inputs] = "vector"
    shape = (16,)
    classes = ("normal", "outlier")
    counts: ClassVar = {"all": (6714, 156)}
    digest = "03fe28e21d99540ab2605c486111e408"
    scale = 1.0
    files = (
        RawFile(
            path="pendigits.npz",
            size=653509,
            sha256="c4936b89dcdad59d303020e492f763a0f54170080d787c77497609acbb9c2d79",
            url=(
                "https://raw.githubusercontent.com/Minqi824/ADBench/3dac8221081e190f157d78e93bfa8867f90d0965/"
                "adbench/datasets/Classical/28_pendigits.npz"
            ),
        ),
    )
    licence = "The data: CC BY 4.0 (UCI Machine Learning Repository). The copy: ADBench, BSD 2-Clause."
    citation = (
        "S. Rayana: ODDS Library. Stony Brook University, 2016. The copy: S. Han, X. Hu, H. Huang, M. Jiang, Y. Zhao: "
        "ADBench: Anomaly Detection Benchmark. NeurIPS 2022."
    )

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Read the arrays X (n, 16) and y (n,)."""
        with np.load(folder / cls.files[0].path, allow_pickle=False) as arrays:
            return Arrays(arrays["X"], arrays["y"].astype(np.int64))
