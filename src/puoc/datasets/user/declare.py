"""Reading of an entry of the section datasets: the files, their overlap, and the declaration for later commands."""

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
_MANY: Final = 0.1  # share of U left out from which a warning is shown
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
    """Read user data and return their declaration.

    Parameters
    ----------
    given : paths by role: positives and unlabelled, or data; and test where there are labelled test rows.
    how : fields of ``puoc.datasets.readers.How``.
    from_positives : fit the preprocessing to the labelled positives alone, not to the unlabelled rows.
    allow_overlap : continue if test rows are among the training rows.
    root : the project's folder.

    Raises
    ------
    ValueError : a path is not below ``own/``, a file cannot be read or can be read in two ways, or test and training
        rows overlap. The message names keys of the entry, not options of a command.
    """
    from puoc.datasets.user.leakage import audit  # takes a second, as all readers of user data

    try:
        paths = {role: _below(role, given[role], root) for role in ROLES if role in given}
        pair = read(paths, how, from_positives, root)
        rows = arranged(pair)
        audited = audit(pair)
        warnings = _warnings(audited, rows, allow_overlap)
    except ValueError as error:
        raise ValueError(_in_keys(error, how, given.values())) from error
    arrays = rows.arrays
    assert arrays.split is not None, "it marks the test rows"
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
        notes=(*_small_overlap(audited, rows), *audited.repeats, *_notes(pair, rows, from_positives)),
        marks=(*warnings, *pair.marks),
    )


def _in_keys(error: ValueError, how: Mapping[str, object], paths: Iterable[str]) -> str:
    """Return the message of an error with keys of the entry in place of options."""
    from puoc.datasets.readers import DoubtfulColumns

    if not isinstance(error, DoubtfulColumns):
        return as_keys(str(error), paths)
    keys: dict[str, list[str]] = {}
    for option, value in error.answers:
        given = how.get(option, ())
        before = [str(one) for one in given] if isinstance(given, Iterable) else []
        keys.setdefault(option, before).append(value)
    lists = ", ".join(
        f"{key}: {values[0]!r}" if key == "text" else f"{key}: [{', '.join(map(repr, values))}]"
        for key, values in keys.items()
    )
    return as_keys(error.with_answer(f"These keys of the entry answer this: {lists}"), paths)


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


def _warnings(audited: Audit, rows: Arranged, allowed: bool) -> tuple[str, ...]:
    """Return the warning for every table. Raises ValueError for an overlap that is not allowed."""
    if audited.refused and not allowed:
        raise ValueError(
            f"{'; '.join(map(str, audited.leaks))}: {audited.effect}. "
            "A test on rows that were trained on says little about new ones: "
            "take them out of one file, or set allow_overlap: true, which then marks every table of these data"
        )
    if not audited.refused:
        return ()
    return (f"overlap allowed: {_shared(audited, rows)}",)


def _small_overlap(audited: Audit, rows: Arranged) -> tuple[str, ...]:
    """Return a note on an overlap that is too small to matter."""
    if not audited.leaks or audited.refused:
        return ()
    return (f"{_shared(audited, rows)}; {audited.effect}",)


def _shared(audited: Audit, rows: Arranged) -> str:
    left = sum(n for why, n in rows.left_out.items() if why.endswith("test row"))
    training = f"{left} training rows that equal one were" if left else "none of these training rows was"
    shared = f"{audited.shared} of {audited.of} test rows are in the training files too"
    return f"{shared}; {training} left out"


def _lost(pair: Pair, rows: Arranged) -> tuple[str, ...]:
    """Return a warning if rows that are alike by nature were left out of U since they equal a row of P."""
    left = sum(n for why, n in rows.left_out.items() if why.endswith("labelled positive"))
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


def _notes(pair: Pair, rows: Arranged, from_positives: bool) -> tuple[str, ...]:
    """Return remarks on rows, on columns that are not used and on the rows that the preprocessing was fitted to."""
    fitted = "the labelled positives alone" if from_positives else "labelled and unlabelled rows, for every method"
    parts = [part for part in (pair.positives, pair.unlabelled, pair.test) if part is not None]
    return (
        *_lost(pair, rows),
        *pair.notes,
        *(note for part in parts for note in part.notes),
        *pair.column_notes(),
        *([] if pair.preparing.kind == "images" else [f"preprocessing fitted to {fitted}"]),
        *(f"{n} {why} left out" for why, n in rows.left_out.items()),
    )


def changed_own(root: Path) -> list[str]:
    """Return the files and folders of the planned user data that have changed since the plan was made.

    A file is read only if it was touched after it was last read.
    """
    from puoc.datasets.user.file_stamps import changed_files

    planned = [known for known in DATASETS.values() if issubclass(known, OwnData)]
    return changed_files(root, {path: digest for known in planned for path, digest in known.declared.files.items()})


_KEYS = {
    "--no-header": "header: false",
    "--header": "header: true",
    "--allow-overlap": "allow_overlap: true",
    "--allow-file-differences": "allow_file_differences: true",
    "--settings": "the section priors",
    "--params": "params:",
}
_QUOTED = r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)"""


def as_keys(message: str, paths: Iterable[str] = ()) -> str:
    """Replace the options of a command by keys of an entry: ``--drop ''`` becomes ``drop: ''``.

    Texts in quotes, and ``paths`` with the files below them, stay unchanged.
    """
    longest_first = sorted((str(PurePosixPath(path)) for path in paths), key=len, reverse=True)
    kept = "|".join([_QUOTED, *(rf"{re.escape(path)}(?:/[^:]*)?" for path in longest_first)])
    return re.sub(rf"(?P<kept>{kept})|(?<![^\s(])--[a-z][a-z-]*:?", _as_key, message)


def _as_key(match: re.Match[str]) -> str:
    option = match[0].removesuffix(":")
    return match[0] if match["kept"] else _KEYS.get(option, f"{option[2:]}:")
