"""An entry of the section datasets read: the files, what they share, and what later commands need to know of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

import numpy as np

from puoc.datasets.declare.dataset import content_digest
from puoc.datasets.user.dataset import Arranged, Declared, OwnData, arranged, distinct, fingerprint, read
from puoc.registry import DATASETS

if TYPE_CHECKING:
    from puoc.datasets.readers import Pair
    from puoc.datasets.user.leakage import Audit

PLACE: Final = "own"  # below the project's root; the stage plan depends on it, so that dvc repro sees a change
_NO_LINK: Final = "into which dvc repro does not look; expected a folder in its place, in which files may be links"
_MANY: Final = 0.1  # share of U left out from which a reader is to know what follows from it
ROLES: Final = ("positives", "unlabelled", "data", "test")


def declare(
    name: str,
    given: Mapping[str, str],
    how: Mapping[str, object],
    *,
    from_positives: bool,
    allow_overlap: bool,
    root: Path,
) -> Declared:
    """Read own data and say what they are.

    Parameters
    ----------
    given : paths by role: positives and unlabelled, or data; and test where there are labelled test rows.
    how : fields of ``puoc.datasets.readers.How``.
    from_positives : fit the preprocessing to the labelled positives alone; else to the unlabelled rows too.
    allow_overlap : go on although test rows are among the training rows.
    root : the project's folder.

    Raises
    ------
    ValueError : a path does not lie below ``own/``, a file cannot be read or in two ways, or test and training overlap.
        The message names keys of the entry, not options of a command.
    """
    from puoc.datasets.user.leakage import audit  # takes a second, as all that reads own data

    try:
        paths = {role: _below(role, given[role], root) for role in ROLES if role in given}
        pair = read(paths, how, from_positives, root)
        made = arranged(pair)
        audited = audit(pair)
        marks = _marks(audited, made, allow_overlap)
    except ValueError as error:
        raise ValueError(as_keys(str(error), given.values())) from error
    arrays = made.arrays
    assert arrays.split is not None, "test rows are told apart by it"
    sides = [np.bincount(arrays.y[arrays.split == side], minlength=len(OwnData.classes)) for side in (0, 1)]
    return Declared(
        name=name,
        paths=paths,
        how=dict(how),
        from_positives=from_positives,
        files={path: fingerprint(root / path) for path in paths.values()},
        inputs=pair.preparing.inputs,
        shape=pair.preparing.shape,
        counts={part: tuple(map(int, side)) for part, side in zip(("train", "test"), sides, strict=True)},
        digest=content_digest(arrays),
        scale=pair.preparing.scale,
        preparing=pair.preparing.model_dump(mode="json"),
        notes=(*audited.repeats, *_notes(pair, made, from_positives)),
        marks=marks,
    )


def _below(role: str, given: str, root: Path) -> str:
    from puoc.datasets.readers.images import linked_folders

    path = PurePosixPath(given)
    if path.is_absolute() or ".." in path.parts or path.parts[:1] != (PLACE,):
        raise ValueError(
            f"{role}: got {given!r}; expected a path below {PLACE}/, beside params.yaml: dvc repro looks there for "
            "changes, and git does not. A link to a file elsewhere will do, one to a folder will not"
        )
    for above in (path, *path.parents):
        if (root / above).is_symlink() and (root / above).is_dir():
            raise ValueError(f"{role}: got {given!r}; {above} is a link to a folder, {_NO_LINK}")
    if not (root / path).exists():
        raise ValueError(f"{role}: {path}: there is no such file or folder")
    for inside in linked_folders(root / path):
        raise ValueError(f"{role}: {inside.relative_to(root)} is a link to a folder, {_NO_LINK}")
    return str(path)


def _marks(found: Audit, made: Arranged, allowed: bool) -> tuple[str, ...]:
    """What stands on every table; raises where test and training rows overlap and nobody allowed it."""
    if found.leaks and not allowed:
        raise ValueError(
            f"{'; '.join(map(str, found.leaks))}. A test on rows that were trained on says little about new ones: take "
            "them out of one file, or say allow_overlap: true, which then marks every table of these data"
        )
    if not found.leaks:
        return ()
    left = sum(n for why, n in made.left_out.items() if why.endswith("test row"))
    what = f"{left} training rows that equal one were left out" if left else "none of these training rows was left out"
    return (f"overlap allowed: {found.shared} of {found.of} test rows are in the training files too; {what}",)


def _lost(pair: Pair, made: Arranged) -> tuple[str, ...]:
    """A word on rows that are alike by nature, so that equal rows of P and U are no repeats."""
    left = sum(n for why, n in made.left_out.items() if why.endswith("labelled positive"))
    if pair.unlabelled is None or left < _MANY * len(pair.unlabelled):
        return ()
    from puoc.datasets.readers.row_contents import ALIKE

    if len(distinct(pair.X_p)) > (1 - ALIKE) * len(pair.X_p):
        return ()
    return (
        f"{left} of {len(pair.unlabelled)} unlabelled rows were left out since they equal a labelled positive, though "
        "rows repeat among the positives too: U now lacks positives, and estimates of alpha and the label-free "
        "criterion are biased. Columns that vary more would help; puoc fit keeps such rows",
    )


def _notes(pair: Pair, made: Arranged, from_positives: bool) -> tuple[str, ...]:
    """Counts of rows by what was met, columns that are not used, and what the preprocessing was fitted to."""
    fitted = "the labelled positives alone" if from_positives else "labelled and unlabelled rows, for every method"
    parts = [part for part in (pair.positives, pair.unlabelled, pair.test) if part is not None]
    return (
        *_lost(pair, made),
        *pair.notes,
        *(note for part in parts for note in part.notes),
        *pair.column_notes(),
        *([] if pair.preparing.kind == "images" else [f"preprocessing fitted to {fitted}"]),
        *(f"{n} {why} left out" for why, n in made.left_out.items()),
    )


def changed_own(root: Path) -> list[str]:
    """Files and folders of the planned own data that are not what they were when the plan was made.

    They are read only where one was touched since they were read last.
    """
    from puoc.datasets.user.file_stamps import changed_files

    planned = [known for known in DATASETS.values() if issubclass(known, OwnData)]
    return changed_files(root, {path: digest for known in planned for path, digest in known.declared.files.items()})


_KEYS = {
    "--no-header": "header: false",
    "--header": "header: true",
    "--allow-overlap": "allow_overlap: true",
    "--settings": "the section priors",
    "--params": "params:",
}
_QUOTED = r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)"""


def as_keys(message: str, paths: Iterable[str] = ()) -> str:
    """Words for a command's options as words for the keys of an entry: ``--drop ''`` is ``drop: ''``.

    What is the user's own stays: what stands in quotes, and ``paths`` with the files below them.
    """
    longest_first = sorted((str(PurePosixPath(path)) for path in paths), key=len, reverse=True)
    kept = "|".join([_QUOTED, *(rf"{re.escape(path)}(?:/[^:]*)?" for path in longest_first)])
    return re.sub(rf"(?P<kept>{kept})|(?<![^\s(])--[a-z][a-z-]*:?", _as_key, message)


def _as_key(found: re.Match[str]) -> str:
    option = found[0].removesuffix(":")
    return found[0] if found["kept"] else _KEYS.get(option, f"{option[2:]}:")
