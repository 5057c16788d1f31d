"""Atomic writing of files: a reader never sees a part of one."""

from __future__ import annotations

import errno
import json
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def create(path: Path, content: bytes, durable: bool = True) -> bool:
    """Write a file that must not exist yet, whole or not at all. Return False if it exists.

    The content is written under a temporary name, which is then linked to the final one. The link fails if that exists.

    Parameters
    ----------
    path : the file; missing folders above it are created.
    durable : wait until file and name are on the disk, so that they survive a power cut.

    Raises
    ------
    OSError : no space, no permission or no hard links. The final name does not exist then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path)
    try:
        _write(temporary, content, durable)
        if not _link(temporary, path):
            return False
    finally:
        temporary.unlink(missing_ok=True)
    if durable:
        _sync_folder(path.parent)
    return True


def create_many(files: Sequence[tuple[Path, bytes]]) -> list[bool]:
    """Write files that must not exist yet, each whole or not at all. Return for each whether it was written.

    The files survive a power cut like those of ``create``. Two syncs of the whole system replace two syncs for each
    file, which take most of the time if there are thousands of small files.

    Parameters
    ----------
    files : paths and contents; missing folders above the paths are created.

    Raises
    ------
    OSError : no space, no permission or no hard links. Files that were linked before stand.
    """
    temporaries = [_temporary(path) for path, _ in files]
    try:
        for temporary, (path, content) in zip(temporaries, files, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(temporary, content, durable=False)
        os.sync()
        written = [_link(temporary, path) for temporary, (path, _) in zip(temporaries, files, strict=True)]
    finally:
        for temporary in temporaries:
            temporary.unlink(missing_ok=True)
    os.sync()
    return written


def write_bytes(path: Path, content: bytes) -> bool:
    """Replace a file by renaming a new one; an equal file is kept. Return True if the file was written."""
    if path.exists() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path)
    try:
        _write(temporary, content, durable=True)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def write_json(path: Path, value: object) -> bool:
    """Replace a JSON file: keys in their order, indented, with a line feed at the end."""
    return write_bytes(path, (json.dumps(value, indent=1, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """Read the value of a JSON file.

    Raises
    ------
    ValueError : the file is no JSON; the message names it.
    """
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:  # no JSON, or no text at all, or thousands of brackets
        raise ValueError(f"{path}: not JSON ({error}); expected a file as puoc writes it, whole") from error


def _temporary(path: Path) -> Path:
    return path.parent / f".{path.name}.{uuid.uuid4().hex[:8]}"


def _write(path: Path, content: bytes, durable: bool) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        if durable:
            os.fsync(file.fileno())


def _link(temporary: Path, path: Path) -> bool:
    try:
        os.link(temporary, path)
    except FileExistsError:
        # over NFS a link is requested again if its reply is lost, and the second request finds the file of the first
        return temporary.stat().st_nlink > 1
    except OSError as error:
        if error.errno in _NO_HARD_LINKS:
            reason = "this file system makes no hard links, which the ledger needs; keep it in one that does"
            raise OSError(error.errno, reason, str(path)) from error
        raise
    return True


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
