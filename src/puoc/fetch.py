"""Raw files into ``data/``, verified by size and sha256, or a clear error and nothing half-written.

Sources in this order: present and verified; ``dvc pull`` where a remote is set; a mirror folder; the installed package
or official address that the dataset names.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import file_digest, md5
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock
from ruamel.yaml import YAML

from puoc.datasets import DATASETS
from puoc.datasets.dataset import Dataset, RawFile
from puoc.files import write_json

Event = Callable[[str], None]

_STAGING = ".part-"  # prefix of the folder inside data/<name>/ in which a file is built before it is renamed


class FetchError(ValueError):
    """A raw file could not be had, or is not what it should be."""


class Found(NamedTuple):
    """What a file on disk really is."""

    size: int
    sha256: str


def known_dataset(name: str) -> type[Dataset]:
    """The class of a registered dataset, or a ValueError that lists them."""
    if name not in DATASETS:
        raise ValueError(f"unknown dataset {name!r}; params.yaml may name: {', '.join(sorted(DATASETS))}")
    declared: type[Dataset] = DATASETS[name]
    return declared


def ensure(
    name: str,
    data_root: Path,
    mirror: Path | None = None,
    on_event: Event = lambda _: None,
    replace: bool = False,
) -> list[dict[str, str | int]]:
    """Have every raw file of a dataset in ``data_root/<name>/``, verified; idempotent, safe in several processes.

    Parameters
    ----------
    mirror : folder looked up as ``mirror/<name>/<path>``, then ``mirror/<path>``; default: environment PUOC_MIRROR.
    on_event : is told in a sentence what is done.
    replace : overwrite a present file that fails verification, instead of raising.

    Returns
    -------
    One entry a file: file, size (bytes), sha256, source (present, dvc, mirror, package or url).

    Raises
    ------
    ValueError : unknown dataset.
    FetchError : no source has the file, a source's copy or the present file is wrong, or the folder is not writable.
    """
    declared, folder = known_dataset(name), data_root / name
    missing = [raw for raw in declared.files if not _is_verified(folder / raw.path, raw, replace)]
    sources = {raw.path: "present" for raw in declared.files}
    if missing:
        mirror = mirror or (Path(os.environ["PUOC_MIRROR"]) if os.environ.get("PUOC_MIRROR") else None)
        with _locked_folder(name, data_root):
            pulled = False
            for raw in declared.files:
                if _is_verified(folder / raw.path, raw, replace):
                    continue  # another process was faster, or the same dvc pull brought it
                if not pulled:
                    pulled = True
                    _dvc_pull(folder, on_event)
                    if _is_verified(folder / raw.path, raw, replace):
                        sources |= {other.path: "dvc" for other in missing if (folder / other.path).exists()}
                        continue
                sources[raw.path] = _bring(name, raw, folder, mirror, on_event)
    return [
        {"file": raw.path, "size": raw.size, "sha256": raw.sha256, "source": sources[raw.path]}
        for raw in declared.files
    ]


def write_fetched(
    names: Iterable[str],
    data_root: Path,
    out_dir: Path,
    mirror: Path | None = None,
    on_event: Event = lambda _: None,
    replace: bool = False,
) -> None:
    """Ensure each dataset and write ``out_dir/<name>.json``: file, size and sha256 of its raw files.

    Where a file came from is left out, so that the content is the same whatever the source. What would not change is
    not touched.
    """
    for name in names:
        fetched = ensure(name, data_root, mirror=mirror, on_event=on_event, replace=replace)
        stable = [{key: entry[key] for key in ("file", "size", "sha256")} for entry in fetched]
        write_json(out_dir / f"{name}.json", stable)


def compare_with_dvc(data_root: Path, dvc_file: Path) -> str | None:
    """A sentence where ``data_root`` is not what ``dvc_file`` pins, else None (also where there is no such file).

    Raises
    ------
    FetchError : the file does not pin ``data_root`` by an md5 of DVC 3.
    """
    if not dvc_file.exists():
        return None
    outs = (YAML(typ="safe").load(dvc_file) or {}).get("outs", [])
    pins = [out for out in outs if out.get("path") == data_root.name]
    if len(pins) != 1 or pins[0].get("hash") != "md5" or "md5" not in pins[0]:
        raise FetchError(f"{dvc_file} has no md5 of DVC 3 for {data_root.name}; run `dvc add {data_root.name}` again")
    got, expected = f"{directory_md5(data_root)}.dir", pins[0]["md5"]
    if got == expected:
        return None
    return (
        f"{data_root} is not what {dvc_file.name} pins: md5 {got}, {expected} expected. `dvc add {data_root.name}` "
        f"pins what is there, `dvc checkout {data_root.name}` brings back what was pinned."
    )


def directory_md5(folder: Path) -> str:
    """md5 of a folder as DVC 3 computes it: of the JSON list of its files' md5 and relative paths.

    Files that a .dvcignore hides from DVC are counted here.
    """
    entries = [
        {"md5": _hexdigest(path, "md5"), "relpath": path.relative_to(folder).as_posix()}
        for path in folder.rglob("*")
        if path.is_file()
    ]
    entries.sort(key=itemgetter("relpath"))
    return md5(json.dumps(entries, sort_keys=True).encode(), usedforsecurity=False).hexdigest()


def _hexdigest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return file_digest(file, algorithm).hexdigest()


def _check(path: Path, raw: RawFile, advice: str, where: str | None = None) -> None:
    """Raise unless the file has the declared size and sha256."""
    size = path.stat().st_size
    sha256 = _hexdigest(path, "sha256")
    if Found(size, sha256) != Found(raw.size, raw.sha256):
        raise FetchError(
            f"{where or path}: got {size} bytes with sha256 {sha256}, expected {raw.size} bytes with sha256 "
            f"{raw.sha256}; {advice}"
        )


def _is_verified(path: Path, raw: RawFile, replace: bool) -> bool:
    """Whether the file is there and right; wrong is an error unless it may be replaced."""
    if not path.is_file():
        return False
    try:
        _check(path, raw, "delete it or run `puoc fetch --replace`")
    except FetchError:
        if replace:
            return False
        raise
    return True


@contextmanager
def _locked_folder(name: str, data_root: Path) -> Iterator[None]:
    """One process at a time fills ``data_root/<name>/``. Locks lie beside data/, whose content DVC hashes."""
    folder, locks = data_root / name, data_root.parent / "work" / "locks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        locks.mkdir(parents=True, exist_ok=True)
        lock = FileLock(locks / f"fetch-{name}.lock")
        lock.acquire()
    except OSError as error:
        raise FetchError(f"{folder} cannot be filled: {error}; make {data_root.parent} writable") from error
    try:
        for left_by_a_killed_process in folder.glob(f"{_STAGING}*"):
            shutil.rmtree(left_by_a_killed_process)
        yield
    finally:
        lock.release()


def _dvc_pull(folder: Path, on_event: Event) -> None:
    """Let DVC bring the dataset's folder, where the repository around ``data/`` pins it and names a remote."""
    root = folder.parent.parent
    pin = root / f"{folder.parent.name}.dvc"
    configs = [root / ".dvc" / name for name in ("config", "config.local")]
    has_remote = any(
        "[remote" in config.read_text(encoding="utf-8").replace("'", "") for config in configs if config.exists()
    )
    if not (pin.exists() and has_remote and find_spec("dvc")):
        return
    target = folder.relative_to(root).as_posix()
    on_event(f"dvc pull {target}")
    command = [sys.executable, "-m", "dvc", "pull", "-q", target]
    environment = os.environ | {"DVC_NO_ANALYTICS": "1"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        on_event(f"dvc pull {target} brought nothing ({reason[0]}); trying the next source")


def _bring(name: str, raw: RawFile, folder: Path, mirror: Path | None, on_event: Event) -> str:
    """Copy or download one file, verify it, then give it its name. Returns the kind of source."""
    tried: list[str] = []
    for kind, source in _sources(name, raw, mirror):
        if isinstance(source, Path) and not source.is_file():
            tried.append(f"{source} (absent)")
            continue
        on_event(f"{folder / raw.path} from {source}")
        try:
            _install(source, raw, folder)
        except OSError as error:
            raise FetchError(
                f"{folder / raw.path} could not be brought from {source}: {error}; make the folder writable, mend the "
                "source, or name a folder that has the file by `puoc fetch --from` or PUOC_MIRROR"
            ) from error
        return kind
    raise FetchError(
        f"{name}: {raw.path} was looked for in vain: {', '.join(tried) or 'it has no source'}; name a folder that has "
        "it by `puoc fetch --from` or PUOC_MIRROR"
    )


def _sources(name: str, raw: RawFile, mirror: Path | None) -> Iterator[tuple[str, Path | str]]:
    if mirror is not None:
        yield "mirror", mirror / name / raw.path
        yield "mirror", mirror / raw.path
    if raw.package is not None:
        package, resource = raw.package
        spec = find_spec(package)  # finds the package's folder without importing it
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield "package", Path(folder) / resource
    if raw.url is not None:
        yield "url", raw.url


def _install(source: Path | str, raw: RawFile, folder: Path) -> None:
    """Build the file in a folder of its own inside ``folder``; only a verified file is renamed to its name."""
    target = folder / raw.path
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=_STAGING, dir=folder) as staging:
        draft = Path(staging) / target.name
        if isinstance(source, Path):
            shutil.copyfile(source, draft)
        else:
            import pooch

            pooch.HTTPDownloader()(source, str(draft), None)
        _check(draft, raw, "the source is damaged, or not the version that puoc knows", where=str(source))
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(target)
