"""One check of every path to read that a user names: a pipe may never end, and a device has no end."""

from __future__ import annotations

from pathlib import Path
from stat import S_ISDIR, S_ISREG


def check_regular(path: Path, expected: str = "a file") -> None:
    """Raise ValueError if a path leads to a pipe, a socket or a device.

    A folder, a missing path and one that nobody may look at are left to the reader, which knows what it expects.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not (S_ISREG(mode) or S_ISDIR(mode)):
        raise ValueError(
            f"{path}: got a pipe or a device; expected {expected}. Save it as a regular file, because puoc reads it "
            "more than once"
        )
