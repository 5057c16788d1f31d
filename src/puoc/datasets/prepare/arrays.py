"""Conversion of raw files to arrays on disk, which have the declared digest or raise an error.

A prepared dataset is a folder of ``X.npy``, ``y.npy``, ``group.npy``, ``split.npy`` (where the source has a standard
split) and ``meta.json``. That file is written last, so a folder without it is incomplete.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import file_digest, sha256
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs, content_digest
from puoc.datasets.declare.texts import equal_texts
from puoc.datasets.prepare import ensure, known_dataset
from puoc.records import Array, Record
from puoc.store.atomic import write_bytes, write_json

Rows = NDArray[np.int64]


class Meta(Record):
    """Content of ``meta.json``, which describes the arrays in its folder."""

    name: str
    digest: str
    inputs: Inputs
    shape: tuple[int, ...]
    classes: tuple[str, ...]
    counts: dict[str, tuple[int, ...]]
    scale: float
    duplicates: int  # rows that repeat the content of an earlier row
    files: dict[str, str] | None = None  # sha256 of each array's file, to detect a changed one


@dataclass(frozen=True)
class Prepared:
    """A prepared dataset. ``meta`` describes it; its most used parts are also attributes here."""

    meta: Meta
    X: NDArray[Any]  # (n, *shape) as stored
    y: NDArray[np.int64]  # (n,) class numbers
    group: NDArray[np.int64]  # (n,) equal numbers = equal content; of texts: equal normal form
    split: NDArray[np.uint8] | None = None  # (n,) 0 train, 1 test

    @classmethod
    def of(cls, arrays: Arrays, *, name: str, inputs: Inputs, classes: tuple[str, ...], scale: float = 1.0) -> Self:
        """Prepare arrays in memory, for data without a registered dataset.

        Raises
        ------
        ValueError : X, y and split differ in length, or y names a class outside ``range(len(classes))``.
        """
        X, y, split = arrays
        lengths = {len(part) for part in arrays if part is not None}
        if len(lengths) > 1:
            raise ValueError(f"{name}: X, y and split have {sorted(lengths)} rows, one number expected")
        if len(y) and not 0 <= int(y.min()) <= int(y.max()) < len(classes):
            raise ValueError(f"{name}: y has classes {y.min()} to {y.max()}, 0 to {len(classes) - 1} expected")
        group = equal_texts(X) if inputs == "text" else duplicate_groups(X)
        meta = Meta(
            name=name,
            digest=content_digest(arrays),
            inputs=inputs,
            shape=X.shape[1:],
            classes=classes,
            counts=class_counts(arrays, len(classes)),
            scale=scale,
            duplicates=int(len(group) - len(np.unique(group))),
        )
        return cls(meta, X, y, group, split)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a prepared folder; ``X`` stays on disk and is mapped read-only.

        Raises
        ------
        ValueError : the folder is not prepared, or its arrays do not fit its description.
        """
        try:
            meta = Meta.model_validate_json((folder / "meta.json").read_bytes())
            X = np.load(folder / "X.npy", mmap_mode="r", allow_pickle=False)
            y, group = (np.load(folder / f"{part}.npy", allow_pickle=False) for part in ("y", "group"))
            split = None if "all" in meta.counts else np.load(folder / "split.npy", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise ValueError(f"{folder} holds no prepared dataset ({error}); run `puoc prepare`") from error
        rows = sum(sum(part) for part in meta.counts.values())
        lengths = {len(part) for part in (X, y, group, split) if part is not None}
        if X.shape[1:] != meta.shape or lengths != {rows}:
            raise ValueError(
                f"{folder}: X has shape {X.shape}, {(rows, *meta.shape)} expected, or other parts differ in length; "
                "delete the folder and run `puoc prepare`"
            )
        return cls(meta, X, y, group, split)

    @property
    def name(self) -> str:
        """Return the name of the dataset."""
        return self.meta.name

    @property
    def digest(self) -> str:
        """Return the digest of the content, as ``content_digest``."""
        return self.meta.digest

    @property
    def inputs(self) -> Inputs:
        """Return the kind of a row: image, vector, sequence or text."""
        return self.meta.inputs

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of one row."""
        return self.meta.shape

    def take(self, rows: Rows) -> NDArray[np.float32]:
        """Return rows as float32 of shape (len(rows), *shape), divided by the scale of the dataset."""
        return np.asarray(self.X[rows], dtype=np.float32) / np.float32(self.meta.scale)


def duplicate_groups(X: Array) -> NDArray[np.int64]:
    """Number rows by content: equal rows share the row number of the first of them, so a unique row is its own group.

    The bytes of the rows are compared, after -0.0 is replaced by 0.0.
    """
    flat = np.ascontiguousarray(X.reshape(len(X), int(np.prod(X.shape[1:]))))
    if np.issubdtype(flat.dtype, np.floating):
        flat = flat + flat.dtype.type(0)
    if flat.size == 0:
        return np.zeros(len(flat), dtype=np.int64)
    content = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1]))).ravel()
    _, first, inverse = np.unique(content, return_index=True, return_inverse=True)
    return first[inverse].astype(np.int64)


def class_counts(arrays: Arrays, n_classes: int) -> dict[str, tuple[int, ...]]:
    """Count the rows per class, of all rows or, if there is a standard split, of train and test."""
    y, split = arrays.y, arrays.split
    parts = {"all": y} if split is None else {"train": y[split == 0], "test": y[split == 1]}
    return {part: tuple(np.bincount(of, minlength=n_classes).tolist()) for part, of in parts.items()}


def prepare(
    name: str,
    data_root: Path,
    out_root: Path,
    mirror: Path | None = None,
    on_event: Callable[[str], None] = lambda _: None,
) -> str:
    """Write the prepared arrays of a dataset to ``out_root/<name>/`` and return their digest.

    Arrays that exist are kept. Missing raw files are downloaded, as by ``puoc.datasets.prepare.ensure``.

    Raises
    ------
    ValueError : unknown dataset, or the arrays are not those that the dataset's class declares.
    FetchError : the raw files are not available.
    """
    declared = known_dataset(name)
    folder = out_root / name
    if _is_prepared(folder, declared):
        return declared.digest
    ensure(name, data_root, mirror=mirror, on_event=on_event)
    arrays = declared.load(data_root / name)
    prepared = Prepared.of(
        arrays, name=name, inputs=declared.inputs, classes=tuple(declared.classes), scale=declared.scale
    )
    _check_declared(prepared.meta, declared)
    (folder / "meta.json").unlink(missing_ok=True)
    files = {}
    for part in ("X", "y", "group", "split"):
        array = getattr(prepared, part)
        if array is not None:
            content = _npy(array)
            files[f"{part}.npy"] = sha256(content).hexdigest()
            write_bytes(folder / f"{part}.npy", content)
    write_json(folder / "meta.json", prepared.meta.model_copy(update={"files": files}).canonical())
    return declared.digest


def _is_prepared(folder: Path, declared: type[Dataset]) -> bool:
    if not (folder / "meta.json").exists():
        return False
    try:
        found = Prepared.open(folder)
        _check_declared(found.meta, declared)
    except ValueError:
        return False  # of another version, or damaged: they are written again
    there = ["X.npy", "y.npy", "group.npy", *([] if found.split is None else ["split.npy"])]
    return found.meta.files == {name: _sha256(folder / name) for name in there}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _check_declared(meta: Meta, declared: type[Dataset]) -> None:
    where = f"change it in {declared.__module__}, or the raw files and the code that reads them disagree"
    for part in ("digest", "shape", "counts", "inputs", "classes", "scale"):
        got, expected = getattr(meta, part), getattr(declared, part)
        if part == "digest" and not expected:  # of a dataset that is being added
            raise ValueError(
                f'{declared.name}: no digest is declared; write digest = "{got}" into {declared.__module__}, once you '
                f"know that these are the rows"
            )
        if got != expected:
            raise ValueError(f"{declared.name}: the prepared arrays have {part} {got}, {expected} declared; {where}")


def _npy(array: Array) -> bytes:
    content = BytesIO()
    np.save(content, array, allow_pickle=False)
    return content.getvalue()
