"""Folder of a dataset below ``data/``, filled once and by one process at a time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from puoc.datasets import DATASETS
from puoc.datasets.declare.dataset import Dataset
from puoc.datasets.prepare.dvc_pins import dvc_pull
from puoc.datasets.prepare.sources import STAGING, download, wheels_downloaded_once
from puoc.datasets.prepare.verify import FetchError, is_verified
from puoc.datasets.user.dataset import own_data
from puoc.store.atomic import write_json

Event = Callable[[str], None]


def known_dataset(name: str) -> type[Dataset]:
    """Return the class of a registered dataset. Raises ValueError with a list of them for another name."""
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
    """Provide every raw file of a dataset in ``data_root/<name>/``, verified. Several processes may call it at once.

    Parameters
    ----------
    mirror : folder that is searched for ``<name>/<path>``, then for ``<path>``, then for an archive of the file;
        default: environment variable PUOC_MIRROR.
    on_event : called with a sentence about each step.
    replace : overwrite a file that fails verification, instead of raising an error.

    Returns
    -------
    One entry for each file: file, size (bytes), sha256, source (present, dvc, mirror, package, index or url; own for
    user data, which are not copied).

    Raises
    ------
    ValueError : unknown dataset, or user data that have changed since the plan was made.
    FetchError : no source has the file, a copy or the present file is wrong, or the folder is not writable.
    """
    declared, folder = known_dataset(name), data_root / name
    if (own := own_data(name)) is not None:
        own.check_unchanged()
        files = own.declared.files.items()
        return [{"file": path, "size": own.size(path), "sha256": digest, "source": "own"} for path, digest in files]
    missing = [raw for raw in declared.files if not is_verified(folder / raw.path, raw, replace)]
    sources = {raw.path: "present" for raw in declared.files}
    if missing:
        mirror = mirror or (Path(os.environ["PUOC_MIRROR"]) if os.environ.get("PUOC_MIRROR") else None)
        with _locked_folder(name, data_root):
            pulled = False
            for raw in declared.files:
                if is_verified(folder / raw.path, raw, replace):
                    continue  # another process or the same dvc pull has downloaded it
                if not pulled:
                    pulled = True
                    dvc_pull(folder, on_event)
                    if is_verified(folder / raw.path, raw, replace):
                        sources |= {other.path: "dvc" for other in missing if (folder / other.path).exists()}
                        continue
                wanted = [other for other in missing if sources[other.path] == "present"]
                sources |= download(name, raw, wanted, folder, mirror, on_event)
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

    The source of a file is left out, so that the content does not depend on it. A file is written only if it changes.

    Raises
    ------
    FetchError : lists the datasets that are not available, after the others were downloaded.
    """
    failures: list[str] = []
    with wheels_downloaded_once():
        for name in names:
            try:
                fetched = ensure(name, data_root, mirror=mirror, on_event=on_event, replace=replace)
            except FetchError as error:
                failures.append(str(error))
                continue
            stable = [{key: entry[key] for key in ("file", "size", "sha256")} for entry in fetched]
            write_json(out_dir / f"{name}.json", stable)
    if failures:
        raise FetchError("\n".join(failures))


@contextmanager
def _locked_folder(name: str, data_root: Path) -> Iterator[None]:
    """Lock ``data_root/<name>/`` for one process. Locks are stored outside data/, whose content DVC hashes."""
    folder, locks = data_root / name, data_root.parent / "work" / "locks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        locks.mkdir(parents=True, exist_ok=True)
        lock = FileLock(locks / f"fetch-{name}.lock")
        lock.acquire()
    except OSError as error:
        raise FetchError(f"{folder} cannot be filled: {error}; make {data_root.parent} writable") from error
    try:
        for left_by_a_killed_process in folder.glob(f"{STAGING}*"):
            shutil.rmtree(left_by_a_killed_process)
        yield
    finally:
        lock.release()
