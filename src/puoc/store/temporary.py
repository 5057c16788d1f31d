"""Temporary folders that the next command removes if the process that made them was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_PREFIX = "puoc-"
_KINDS = ("model", "models", "plan", "run", "stdin", "wheels")
_LOCK = "lock"
_DAY = 86_400  # seconds after which a folder without a lock, of an earlier version, is abandoned


@contextmanager
def temporary_folder(kind: str) -> Iterator[Path]:
    """Make an empty folder, and remove it with its content at the end.

    The first call of a process also removes the folders of killed processes. A folder contains a file that its process
    keeps locked, and the kernel unlocks the file when the process ends in any way. So a folder whose file can be locked
    is abandoned, on whichever machine or in whichever container its process ran.

    Parameters
    ----------
    kind : model, models, plan, run, stdin or wheels, as part of the folder's name.
    """
    assert kind in _KINDS, kind
    place = Path(tempfile.gettempdir())
    _remove_abandoned_once(place)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-", dir=place))
    try:
        with (folder / f".{_LOCK}").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / f".{_LOCK}").rename(folder / _LOCK)  # it is locked from its first moment under this name
            (folder / "content").mkdir()
            yield folder / "content"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def _remove_abandoned_once(place: Path) -> None:
    remove_abandoned(place)


def remove_abandoned(place: Path) -> None:
    """Remove the temporary folders of this user in a folder whose processes have ended."""
    for kind in _KINDS:
        for folder in place.glob(f"{_PREFIX}{kind}-*"):
            with suppress(OSError):  # it is gone, or belongs to somebody else
                if folder.is_dir() and not folder.is_symlink() and folder.stat().st_uid == os.getuid():
                    _remove_if_abandoned(folder)


def _remove_if_abandoned(folder: Path) -> None:
    try:
        lock = (folder / _LOCK).open("r+")
    except FileNotFoundError:
        if time.time() - folder.stat().st_mtime > _DAY:
            shutil.rmtree(folder, ignore_errors=True)
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if its process lives
        shutil.rmtree(folder, ignore_errors=True)
