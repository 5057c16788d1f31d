"""Electroluminescence images of solar cells (ELPV), normal and defective, as many as the paper has abnormal cars.

This separate dataset can be used if Abnormal1001 is not available. Results on it do not reproduce those of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from hashlib import sha1
from io import BytesIO
from pathlib import Path
from typing import ClassVar

import numpy as np

from puoc.datasets.declare.content_checked import ReadFolder
from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs
from puoc.records import Array
from puoc.registry import dataset

_SIDE = 200  # pixels, as the paper's Abnormal1001


def members(n: int, probability: float, source: Path) -> Mapping[str, Path]:
    """Return the pictures of one class: all of a folder, or a selection from the published dataset.

    The published dataset has ``labels.csv`` and pictures of 300 x 300 pixels. From its pictures with the given defect
    probability, the ``n`` pictures whose names have the lowest SHA-1 are selected.

    Raises
    ------
    ValueError : ``labels.csv`` does not have the expected format.
    """
    labels = source / "labels.csv"
    if not labels.is_file():
        return {path.name: path for path in source.iterdir() if path.suffix in (".jpg", ".png")}
    rows = [line.split() for line in labels.read_text(encoding="utf-8").splitlines() if line.strip()]
    try:
        names = [row[0] for row in rows if float(row[1]) == probability]
    except (IndexError, ValueError) as error:
        raise ValueError(f"{labels.name}: {error}; expected a picture and its defect probability per line") from error
    names.sort(key=lambda name: sha1(name.encode(), usedforsecurity=False).hexdigest())
    return {Path(name).name: source / name for name in names[:n]}


def read_cells(folder: Path) -> Array:
    """Read grey pictures in the order of their names and return bytes (n, 200, 200).

    A larger picture is reduced with a Lanczos filter and then compressed as JPEG of quality 88. The reduced dataset was
    made in the same way, so both sources give the same bytes.

    Raises
    ------
    ValueError, OSError : a file is not a grey picture of one of the two sizes.
    """
    from PIL import Image

    pictures = []
    for path in sorted(folder.iterdir(), key=lambda path: path.stem):
        try:
            pictures.append(_read(path))
        except (Image.DecompressionBombError, SyntaxError) as error:  # PIL raises SyntaxError for a broken PNG
            raise ValueError(f"{path.name}: {error}") from error
    return np.array(pictures, dtype=np.uint8)


def _read(path: Path) -> Array:
    from PIL import Image

    with Image.open(path) as opened:
        picture: Image.Image = opened
        if opened.mode != "L" or opened.size not in ((300, 300), (_SIDE, _SIDE)):
            raise ValueError(f"{path.name}: got {opened.mode} of size {opened.size}; expected L of 200 or 300 pixels")
        if opened.size != (_SIDE, _SIDE):
            reduced = BytesIO()
            opened.resize((_SIDE, _SIDE), Image.Resampling.LANCZOS).save(reduced, "JPEG", quality=88)
            picture = Image.open(reduced)
        return np.asarray(picture)


def _folder(name: str, n: int, probability: float, sha256: str) -> ReadFolder:
    return ReadFolder(
        path=name,
        size=n * _SIDE**2,
        sha256=sha256,
        package=("elpv_dataset", "data"),
        read=read_cells,
        members=partial(members, n, probability),
        obtain="install the package elpv-dataset from PyPI (88 MB), which holds the published pictures",
    )


@dataset("elpv")
class ELPV(Dataset):
    """Grey pictures of 200 x 200 pixels: cells without a defect and cells with a certain defect. No standard split."""

    inputs: ClassVar[Inputs] = "image"
    shape = (1, _SIDE, _SIDE)
    classes = ("normal", "abnormal")
    counts: ClassVar = {"all": (1315, 110)}
    digest = "2d38b558edf4b999702134aba842b79a"
    scale = 255.0
    files = (
        _folder("normal", 1315, 0.0, "7ab41f1edad62d64947c24edb14ba7a35d9fbf165207f144f33f90ce6fb8e74c"),
        _folder("abnormal", 110, 1.0, "d0d3c46b8ecca9063cf8251427e7da3eade0295954350867061db2c5fdf44508"),
    )
    licence = "CC BY-NC-SA 4.0: its pictures may not stand in a commercial product."
    citation = (
        "S. Deitsch et al.: Segmentation of photovoltaic module cells in uncalibrated electroluminescence images. "
        "Machine Vision and Applications 32, 2021. C. Buerhop-Lutz et al.: A Benchmark for Visual Identification of "
        "Defective Solar Cells in Electroluminescence Imagery. EU PVSEC 2018."
    )

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Read the pictures of both classes."""
        parts = [read_cells(folder / file.path) for file in cls.files]
        y = np.repeat(np.arange(2), [len(part) for part in parts])
        return Arrays(np.concatenate(parts)[:, None], y.astype(np.int64))
