"""Extraction of declared files from a verified archive. Names in the archive are compared, never used as paths."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from puoc.datasets.declare.archived import ArchivedFile, ZippedFile
from puoc.datasets.declare.dataset import RawFile
from puoc.datasets.prepare.verify import DAMAGED, FetchError, hexdigest


def unpack(archive: Path, wanted: Sequence[ArchivedFile], into: Path, where: str) -> dict[RawFile, Path]:
    """Write the wanted members of a gzipped tar or a zip archive to files with new names; the rest is ignored.

    Parameters
    ----------
    archive : the archive; it is read only if it has the declared checksum.
    wanted : members of this archive, at least one; the written files still have to be verified.
    into : an existing folder.
    where : name of the archive in error messages.

    Raises
    ------
    FetchError : the archive has another checksum, is damaged, or lacks a wanted member of the declared size.
    """
    algorithm, expected = wanted[0].checksum
    got = hexdigest(archive, algorithm)
    if got != expected:
        size, called = archive.stat().st_size, algorithm.upper()
        raise FetchError(f"{where}: got {size} bytes with {called} {got}, expected {called} {expected}; {DAMAGED}")
    is_zip = isinstance(wanted[0], ZippedFile)
    try:
        drafts = _written(_unzipped(archive) if is_zip else _untarred(archive), wanted, into)
    except (tarfile.TarError, zipfile.BadZipFile, RuntimeError, EOFError, zlib.error) as error:  # of zip: encrypted too
        kind = "zip" if is_zip else "gzipped tar"
        raise FetchError(f"{where} is no whole {kind} archive ({error}); {DAMAGED}") from error
    absent = [file.path for file in wanted if file not in drafts]
    if absent:
        raise FetchError(f"{where} holds no plain file of the declared size as {', '.join(absent)}; {DAMAGED}")
    return drafts


class _Member(NamedTuple):
    name: str
    size: int
    open: Callable[[], IO[bytes] | None]


def _untarred(archive: Path) -> Iterator[_Member]:
    with tarfile.open(archive, "r|gz") as members:
        for member in members:
            if member.isfile():
                yield _Member(member.name, member.size, partial(members.extractfile, member))


def _unzipped(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as members:
        for member in members.infolist():
            yield _Member(member.filename, member.file_size, partial(members.open, member))


def _written(members: Iterator[_Member], wanted: Sequence[ArchivedFile], into: Path) -> dict[RawFile, Path]:
    drafts: dict[RawFile, Path] = {}
    by_name = {file.member: file for file in wanted}
    for member in members:
        file = by_name.get(member.name)
        if file is None or file in drafts or member.size != file.size:
            continue
        content = member.open()
        if content is None:
            continue
        draft = into / f"member-{len(drafts)}"
        with content, draft.open("xb") as target:
            shutil.copyfileobj(content, target, 1 << 20)
        drafts[file] = draft
        if len(drafts) == len(by_name):
            break
    return drafts
