"""When a command collects garbage: rarely while it imports libraries, and as usual from the first fit on."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from forked import forked

from puoc.methods import make
from puoc.registry import collect_rarely


@pytest.fixture
def usual() -> Iterator[tuple[int, int, int]]:
    """Thresholds of this process, which are in force again after the test."""
    thresholds = gc.get_threshold()
    yield thresholds
    gc.set_threshold(*thresholds)


def test_from_the_first_fit_on_garbage_is_collected_as_usual(usual: tuple[int, int, int]) -> None:
    X = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    collect_rarely()
    collect_rarely()  # a second call does not take the rare thresholds for the usual ones
    assert gc.get_threshold() != usual
    make("oc_svm", {"kernel": "linear", "nu": 0.5}).fit(X)
    assert gc.get_threshold() == usual


def test_a_command_collects_rarely(tmp_path: Path) -> None:
    """It ends by ``os._exit``, so its thresholds are written there."""
    leave = os._exit

    def write_thresholds() -> None:
        def write_and_leave(code: int) -> None:
            (tmp_path / "thresholds").write_text(str(gc.get_threshold()))
            leave(code)

        gc.set_threshold(700, 10, 10)
        os._exit = write_and_leave  # type: ignore[assignment]  # in the fork alone

    assert forked(tmp_path, "--version", before=write_thresholds).code == 0
    assert (tmp_path / "thresholds").read_text() == "(100000, 20, 10)"
