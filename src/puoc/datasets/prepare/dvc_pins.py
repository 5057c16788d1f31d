"""Pins of ``data/`` by DVC, and downloads from a DVC remote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import md5
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path

from puoc.datasets.prepare.verify import FetchError, hexdigest
from puoc.records import JsonObject
from puoc.store.messages import kind
from puoc.store.yaml_file import InvalidInput, KeyPath, YamlFile


def compare_with_dvc(data_root: Path, dvc_file: Path) -> str | None:
    """Return a sentence if ``data_root`` differs from the pin in ``dvc_file``, else None; None if there is no pin.

    Raises
    ------
    FetchError : the file is not as ``dvc add`` writes it, or does not pin ``data_root`` by an md5 of DVC 3.
    """
    if not dvc_file.exists():
        return None
    pins = [out for out in _outs(dvc_file, data_root.name) if out.get("path") == data_root.name]
    if len(pins) != 1 or pins[0].get("hash") != "md5" or not isinstance(pins[0].get("md5"), str):
        raise FetchError(f"{dvc_file} has no md5 of DVC 3 for {data_root.name}; run `dvc add {data_root.name}` again")
    got, expected = f"{directory_md5(data_root)}.dir", pins[0]["md5"]
    if got == expected:
        return None
    return (
        f"{data_root} holds other files than {dvc_file.name} pins (md5 {got}, pinned {expected}), as it does when "
        f"another dataset was fetched. Every file was verified by its own checksum; `dvc add {data_root.name}` pins "
        "what is there."
    )


def _outs(dvc_file: Path, name: str) -> list[JsonObject]:
    """Return the list ``outs`` of a .dvc file. Raises FetchError if a merge or an editor has damaged it."""
    again = f"expected {{}} as `dvc add {name}` writes it; settle the merge or run that again"
    try:
        file = YamlFile(dvc_file)
    except InvalidInput as error:
        raise FetchError(f"{error}; {again.format('a file')}") from error
    if not isinstance(file.data, dict):
        raise FetchError(f"{dvc_file.name}:{file.lines.get((), 1)}: got {kind(file.data)}; {again.format('a mapping')}")
    outs = file.data.get("outs")
    if not isinstance(outs, list):
        raise FetchError(f"{file.at(('outs',))}: got {kind(outs)}; {again.format('a list')}")
    for index, out in enumerate(outs):
        if not isinstance(out, dict):
            key: KeyPath = ("outs", index)
            raise FetchError(f"{file.at(key)}: got {kind(out)}; {again.format('a mapping with path and md5')}")
    return outs


def directory_md5(folder: Path) -> str:
    """Return the md5 of a folder as DVC 3 computes it, from the JSON list of the md5 and relative paths of its files.

    Files that a .dvcignore hides from DVC are counted here.
    """
    entries = [
        {"md5": hexdigest(path, "md5"), "relpath": path.relative_to(folder).as_posix()}
        for path in folder.rglob("*")
        if path.is_file()
    ]
    entries.sort(key=itemgetter("relpath"))
    return md5(json.dumps(entries, sort_keys=True).encode(), usedforsecurity=False).hexdigest()


def dvc_pull(folder: Path, on_event: Callable[[str], None]) -> None:
    """Download the dataset's folder with DVC, if the repository around ``data/`` pins it and names a remote."""
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
