"""Fixtures that need the whole job: projects as users have them, one of them finished once for all tests."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from project import Project, Repro, clone, fresh

New = Callable[..., Project]


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Repro]:
    """A tiny project after its first ``dvc repro``, and what that did. To be read, not changed."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # one for all workers
    project, done = Project(folder / "finished"), folder / "finished.json"
    with FileLock(folder / "finished.lock"):
        if not done.exists():
            fresh(project.root)
            first = project.repro_passes()
            done.write_text(json.dumps(first._asdict()))
    return project, Repro(**json.loads(done.read_text()))


@pytest.fixture
def new_project(tmp_path: Path) -> Iterator[New]:
    """Make a project that nothing was run in; called with a name where a test needs several."""
    yield from _made(lambda name: fresh(tmp_path / name))


@pytest.fixture
def finished_copy(finished: tuple[Project, Repro], tmp_path: Path) -> Iterator[New]:
    """Make a copy of the finished project, to be changed."""
    yield from _made(lambda name: clone(finished[0], tmp_path / name))


def _made(make: Callable[[str], Project]) -> Iterator[New]:
    projects: list[Project] = []

    def new(name: str = "project") -> Project:
        projects.append(make(name))
        return projects[-1]

    yield new
    for project in projects:
        project.end_all()
