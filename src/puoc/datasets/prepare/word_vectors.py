"""Word vectors: files of word2vec, GloVe and fastText that are found by the first digits of their sha256.

A file is read once. Its words and its vectors are stored in the user's cache (``XDG_CACHE_HOME``), from which every
worker maps the vectors into memory. The name in the cache includes a digest of this module, so a file is read again
after a change of the module.
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
    """Format of a file."""

    binary: bool
    header: bool  # True if the first line has the numbers of words and of values


def word_vectors(sha256: str, mirror: Path | None = None) -> WordVectors:
    """Return the vectors of the file with this digest. Nothing is downloaded, since the files have gigabytes.

    Parameters
    ----------
    sha256 : the first digits, at least 8.
    mirror : its folders ``vectors`` and ``glove`` are searched after those of ``data``; default: environment variable
        PUOC_MIRROR.

    Raises
    ------
    FetchError : the file is missing or contains no word vectors.
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
    """Return the folder of the cache with the content of a file; the first process creates it."""
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
    """Read words and vectors (n, d) of a file of word2vec (binary or text), GloVe or fastText, also of a gzip file.

    Raises
    ------
    FetchError : the file has another format, is damaged, or has a value that is not finite.
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
    """Return True for a line with a word and d values."""
    fields = line.split()
    try:
        return d > 0 and len([float(field) for field in fields[1:]]) == d
    except ValueError:
        return False


def _reader() -> str:
    """Return the digest of the code that reads a file, which decides the form in the cache."""
    return code_digest(__name__)


def _cache() -> Path:
    import pooch

    return Path(pooch.os_cache("puoc")) / "vectors"
