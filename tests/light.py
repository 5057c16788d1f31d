"""What ``pip install puoc`` brings, found from pyproject.toml and the requirements of what is installed here."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, distribution, distributions, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).parents[1]

#: Code that hides libraries as if they were not installed.
HIDING = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in HIDDEN else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""


def core() -> set[str]:
    """The distributions that the core needs, with all that they need in turn."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    found: set[str] = set()
    waiting = [Requirement(line) for line in project["dependencies"]]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found:
            continue
        try:
            needed = distribution(name).requires or []
        except PackageNotFoundError:  # for another system
            continue
        found.add(name)
        for line in needed:
            wanted = Requirement(line)
            extras = requirement.extras or {""}
            if wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(wanted)
    return found


def hidden() -> set[str]:
    """The import names of everything installed that the core does not bring."""
    brought = core() | {"puoc", "pip", "setuptools"}
    return {
        name
        for name, owners in packages_distributions().items()
        if not {canonicalize_name(owner) for owner in owners} & brought
    }


def megabytes() -> dict[str, float]:
    """The size of each distribution of the core on this disk."""
    sizes, brought = {}, core()
    for one in distributions():
        name = canonicalize_name(one.metadata["Name"])
        if name in brought:
            sizes[name] = sum(file.size or 0 for file in one.files or ()) / 1e6
    return sizes
