"""Whether files of own data are what they were, known without reading those that nobody touched."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from puoc.datasets.user.dataset import fingerprint
from puoc.store.atomic import read_json, write_json

#: A memory and nothing else: without it, in a copy of the project say, files are read once more.
_KEPT = Path("work") / "own_stamps.json"


def changed_files(root: Path, digests: Mapping[str, str]) -> list[str]:
    """Those of some files and folders below the root, by their fingerprints, that are gone or hold something else."""
    known, found = _known(root), {}
    for path in digests:
        if (root / path).exists():
            # before the file is read: one that is written meanwhile has another stamp by then
            now = stamp(root / path)
            before = known.get(path, ("", ""))
            found[path] = (now, before[1] if before[0] == now else fingerprint(root / path))
    if found != {path: known[path] for path in found if path in known}:
        with suppress(OSError):  # a full disk or a folder of somebody else: read again next time
            write_json(root / _KEPT, {path: list(pair) for path, pair in (known | found).items()})
    return [path for path, digest in digests.items() if path not in found or found[path][1] != digest]


def stamp(path: Path) -> str:
    """What changes with a file, or with one in a folder.

    It holds the time of the last change of the file's entry, which no program sets back, so an equal stamp means an
    unchanged file; another one means nothing, since a copy of the same file has another.
    """
    inside = [path] if path.is_file() else [Path(at, name) for at, _, names in os.walk(path) for name in names]
    lines = []
    for file in inside:
        with suppress(FileNotFoundError):  # a link to nothing, which readers refuse
            of = file.stat()
            lines.append(f"{os.path.relpath(file, path)} {of.st_ino} {of.st_size} {of.st_mtime_ns} {of.st_ctime_ns}")
    return sha256("\n".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest()


def _known(root: Path) -> dict[str, tuple[str, str]]:
    """Stamp and fingerprint by path, as they were when the files were read last."""
    try:
        kept = read_json(root / _KEPT)
        return {str(path): (str(now), str(content)) for path, (now, content) in kept.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
