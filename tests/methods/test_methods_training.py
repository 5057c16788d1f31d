"""The training loop: steps per epoch as published, what a batch holds, and the hooks a method may use."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from puoc.methods.training.deep import Batching, Deep, batch_sizes
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.methods.training.lanes import Lane, StackedLanes, choose
from puoc.methods.training.nets import mlp, net_for

SCHEDULE = {"lr": 0.01, "lr_decay": 1.0, "epochs": 3, "batch_size": 10, "batching": "union"}


@pytest.mark.parametrize(
    ("batching", "b", "steps"),
    [
        *[("p", 128, 20), ("p", 256, 10), ("p", 64, 40), ("p", 32, 79)],  # DROCC, OC-CNN, CSI
        *[("union", 256, 30), ("union", 512, 15)],  # PU-DROCC and PU-CNN; PAN and PU-SVM
        ("equal", 512, 5),  # DRPU and VPU
    ],
)
def test_steps_per_epoch_of_2500_p_and_5000_u_are_the_published_ones(batching: Batching, b: int, steps: int) -> None:
    sizes = batch_sizes(2500, 5000, b, batching)
    assert len(sizes) == steps
    assert len(batch_sizes(2500, 0, b, "p")) == len(batch_sizes(2500, 5000, b, "p"))
    if batching == "union":
        assert sizes[0] == (round(b / 3), b - round(b / 3))
        assert sum(map(sum, sizes)) == 7500
    if batching == "equal":
        assert sizes == [(512, 512)] * 4 + [(452, 512)]
    if batching == "p":
        assert sum(b_p for b_p, _ in sizes) == 2500


def test_every_batch_holds_p_and_u_whatever_the_sizes() -> None:
    for batching in ("p", "union", "equal"):
        for n_p, n_u in ((1, 1), (1, 500), (500, 1), (2, 3), (149, 851), (576, 659), (2500, 50)):
            for b in (1, 2, 7, 64, 10_000):
                sizes = batch_sizes(n_p, n_u, b, batching)
                assert sizes
                assert all(1 <= b_p <= n_p and 1 <= b_u <= n_u for b_p, b_u in sizes), (batching, n_p, n_u, b)


def test_a_last_batch_of_a_single_positive_is_dropped() -> None:
    assert batch_sizes(21, 0, 10, "p") == [(10, 0), (10, 0)]
    assert batch_sizes(22, 0, 10, "p") == [(10, 0), (10, 0), (2, 0)]
    assert batch_sizes(1, 0, 10, "p") == [(1, 0)]


@typed
class Recorder(Deep):
    """Learns the mean of its rows; notes which rows each step was given, by their first entry."""

    name = "recorder"
    kind = "pu"
    needs_alpha = False

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        net = nn.Linear(shape[0], 1)
        net.register_buffer("offset", torch.zeros(()))
        return nn.Sequential(net, nn.Flatten(0))

    def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> dict[str, Tensor]:
        return {"jitter": 0.01 * torch.randn(x_p.shape, generator=gen, dtype=x_p.dtype)}

    def loss(self, net, x_p, x_u, alpha, noise, epoch):  # type: ignore[no-untyped-def]
        if not torch._C._functorch.is_batchedtensor(x_p):
            SEEN.append((epoch, x_p[:, 0].int().tolist(), x_u[:, 0].int().tolist()))
        return (net(x_p + noise["jitter"]) - 1).square().mean() + net(x_u).square().mean()

    def after_step(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor) -> dict[str, Tensor]:
        return {"0.offset": net(x_u).median()}


SEEN: list[tuple[int, list[int], list[int]]] = []


def numbered(n_p: int, n_u: int, seed: int, dtype: str = "float32") -> PUSample:
    """The first entry of a row is its number."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.arange(n_p + n_u), rng.normal(size=(n_p + n_u, 3))]).astype(dtype)
    return PUSample(X[:n_p], X[n_p:], None, seed)


