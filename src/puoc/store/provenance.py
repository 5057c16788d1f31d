"""Provenance of a result: versions of libraries and the state of the repository."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from puoc.records import JsonObject

_LIBRARIES = ("puoc", "numpy", "scipy", "scikit-learn", "torch", "clarabel")


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that can change a number."""
    installed = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


@cache
def machine() -> str:
    """Return the processor, the system and the number of usable cores; the same text on machines of one kind."""
    name = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {platform.system()} {platform.machine()}, {cores} cores"


def git_state(root: Path) -> JsonObject:
    """Return the commit and whether tracked files differ from it; empty outside a repository."""

    def git(*words: str) -> str | None:
        try:
            process = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
        except FileNotFoundError:  # no git on this machine
            return None
        return process.stdout.strip() if process.returncode == 0 else None

    commit = git("rev-parse", "HEAD")
    if commit is None:
        return {}
    # dvc repro rewrites dvc.lock before the first fit, which changes nothing that is computed
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!dvc.lock")
    return {"commit": commit, "dirty": bool(changed)}
