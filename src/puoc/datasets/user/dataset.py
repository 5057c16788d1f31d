"""A user's own files as a dataset: declared by an entry of params.yaml and by what the files hold.

Classes are 0, the labelled positives and the positives of the test file; 1, unlabelled rows, whose classes nobody
knows; and 2, the negatives of the test file. Rows of class 1 are never test rows, rows of class 2 are nothing else.
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
    """What is known of own data once their files were read: all that a plan and later commands need."""

    name: str
    paths: dict[str, str]  # by role (positives, unlabelled, data, test), below the project's root
    how: dict[str, Any]  # fields of puoc.datasets.readers.How
    from_positives: bool  # whether the preprocessing is fitted to the labelled positives alone
    files: dict[str, str]  # sha256 by path, of a folder by what lies in it
    inputs: Inputs
    shape: tuple[int, ...]
    counts: dict[str, tuple[int, ...]]
    digest: str  # content_digest of the arrays
    scale: float
    preparing: dict[str, Any]  # puoc.datasets.readers.Preparing as JSON: how a model makes rows of a new file
    notes: tuple[str, ...] = ()  # what a reader of a table should know of the data
    marks: tuple[str, ...] = ()  # what stands on every table of the data: overlap that was allowed

    @property
    def reading(self) -> str:
        """What names the way from a file of the owner to rows, and the marks on their scores.

        A model keeps both. Files that give the same rows in another way (columns renamed, exchanged, in another unit)
        would else be served by the model that reads the files before.
        """
        return content_id({"preparing": self.preparing, "marks": self.marks})


class OwnData(Dataset):
    """Base of the classes that ``register`` makes."""

    classes = ("positive", "unlabelled", "negative")
    files: ClassVar[tuple[RawFile, ...]] = ()  # none is fetched: they lie where their owner put them
    licence = "The data are their owner's; puoc has no part in them."
    citation = ""
    declared: ClassVar[Declared]
    root: ClassVar[Path]

    @classmethod
    def tested(cls) -> bool:
        """Whether there are labelled test rows."""
        return any(cls.counts["test"])

    @classmethod
    def check_unchanged(cls) -> None:
        """Raise ValueError where a file is not what it was when the plan was made."""
        for path, planned in cls.declared.files.items():
            if not (cls.root / path).exists() or fingerprint(cls.root / path) != planned:
                raise ValueError(
                    f"{path}: not what it was when the plan was made; run puoc plan, or dvc repro, which begins with it"
                )

    @classmethod
    def size(cls, path: str) -> int:
        """Bytes of a file, or of those in a folder."""
        at = cls.root / path
        return sum(file.stat().st_size for file in (at.rglob("*") if at.is_dir() else (at,)) if file.is_file())

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Read the files again; ``folder`` is not looked at. Raises ValueError as ``check_unchanged``."""
        cls.check_unchanged()
        of = cls.declared
        return arranged(read(of.paths, of.how, of.from_positives, cls.root)).arrays


class Arranged(NamedTuple):
    """Rows as arrays, and how many could not be used."""

    arrays: Arrays
    left_out: dict[str, int]  # rows by why


def read(paths: Mapping[str, str], how: Mapping[str, object], from_positives: bool, root: Path) -> Pair:
    """Read and prepare the files. Raises ValueError as ``puoc.datasets.readers.read_pair``."""
    from puoc.datasets.readers import How, read_pair  # takes a second; most commands read no own data

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
    """P, U and the test rows, in this order, each as in its file.

    Left out are training rows that a method sees as it sees a test row, and unlabelled ones that it sees as a labelled
    positive: no draw puts equal content on two sides, and so every seed can have all rows that are counted.

    Raises
    ------
    ValueError : there are no unlabelled rows, or none is left of one part.
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
    """The different rows."""
    return {row.tobytes() for row in _plain(X)}


def _fresh(X: Array, known: Content) -> NDArray[np.bool_]:
    return np.array([row.tobytes() not in known for row in _plain(X)], dtype=np.bool_)


def _plain(X: Array) -> Array:
    """Zeros without a sign, as draws compare rows."""
    found: NDArray[Any] = X + X.dtype.type(0)
    return found


def fingerprint(path: Path) -> str:
    """sha256 of a file; of a folder, that of the names and checksums of the files in it, hidden ones left out."""
    if not path.is_dir():
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    inside = sorted((file.relative_to(path).as_posix(), file) for file in path.rglob("*") if file.is_file())
    shown = [(name, file) for name, file in inside if not any(part.startswith(".") for part in name.split("/"))]
    return sha256("\n".join(f"{fingerprint(file)} {name}" for name, file in shown).encode()).hexdigest()


def register(declared: Iterable[Declared], root: Path) -> None:
    """Make these the own datasets of this process; earlier ones are forgotten."""
    for name in [name for name, known in DATASETS.items() if issubclass(known, OwnData)]:
        del DATASETS[name]
    for one in declared:
        facts = {part: getattr(one, part) for part in ("name", "inputs", "shape", "counts", "digest", "scale")}
        DATASETS[one.name] = type(
            one.name, (OwnData,), {**facts, "declared": one, "root": root, "__module__": __name__}
        )


def register_planned(root: Path) -> None:
    """The same with those of the project's plan.

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
    """The class of own data of this name; None for any other dataset."""
    found = DATASETS.get(name)
    return found if isinstance(found, type) and issubclass(found, OwnData) else None
