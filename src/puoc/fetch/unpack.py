"""Declared files out of an archive that was verified first. Names inside the archive are compared, never followed."""

from __future__ import annotations

import shutil
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from puoc.datasets.archived import ArchivedFile
from puoc.datasets.dataset import RawFile
from puoc.fetch.verify import DAMAGED, FetchError, hexdigest


def unpack(archive: Path, wanted: Sequence[ArchivedFile], into: Path, where: str) -> dict[RawFile, Path]:
    """Write the wanted members of a gzipped tar archive to files of our own names; the rest is passed over.

    Parameters
    ----------
    archive : the archive as obtained; nothing in it is read unless its MD5 is the declared one.
    wanted : members of this archive, at least one; what is written of them is still to be checked.
    into : an existing folder.
    where : what error messages call the archive.

    Raises
    ------
    FetchError : another archive, a damaged one, or one without a wanted member as a plain file of its declared size.
    """
    got, expected = hexdigest(archive, "md5"), wanted[0].archive_md5
    if got != expected:
        size = archive.stat().st_size
        raise FetchError(f"{where}: got {size} bytes with MD5 {got}, expected MD5 {expected}; {DAMAGED}")
    try:
        drafts = _written(archive, {of.path: of for of in wanted}, into)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise FetchError(f"{where} is no whole gzipped tar archive ({error}); {DAMAGED}") from error
    absent = [of.path for of in wanted if of not in drafts]
    if absent:
        raise FetchError(f"{where} holds no plain file of the declared size as {', '.join(absent)}; {DAMAGED}")
    return drafts


def _written(archive: Path, by_name: dict[str, ArchivedFile], into: Path) -> dict[RawFile, Path]:
    drafts: dict[RawFile, Path] = {}
    with tarfile.open(archive, "r|gz") as members:
        for member in members:
            of = by_name.get(member.name)
            if of is None or of in drafts or member.size != of.size:
                continue
            content = members.extractfile(member) if member.isfile() else None
            if content is None:
                continue
            draft = into / f"member-{len(drafts)}"
            with content, draft.open("xb") as file:
                shutil.copyfileobj(content, file, 1 << 20)
            drafts[of] = draft
            if len(drafts) == len(by_name):
                break
    return drafts
