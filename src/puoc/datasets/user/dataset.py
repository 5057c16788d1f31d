"""User data as a dataset, declared by an entry of params.yaml and by the content of the files.

Class 0 has the labelled positives and the positives of the test file; class 1 the unlabelled rows, whose true classes
are unknown; class 2 the negatives of the test file. Rows of class 1 are never test rows, and those of class 2 always.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs, RawFile
from puoc.records import Array, Record, content_id
from puoc.registry import DATASETS

if TYPE_CHECKING:
    from puoc.datasets.readers import Pair

PLANNED = Path("work", "plan", "own")  # one declaration a file, below a project's root

_FACTS = ("name", "inputs", "shape", "counts", "digest", "scale")

Content = set[bytes]


class Declared(Record):
    """Description of user data, made when their files are read. A plan and later commands need nothing else."""

    name: str
    paths: dict[str, str]  # by role (positives, unlabelled, data, test), below the project's root
    how: dict[str, Any]  # fields of puoc.datasets.readers.How
    from_positives: bool  # True if the preprocessing is fitted to the labelled positives alone
    files: dict[str, str]  # sha256 by path; that of a folder covers the files in it
    inputs: Inputs
    shape: tuple[int, ...]
    counts: dict[str, tuple[int, ...]]
    digest: str  # content_digest of the arrays
    scale: float
    preparing: dict[str, Any]  # puoc.datasets.readers.Preparing as JSON, by which a model prepares a new file
    notes: tuple[str, ...] = ()  # remarks on the data, shown with a table
    marks: tuple[str, ...] = ()  # warnings shown on every table of the data, such as an allowed overlap

    @property
    def reading(self) -> str:
        """Return the id of the preprocessing and of the warnings, which a model stores.

        Files may give the same rows in another way, for example with renamed columns or other units. They need a model
        of their own, and therefore another id. What the preprocessing stores only to compare later rows with the
        training rows follows from the rest, and has no part in the id.
        """
        preparing = {key: value for key, value in self.preparing.items() if key != "watched"}
        if "columns" in preparing:
            columns = preparing["columns"]
            preparing["columns"] = [{k: v for k, v in column.items() if k != "range"} for column in columns]
        return content_id({"preparing": preparing, "marks": self.marks})


class OwnData(Dataset):
    """Base of the classes that ``register`` makes."""

    classes = ("positive", "unlabelled", "negative")
    files: ClassVar[tuple[RawFile, ...]] = ()  # none is downloaded: the user provides them
    licence = "The data are their owner's; puoc has no part in them."
    citation = ""
    declared: ClassVar[Declared]
    root: ClassVar[Path]

    @classmethod
    def tested(cls) -> bool:
        """Return True if there are labelled test rows."""
        return any(cls.counts["test"])

    @classmethod
    def check_unchanged(cls) -> None:
        """Raise ValueError if a file has changed since the plan was made."""
        for path, planned in cls.declared.files.items():
            if not (cls.root / path).exists() or fingerprint(cls.root / path) != planned:
                raise ValueError(
                    f"{path}: changed since the plan was made; run puoc plan, or dvc repro, which begins with it"
                )

    @classmethod
    def size(cls, path: str) -> int:
        """Return the size in bytes of a file, or of all files in a folder."""
        at = cls.root / path
        return sum(file.stat().st_size for file in (at.rglob("*") if at.is_dir() else (at,)) if file.is_file())

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Read the files again; ``folder`` is ignored. Raises ValueError as ``check_unchanged``."""
        cls.check_unchanged()
        of = cls.declared
        return arranged(read(of.paths, of.how, of.from_positives, cls.root)).arrays


class Arranged(NamedTuple):
    """Rows as arrays, and the numbers of rows that were left out."""

    arrays: Arrays
    left_out: dict[str, int]  # number of rows by reason


def read(paths: Mapping[str, str], how: Mapping[str, object], from_positives: bool, root: Path) -> Pair:
    """Read and prepare the files. Raises ValueError as ``puoc.datasets.readers.read_pair``."""
    from puoc.datasets.readers import How, read_pair  # takes a second; most commands read no user data

    at = {role: root / path for role, path in paths.items()}
    return read_pair(
        at.get("positives"),
        at.get("unlabelled"),
        How.model_validate(how),
        data=at.get("data"),
        test=at.get("test"),
        from_positives=from_positives,
    )


