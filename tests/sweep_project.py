"""A planned project whose sweeps can be asked for, without anything run."""

from __future__ import annotations

import shutil
from pathlib import Path

from planned import Data, Planned
from project import REPOSITORY

PARAMS = (REPOSITORY / "profiles" / "tiny.yaml").read_text().replace("configs: selected", "configs: published")
TINY = Planned(PARAMS, "digits")


def unrun(at: Path, prepared_data: Data) -> Path:
    """The project, with the spaces of the repository."""
    shutil.copytree(REPOSITORY / "tuning", at / "tuning")
    return TINY.at(at, prepared_data)


def with_space(root: Path, text: str, method: str = "nnpu") -> None:
    """Add a space to those of a method."""
    path = root / "tuning" / "spaces" / f"{method}.yaml"
    path.write_text(f"{path.read_text()}\n{text}\n")
