"""A planned project whose data are prepared, without dvc: what tests of the runner start from."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from puoc.datasets.prepare.arrays import prepare
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params


class Data(Protocol):
    """The folder of a prepared dataset, made once."""

    def __call__(self, name: str) -> Path: ...


def plan(params: str, root: Path, *changes: tuple[str, str]) -> None:
    """Write params, with changes, and the plan they ask for."""
    for old, new in changes:
        assert old in params, old
        params = params.replace(old, new)
    (root / "params.yaml").write_text(params)
    make_plan(read_params(root / "params.yaml")).write(root)


class Planned(NamedTuple):
    """How to begin: ``plan`` with the test file's own params."""

    params: str
    dataset: str

    def at(self, root: Path, data: Data) -> Path:
        """A planned project in which nothing was run."""
        plan(self.params, root)
        shutil.copytree(data(self.dataset), root / "work" / "prepared" / self.dataset)
        return root

    @property
    def plan(self) -> partial[None]:
        """``plan(root, *changes)`` of these params."""
        return partial(plan, self.params)


def prepared_in(folder: Path, name: str) -> None:
    """Prepare a dataset that needs no network."""
    prepare(name, folder / "data", folder / "prepared")