def arranged(pair: Pair) -> Arranged:
    """Return P, U and the test rows, in this order, each in the order of its file.

    Training rows that equal a test row after the preprocessing are left out, and unlabelled rows that equal a labelled
    positive. A draw puts no equal content on two sides, so every seed can use all rows that are counted.

    Raises
    ------
    ValueError : there are no unlabelled rows, or no row of one part is left.
    """
    if pair.unlabelled is None:
        raise ValueError("no unlabelled rows; expected a file of them")
    tested = set() if pair.test is None else distinct(pair.test.X)
    p = _fresh(pair.positives.X, tested)
    known = distinct(pair.positives.X[p])
    untested = _fresh(pair.unlabelled.X, tested)
    u = untested & _fresh(pair.unlabelled.X, known)
    for kept, rows in ((p, pair.positives), (u, pair.unlabelled)):
        if not kept.any():
            raise ValueError(f"{rows.where}: no row is left, since all {len(rows)} are test rows or labelled positives")
    parts, y = [pair.positives.X[p], pair.unlabelled.X[u]], [np.zeros(p.sum()), np.ones(u.sum())]
    if pair.test is not None:
        assert pair.test.positive is not None, "a test file is read with its labels"
        parts, y = [*parts, pair.test.X], [*y, np.where(pair.test.positive, 0, 2)]
    split = np.arange(sum(map(len, y))) >= p.sum() + u.sum()
    left = {
        "labelled positives that equal a test row": int((~p).sum()),
        "unlabelled rows that equal a test row": int((~untested).sum()),
        "unlabelled rows that equal a labelled positive": int((untested & ~u).sum()),
    }
    arrays = Arrays(np.concatenate(parts), np.concatenate(y).astype(np.int64), split.astype(np.uint8))
    return Arranged(arrays, {why: n for why, n in left.items() if n})


def distinct(X: Array) -> Content:
    """Return the different rows as a set of their bytes."""
    return {row.tobytes() for row in _plain(X)}


def _fresh(X: Array, known: Content) -> NDArray[np.bool_]:
    return np.array([row.tobytes() not in known for row in _plain(X)], dtype=np.bool_)


def _plain(X: Array) -> Array:
    """Return rows with unsigned zeros, as draws compare them."""
    found: NDArray[Any] = X + X.dtype.type(0)
    return found


def fingerprint(path: Path) -> str:
    """Return the sha256 of a file; for a folder, that of the names and checksums of its files that are not hidden."""
    if not path.is_dir():
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    inside = sorted((file.relative_to(path).as_posix(), file) for file in path.rglob("*") if file.is_file())
    shown = [(name, file) for name, file in inside if not any(part.startswith(".") for part in name.split("/"))]
    return sha256("\n".join(f"{fingerprint(file)} {name}" for name, file in shown).encode()).hexdigest()


def register(declared: Iterable[Declared], root: Path) -> None:
    """Register these datasets of user data in place of those that are registered so far."""
    for name in [name for name, known in DATASETS.items() if issubclass(known, OwnData)]:
        del DATASETS[name]
    for one in declared:
        facts = {part: getattr(one, part) for part in ("name", "inputs", "shape", "counts", "digest", "scale")}
        DATASETS[one.name] = type(
            one.name, (OwnData,), {**facts, "declared": one, "root": root, "__module__": __name__}
        )


def register_planned(root: Path) -> None:
    """Register the user data of the project's plan.

    Raises
    ------
    ValueError : a declaration is damaged.
    """
    found = []
    for path in sorted((root / PLANNED).glob("*.json")):
        try:
            found.append(Declared.model_validate_json(path.read_bytes()))
        except ValueError as error:
            raise ValueError(f"{path}: no declaration of own data ({error}); run puoc plan") from error
    register(found, root)


def own_data(name: str) -> type[OwnData] | None:
    """Return the class of user data of this name; None for any other dataset."""
    found = DATASETS.get(name)
    return found if isinstance(found, type) and issubclass(found, OwnData) else None
