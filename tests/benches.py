"""Modules of bench/, which are no part of the package."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType


def bench(name: str) -> ModuleType:
    """Import a module of bench/, which may import its neighbours."""
    folder = str(Path(__file__).parents[1] / "bench")
    if folder not in sys.path:
        sys.path.append(folder)  # last: nothing of bench/ takes the name of a library
    return import_module(name)
