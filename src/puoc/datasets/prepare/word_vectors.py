"""Word vectors: files known by the first digits of their sha256, as word2vec, GloVe and fastText publish them.

A file is read once and kept, with its words apart, below the user's cache (``XDG_CACHE_HOME``), so that every worker
maps the same numbers from the disk. What is kept is named by the file and by the code that reads it: after a change of
this module a file is read anew.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from puoc.datasets.prepare.verify import FetchError, hexdigest
from puoc.digests import code_digest

FOLDERS = ("vectors", "glove")  # of data/ and of a mirror
_LINE = 1 << 20  # no line of a text file is longer, in bytes


class WordVectors(NamedTuple):
    """Words and their vectors."""

    row_of: dict[str, int]  # of a word in ``matrix``; in the order of the file, which is that of frequency
    matrix: NDArray[np.float32]  # (n, d), mapped from the disk


class _Layout(NamedTuple):
    """How a file is written."""

    binary: bool
    header: bool  # whether the numbers of words and of values come first


def word_vectors(sha256: str, mirror: Path | None = None) -> WordVectors:
    """The vectors of the file with this digest. Nothing is downloaded: such files have gigabytes.

    Parameters
    ----------
    sha256 : the first digits, at least 8.
    mirror : looked up as ``mirror/vectors`` and ``mirror/glove``; default: environment PUOC_MIRROR. ``data/vectors``
        and ``data/glove`` come before it.

    Raises
    ------
    FetchError : no such file, or it holds no word vectors.
    """
    root = _cache()
    kept = sorted(folder for folder in root.glob(f"{sha256}*-{_reader()}") if folder.is_dir())
    return _opened(kept[0] if kept else _read_once(_vectors_file(sha256, mirror), root))


@cache
def _opened(folder: Path) -> WordVectors:
    words = json.loads((folder / "words.json").read_bytes())
    matrix = np.load(folder / "vectors.npy", mmap_mode="r", allow_pickle=False)
    return WordVectors({word: row for row, word in enumerate(words)}, matrix)


def _vectors_file(sha256: str, mirror: Path | None) -> Path:
    mirror = mirror or (Path(os.environ["PUOC_MIRROR"]) if os.environ.get("PUOC_MIRROR") else None)
    for path in _candidates(mirror):
        if hexdigest(path, "sha256").startswith(sha256):
            return path
    raise FetchError(
        f"no word vectors with sha256 {sha256}... in data/vectors or the folder vectors of a mirror (PUOC_MIRROR); put "
        "the file there, unpacked if it is a zip: docs/datasets.md names where GloVe, word2vec and fastText have it"
    )


def _candidates(mirror: Path | None) -> Iterator[Path]:
    for root in (Path("data"), *([mirror] if mirror else [])):
        for name in FOLDERS:
            yield from sorted(path.resolve() for path in (root / name).glob("*") if path.is_file())


def _read_once(path: Path, root: Path) -> Path:
    """The folder with what the file holds; made by the first process that asks for it."""
    digest = hexdigest(path, "sha256")
    folder = root / f"{digest}-{_reader()}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f".{digest}.lock"):
            if not folder.is_dir():
                for left_by_a_killed_process in root.glob(f".{digest}-*"):
                    shutil.rmtree(left_by_a_killed_process)
                _write(read_vectors(path), folder)
    except OSError as error:
        raise FetchError(f"{folder} cannot be written: {error}; make room, or set XDG_CACHE_HOME") from error
    return folder


def _write(found: tuple[list[str], NDArray[np.float32]], folder: Path) -> None:
    words, matrix = found
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        (draft / "words.json").write_text(json.dumps(words), encoding="utf-8")
        np.save(draft / "vectors.npy", matrix, allow_pickle=False)
        draft.replace(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def read_vectors(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    """Words and vectors (n, d) of a file of word2vec (binary or text), GloVe or fastText, or of one that gzip packed.

    Raises
    ------
    FetchError : it is none, it is damaged, or a value is not finite.
    """
    from gensim.models import KeyedVectors

    try:
        layout = _layout(path)
        found: Any = KeyedVectors.load_word2vec_format(
            str(path), binary=layout.binary, no_header=not layout.header, unicode_errors="replace"
        )
        if not layout.binary and found.vector_size > 1 and np.ptp(found.vectors[-1]) == 0:
            raise ValueError("its last line has one value")  # gensim takes it for all values of the word
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise FetchError(
            f"{path} is no whole file of word vectors ({error}); expected word2vec's binary form, or lines of a word "
            "and its values as GloVe and fastText write them"
        ) from error
    matrix: NDArray[np.float32] = found.vectors
    if not all(np.isfinite(part).all() for part in np.array_split(matrix, max(1, len(matrix) // 10_000))):
        raise FetchError(f"{path}: got values that are not finite; it is damaged")
    return list(found.index_to_key), matrix


def _layout(path: Path) -> _Layout:
    import smart_open

    with smart_open.open(str(path), "rb") as file:
        first, second = file.readline(_LINE), file.readline(_LINE)
    header = first.split()
    if len(header) == 2 and all(field.isdigit() for field in header):
        return _Layout(binary=not _is_line(second, int(header[1])), header=True)
    if not _is_line(first, len(header) - 1):
        raise ValueError(f"it begins with {first[:40]!r}")
    return _Layout(binary=False, header=False)


def _is_line(line: bytes, d: int) -> bool:
    """Whether a line is a word and d values."""
    fields = line.split()
    try:
        return d > 0 and len([float(field) for field in fields[1:]]) == d
    except ValueError:
        return False


def _reader() -> str:
    """Names the code that reads a file, and so the form in which it is kept."""
    return code_digest(__name__)


def _cache() -> Path:
    import pooch

    return Path(pooch.os_cache("puoc")) / "vectors"
