"""What a result was computed with: versions of libraries and the state of the repository."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from puoc.records import JsonObject

_LIBRARIES = ("puoc", "numpy", "scipy", "scikit-learn", "torch", "clarabel")


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that can change a number."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def git_state(root: Path) -> JsonObject:
    """Commit and whether tracked files differ from it; empty outside a repository."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
        except FileNotFoundError:  # no git on this machine
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "HEAD")
    if commit is None:
        return {}
    # dvc repro itself rewrites dvc.lock before the first fit: that alone is no change of what is computed
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!dvc.lock")
    return {"commit": commit, "dirty": bool(changed)}
