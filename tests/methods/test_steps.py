"""Steps per epoch at the sizes of the paper, 2,500 rows of P and 5,000 of U, for every published setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from puoc.methods import make
from puoc.methods.training.deep import Deep

TOYS = YAML(typ="safe", pure=True).load(Path(__file__).parents[1] / "contracts" / "toy_params.yaml")

#: Batch size, what it counts, steps: the table of the paper's batches and the released loops.
PUBLISHED: dict[str, list[tuple[int, str, int]]] = {
    "drocc": [(128, "p", 20)],
    "pu_drocc": [(256, "union", 30)],
    "oc_cnn": [(256, "p", 10)],
    "pu_cnn": [(256, "union", 30)],
    "csi": [(64, "p", 40), (32, "p", 79)],
    "pu_csi": [(64, "p", 40), (32, "p", 79)],
    "pan": [(512, "union", 15)],
    "nnpu": [(512, "union", 15)],
    "upu": [(512, "union", 15)],
    "drpu": [(512, "equal", 5)],
    "vpu": [(512, "equal", 5)],
    "oc_lstm": [(128, "p", 20)],
    "pu_lstm": [(256, "union", 30)],
    "hrn": [(100, "p", 25)],
}


@pytest.mark.parametrize(
    ("name", "batch_size", "batching", "steps"), [(name, *one) for name, every in PUBLISHED.items() for one in every]
)
def test_an_epoch_has_the_published_number_of_steps(name: str, batch_size: int, batching: str, steps: int) -> None:
    toy: dict[str, Any] = next(iter(TOYS[name].values()))
    method = make(name, toy | {"batch_size": batch_size, "batching": batching})
    assert isinstance(method, Deep)
    sizes = method.sizes(2500, 0 if method.one_class else 5000)
    assert len(sizes) == steps
    assert all(b_p >= 1 for b_p, _ in sizes)
