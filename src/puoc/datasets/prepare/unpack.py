"""Declared files out of an archive that was verified first. Names inside the archive are compared, never followed."""

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
    """Write the wanted members of a gzipped tar or a zip archive to files of our own names; the rest is passed over.

    Parameters
    ----------
    archive : the archive as obtained; nothing in it is read unless its checksum is the declared one.
    wanted : members of this archive, at least one; what is written of them is still to be checked.
    into : an existing folder.
    where : what error messages call the archive.

    Raises
    ------
    FetchError : another archive, a damaged one, or one without a wanted member as a plain file of its declared size.
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
    absent = [of.path for of in wanted if of not in drafts]
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
    by_name = {of.member: of for of in wanted}
    for member in members:
        of = by_name.get(member.name)
        if of is None or of in drafts or member.size != of.size:
            continue
        content = member.open()
        if content is None:
            continue
        draft = into / f"member-{len(drafts)}"
        with content, draft.open("xb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
        drafts[of] = draft
        if len(drafts) == len(by_name):
            break
    return drafts
