"""bench/gpu.py at a tiny size on a processor: every side trains the same step."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch
from benches import bench
from project import REPOSITORY
from torch import Tensor, nn

SHAPE = (3, 32, 32)


def weights(net: nn.Module) -> Tensor:
    return torch.cat([value.detach().flatten().clone() for value in net.parameters()])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pu_drocc", "csi", "nnpu", "hrn"])
def test_a_step_of_lanes_and_a_compiled_one_give_the_weights_of_one_lane(method: str) -> None:
    gpu = bench("gpu")
    [(fit, made)] = gpu.cases(REPOSITORY / "profiles" / "paper.yaml", [method])
    one, again = (gpu.Batch(fit, made, SHAPE, 1, "cpu", 4) for _ in range(2))
    before = weights(one.nets[0])
    gpu.side("loop", one, one, "eager")[0]()
    gpu.side("compiled", again, again, "eager")[0]()
    many = gpu.Batch(fit, made, SHAPE, 2, "cpu", 4)
    lanes = gpu.StackedLanes(many.nets)
    many.step(lanes)()
    trained = weights(one.nets[0])
    step = torch.linalg.norm(trained - before)
    assert step > 0
    for other in (again.nets[0], lanes.nets()[0]):
        # Adam's first step has the size of lr whatever that of the gradient, so the sign of one near 0 may differ
        assert torch.linalg.norm(weights(other) - trained) < 0.1 * step


@pytest.mark.slow
def test_each_side_has_a_row_and_one_that_cannot_run_its_reason(tmp_path: Path) -> None:
    words = [sys.executable, str(REPOSITORY / "bench" / "gpu.py"), "--device", "cpu", "--methods", "nnpu", "pu_drocc"]
    words += ["--lanes", "2", "--steps", "1", "--repeats", "2", "--most", "4", "--backend", "eager"]
    done = subprocess.run([*words, "--out", str(tmp_path / "gpu.parquet")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = pd.read_parquet(tmp_path / "gpu.parquet").set_index(["method", "side"])
    for method in ("nnpu", "pu_drocc"):
        for side in ("loop", "vmap", "compiled"):
            row = rows.loc[(method, side)]
            assert row["note"] == ""
            assert 0 < row["least"] <= row["ms"] <= row["most"]
            assert row["n"] == 2
        assert rows.loc[(method, "graph"), "note"] == "needs CUDA"
        assert rows.loc[(method, "vmap"), "lanes"] == 2