def test_an_epoch_visits_every_row_once_in_an_order_of_its_own() -> None:
    SEEN.clear()
    Recorder(**SCHEDULE).fit_lanes([numbered(20, 30, 0)], Compute(lane_map="loop"))
    by_epoch = [
        ([p for e, P, _ in SEEN if e == epoch for p in P], [u for e, _, U in SEEN if e == epoch for u in U])
        for epoch in range(3)
    ]
    for visited_p, visited_u in by_epoch:
        assert sorted(visited_p) == list(range(20))
        assert sorted(visited_u) == list(range(20, 50))
    assert by_epoch[0] != by_epoch[1]


def test_noise_and_buffers_set_after_a_step_are_the_same_under_both_maps() -> None:
    samples = [numbered(20, 30, seed, "float64") for seed in (0, 1, 2)]
    looped, mapped = (Recorder(**SCHEDULE).fit_lanes(samples, Compute(lane_map=one)) for one in ("loop", "vmap"))
    for one, other in zip(looped, mapped, strict=True):
        assert one.state()["0.offset"] != 0
        for name, array in one.state().items():
            np.testing.assert_allclose(other.state()[name], array, rtol=1e-12, atol=1e-12)


def test_lanes_of_unequal_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="lanes of equal shapes expected, got 2 different ones"):
        Recorder(**SCHEDULE).fit_lanes([numbered(20, 30, 0), numbered(20, 31, 0)])


def test_a_loss_that_is_no_longer_finite_names_the_epoch_and_the_seed() -> None:
    broken = numbered(20, 30, 41)
    broken.X_p[3, 1] = 3e38  # its square is none
    for lane_map in ("loop", "vmap"):
        with pytest.raises(FloatingPointError, match=r"lane with seed 41 is (nan|inf) in epoch 0"):
            Recorder(**SCHEDULE).fit_lanes([numbered(20, 30, 0), broken], Compute(lane_map=lane_map))


def test_the_step_size_decays_by_epoch() -> None:
    """A factor so small that the second epoch moves nothing."""
    frozen = SCHEDULE | {"lr_decay": 1e-12}
    one, three = (Recorder(**frozen | {"epochs": n}).fit_lanes([numbered(20, 30, 0)])[0].state() for n in (1, 3))
    for name in ("0.weight", "0.bias"):
        np.testing.assert_allclose(one[name], three[name], atol=1e-8)
    moved = Recorder(**SCHEDULE).fit_lanes([numbered(20, 30, 0)])[0].state()
    assert np.abs(moved["0.weight"] - one["0.weight"]).max() > 1e-4


def test_bf16_is_close_to_fp32_and_not_the_same() -> None:
    samples = [numbered(20, 30, seed) for seed in (0, 1)]
    for lane_map in ("loop", "vmap"):
        full, half = (
            Recorder(**SCHEDULE).fit_lanes(samples, Compute(lane_map=lane_map, numerics=numerics))[1]
            for numerics in ("fp32", "bf16")
        )
        difference = np.abs(full.state()["0.weight"] - half.state()["0.weight"]).max()
        assert 0 < difference < 0.05


def test_auto_loops_over_convolutions_on_a_cpu_and_maps_dense_networks() -> None:
    conv, dense = net_for((1, 8, 8)), mlp(4)
    assert choose("auto", conv, "cpu", 3) == "loop"
    assert choose("auto", dense, "cpu", 3) == "vmap"
    assert choose("auto", dense, "cpu", 1) == "loop"
    assert choose("vmap", conv, "cpu", 3) == "vmap"


def test_stacked_lanes_call_each_network_with_its_own_rows() -> None:
    nets, x = [mlp(4) for _ in range(3)], torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
    apart = torch.stack([net(rows) for net, rows in zip(nets, x, strict=True)])
    torch.testing.assert_close(StackedLanes(nets).map(lambda lane, rows: lane(rows), x), apart)
