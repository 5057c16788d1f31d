"""Check for changed files of user data that reads only the files that were touched."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from puoc.datasets.user.dataset import fingerprint
from puoc.store.atomic import read_json, write_json

#: Stamps of the last reading. Without the file, as in a copy of the project, all files are read again.
_STAMPS = Path("work") / "own_stamps.json"


def changed_files(root: Path, digests: Mapping[str, str]) -> list[str]:
    """Return the files and folders that are missing or differ from their fingerprints.

    Parameters
    ----------
    digests : fingerprints by path below the root.
    """
    known, current = _known(root), {}
    for path in digests:
        if (root / path).exists():
            # taken before the file is read, so that a file written meanwhile has another stamp
            now = stamp(root / path)
            before = known.get(path, ("", ""))
            current[path] = (now, before[1] if before[0] == now else fingerprint(root / path))
    if current != {path: known[path] for path in current if path in known}:
        with suppress(OSError):  # the disk is full or the folder is not writable: the files are read again next time
            write_json(root / _STAMPS, {path: list(pair) for path, pair in (known | current).items()})
    return [path for path, digest in digests.items() if path not in current or current[path][1] != digest]


def stamp(path: Path) -> str:
    """Return a digest of inode, size and times of a file, or of all files in a folder.

    It includes the time of the last change of the file's entry, which no program sets back. So an equal stamp means an
    unchanged file. Another stamp does not mean another content, since a copy has another stamp.
    """
    inside = [path] if path.is_file() else [Path(at, name) for at, _, names in os.walk(path) for name in names]
    lines = []
    for file in inside:
        with suppress(FileNotFoundError):  # a broken link, which readers reject
            status = file.stat()
            numbers = status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
            lines.append(" ".join(map(str, (os.path.relpath(file, path), *numbers))))
    return sha256("\n".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest()


def _known(root: Path) -> dict[str, tuple[str, str]]:
    """Return stamp and fingerprint by path from the last reading of the files."""
    try:
        stored = read_json(root / _STAMPS)
        return {str(path): (str(now), str(content)) for path, (now, content) in stored.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
