"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import errno
import json
import os
import uuid
from pathlib import Path
from typing import Any

_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def create(path: Path, content: bytes, durable: bool = True) -> bool:
    """Write a file that must not exist yet, whole or not at all; False if its name is taken.

    The content goes under a temporary name that is then linked to the final one, which fails where that exists.

    Parameters
    ----------
    path : the file; missing folders above it are made.
    durable : wait until file and name are on the disk, so that a power cut cannot take them back.

    Raises
    ------
    OSError : no space, no right to write, no hard links. Nothing stands under the final name then.
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


def write_bytes(path: Path, content: bytes) -> bool:
    """Replace a file whole, by rename; an equal file is left alone. True if something was written."""
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
    """Replace a JSON file whole: sorted as given, indented, with a line feed at its end."""
    return write_bytes(path, (json.dumps(value, indent=1, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """A JSON file's value.

    Raises
    ------
    ValueError : the file holds no JSON; the message names it.
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
        # over NFS a link whose reply got lost is asked for again, and then finds itself
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
