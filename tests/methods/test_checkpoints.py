"""A training that ended early goes on where it was, to the last bit; bfloat16 changes numbers and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from puoc.methods import make
from puoc.methods.training import checkpoints
from puoc.methods.training.estimator import Compute, PUSample
from puoc.records import content_id

DROCC: dict[str, Any] = {
    "lr": 1e-3,
    "lr_decay": 0.9,
    "epochs": 5,
    "batch_size": 16,
    "batching": "union",
    "lam": 0.5,
    "radius": 2.0,
    "gamma": 2.0,
    "ascent_step": 1e-2,
    "ascent_steps": 3,
    "warmup_epochs": 1,
    "net": "lenet",
    "space": "feature",
}


def samples(*seeds: int) -> list[PUSample]:
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(60, 1, 8, 8)).astype(np.float32)
        found.append(PUSample(X[:20], X[20:], None, seed))
    return found


class KilledError(Exception):
    """Stands for a kill between two epochs."""


def killed_in_epoch(last: int, monkeypatch: pytest.MonkeyPatch, compute: Compute, given: list[PUSample]) -> None:
    """Train until the state of an epoch is on the disk, then end."""
    keep = checkpoints.Resumable.keep

    def kill(self: checkpoints.Resumable, epoch: int) -> None:
        keep(self, epoch)
        if epoch == last:
            raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(checkpoints, "_EVERY", 0.0)
        patched.setattr(checkpoints.Resumable, "keep", kill)
        with pytest.raises(KilledError):
            make("pu_drocc", DROCC).fit_lanes(given, compute)


@pytest.mark.parametrize(("before", "after"), [("vmap", "loop"), ("loop", "vmap")])
def test_a_training_resumed_under_the_other_map_begins_anew(
    before: Any, after: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = samples(0)
    killed_in_epoch(3, monkeypatch, Compute(lane_map=before, checkpoints=tmp_path, lanes=("a",)), given)
    resumed = make("pu_drocc", DROCC).fit_lanes(given, Compute(lane_map=after, checkpoints=tmp_path, lanes=("a",)))[0]
    fresh = make("pu_drocc", DROCC).fit_lanes(given, Compute(lane_map=after))[0]
    X = given[0].X_p
    np.testing.assert_array_equal(resumed.decision_function(X), fresh.decision_function(X))


@pytest.mark.parametrize("lane_map", ["loop", "vmap"])
def test_a_killed_training_ends_with_the_same_bits(
    lane_map: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = samples(0, 1)
    kept = Compute(lane_map=lane_map, checkpoints=tmp_path, lanes=("a", "b"))
    killed_in_epoch(3, monkeypatch, kept, given)
    assert len(list(tmp_path.iterdir())) == 1
    epochs: list[int] = []
    resume = checkpoints.Resumable.resume

    def tell(self: checkpoints.Resumable) -> int:
        epochs.append(resume(self))
        return epochs[-1]

    monkeypatch.setattr(checkpoints.Resumable, "resume", tell)
    resumed = make("pu_drocc", DROCC).fit_lanes(given, kept)
    assert epochs == ([3, 0] if lane_map == "loop" else [3])
    for one, other in zip(resumed, make("pu_drocc", DROCC).fit_lanes(given, Compute(lane_map=lane_map)), strict=True):
        assert one.curve_ == other.curve_
        for name, value in other.state().items():
            np.testing.assert_array_equal(one.state()[name], value)
    kept.forget()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_or_foreign_checkpoint_is_no_start(tmp_path: Path) -> None:
    given = samples(0)
    kept = Compute(checkpoints=tmp_path, lanes=("a",))
    path = kept.checkpoint([0])
    assert path == tmp_path / f"{content_id(['a'])}.pt"
    path.write_bytes(b"PK half a file")
    resumed, whole = (make("pu_drocc", DROCC).fit_lanes(given, compute)[0] for compute in (kept, Compute()))
    np.testing.assert_array_equal(resumed.decision_function(given[0].X_p), whole.decision_function(given[0].X_p))
    assert kept.checkpoint([0]) != Compute(checkpoints=tmp_path, lanes=("b",)).checkpoint([0])


def test_bf16_is_near_fp32_and_not_equal_to_it() -> None:
    given = samples(0)
    fp32, bf16 = (
        make("pu_drocc", DROCC).fit_lanes(given, Compute(numerics=numerics))[0] for numerics in ("fp32", "bf16")
    )
    assert {array.dtype.name for array in bf16.state().values()} == {"float32"}
    ratio = np.array(bf16.curve_["loss"]) / np.array(fp32.curve_["loss"])
    assert (ratio != 1).all()
    np.testing.assert_allclose(ratio, 1, atol=0.05)
