"""DROCC and PU-DROCC: where the pseudo-negatives lie, what learns from what, and the networks they are searched in."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from puoc.methods import METHODS, make
from puoc.methods.training.deep import batch_sizes
from puoc.methods.training.estimator import Compute, PUSample
from puoc.methods.training.nets import BatchNorm, Halves, halves_for, lenet, middle

PARAMS: dict[str, Any] = {
    "lr": 1e-3,
    "lr_decay": 1.0,
    "epochs": 1,
    "batch_size": 8,
    "batching": "union",
    "lam": 0.5,
    "radius": 2.0,
    "gamma": 1.5,
    "ascent_step": 1e-2,
    "ascent_steps": 40,
    "warmup_epochs": 0,
    "net": "lenet",
    "space": "feature",
}
KINDS = [
    (net, space, shape) for net in ("lenet", "net") for space in ("feature", "input") for shape in ((5,), (2, 9, 8))
]
every_kind = pytest.mark.parametrize(("net", "space", "shape"), KINDS)
ALPHA = torch.tensor(0.5)


def method(name: str = "drocc", **params: Any) -> Any:
    return make(name, PARAMS | params)


def rows(b: int, shape: tuple[int, ...], seed: int = 0) -> Tensor:
    return torch.randn(b, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def a_net(kind: str, shape: tuple[int, ...]) -> Halves:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return halves_for(shape, kind).double()  # type: ignore[arg-type]


def a_step(m: Any, net: Halves, x_p: Tensor, x_u: Tensor, epoch: int = 0) -> Tensor:
    noise = m.draws(x_p, x_u, torch.Generator().manual_seed(1))
    loss: Tensor = m.loss(net, x_p, x_u, ALPHA, noise, epoch)
    return loss


def gradients(m: Any, net: Halves, x_p: Tensor, x_u: Tensor, epoch: int = 0) -> dict[str, Tensor]:
    names, params = zip(*net.named_parameters(), strict=True)
    found = torch.autograd.grad(a_step(m, net, x_p, x_u, epoch), params, materialize_grads=True)
    return dict(zip(names, found, strict=True))


def test_lenet_has_the_size_its_authors_give_it_and_takes_small_images() -> None:
    net = lenet((3, 32, 32))
    assert sum(p.numel() for p in net.parameters()) == 528_800
    assert net(torch.zeros(2, 3, 32, 32), part="features").shape == (2, 64, 8, 8)
    for shape in ((1, 28, 28), (1, 8, 8), (3, 9, 13)):
        assert lenet(shape)(torch.zeros(2, *shape)).shape == (2,)
    with pytest.raises(ValueError, match="at least 8x8 pixels expected, got 7x8"):
        lenet((1, 7, 8))


@pytest.mark.parametrize("kind", ["lenet", "net"])
@pytest.mark.parametrize("shape", [(5,), (1, 8, 8), (3, 32, 32), (2, 9, 13)])
def test_the_parts_of_a_network_meet_in_the_middle(kind: str, shape: tuple[int, ...]) -> None:
    net, x = a_net(kind, shape).eval(), rows(2, shape)
    z = net(x, part="features")
    assert z.shape == (2, *middle(shape, kind))  # type: ignore[arg-type]
    torch.testing.assert_close(net(z, part="head"), net(x), rtol=0, atol=0)


def test_batches_are_normalised_by_themselves_and_scored_rows_by_the_running_statistics() -> None:
    norm, x = BatchNorm(2), 3 * torch.randn(6, 2, 4, 4) + 1
    by_hand = (x - x.mean((0, 2, 3), keepdim=True)) / (x.var((0, 2, 3), correction=0, keepdim=True) + 1e-4).sqrt()
    torch.testing.assert_close(norm(x, track=False), by_hand)
    assert (norm.mean == 0).all()
    torch.testing.assert_close(norm(x), by_hand)
    torch.testing.assert_close(norm.mean, 0.1 * x.mean((0, 2, 3)))
    torch.testing.assert_close(norm.var, 0.9 + 0.1 * x.var((0, 2, 3)))
    running = (x - norm.mean.view(2, 1, 1)) / (norm.var.view(2, 1, 1) + 1e-4).sqrt()
    torch.testing.assert_close(norm.eval()(x), running)
    assert not list(norm.parameters())


@pytest.mark.parametrize("steps", [1, 10, 13])
@every_kind
def test_pseudo_negatives_lie_on_their_shell(net: str, space: str, shape: tuple[int, ...], steps: int) -> None:
    size = int(np.prod(shape if space == "input" else middle(shape, net)))  # type: ignore[arg-type]
    noise = rows(6, (size,), seed=1)
    for radius in (0.5 * size**0.5, 2.0 * size**0.5):  # the noise begins beyond the first shell and inside the second
        m = method(net=net, space=space, radius=radius, gamma=1.2, ascent_steps=steps)
        anchors = rows(6, (size,)).requires_grad_()
        points = m.search(lambda v: v.sum(dim=1), anchors, noise)
        distance = (points - anchors).norm(dim=1)
        assert (distance > radius * (1 - 1e-12)).all()
        assert (distance < 1.2 * radius * (1 + 1e-12)).all()
        assert not points.requires_grad


@every_kind
def test_the_ascent_moves_the_logit_upward_beyond_noise_alone(net: str, space: str, shape: tuple[int, ...]) -> None:
    trained, x = a_net(net, shape), rows(10, shape)
    score = partial(trained, part="all" if space == "input" else "head", track=False)
    anchors = x if space == "input" else trained(x, part="features")
    noise = rows(10, tuple(anchors.shape[1:]), seed=1)
    found, unmoved = (
        method(net=net, space=space, radius=4.0, ascent_step=step).search(score, anchors, noise)
        for step in (1e-2, 1e-12)
    )
    assert (score(found) > score(unmoved)).double().mean() > 0.9
    assert score(found).mean() > score(unmoved).mean() + 1e-5


def test_the_search_is_that_of_plain_autograd_step_by_step() -> None:
    m, net, x = method(ascent_steps=23, radius=1.0), a_net("net", (5,)), rows(6, (5,))
    anchors, noise = net(x, part="features").detach(), rows(6, (128,), seed=1)
    points = anchors + noise
    for step in range(1, 24):
        points.requires_grad_()
        bce = nn.functional.binary_cross_entropy_with_logits(net(points, part="head"), torch.zeros(6).double())
        slope = torch.autograd.grad(bce, points)[0]
        points = (points + 1e-2 * slope / slope.norm(dim=1, keepdim=True)).detach()
        if step in (10, 20, 23):
            h = points - anchors
            length = h.norm(dim=1, keepdim=True)
            points = anchors + h * length.clamp(1.0, 1.5) / length
    torch.testing.assert_close(m.search(partial(net, part="head"), anchors, noise), points, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("shape", [(5,), (1, 8, 8)])
@pytest.mark.parametrize("space", ["feature", "input"])
def test_dead_units_give_no_nan(space: str, shape: tuple[int, ...]) -> None:
    net, m = a_net("net", shape), method(net="net", space=space)
    biases = [part.bias for part in net.head if isinstance(part, nn.Linear | nn.Conv2d)]
    with torch.no_grad():
        biases[0].fill_(-1e6)
    score = partial(net, part="head", track=False)
    start = net(rows(8, shape), part="features").detach().requires_grad_()
    assert (torch.autograd.grad(score(start).sum(), start)[0] == 0).all()
    assert torch.isfinite(a_step(m, net, rows(8, shape), rows(0, shape)))
    assert all(torch.isfinite(g).all() for g in gradients(m, net, rows(8, shape), rows(0, shape)).values())


@every_kind
def test_pu_drocc_is_drocc_where_the_unlabelled_rows_are_the_positives(
    net: str, space: str, shape: tuple[int, ...]
) -> None:
    x = rows(6, shape)
    oc, pu = (method(name, net=net, space=space, ascent_steps=11) for name in ("drocc", "pu_drocc"))
    one, other = (a_net(net, shape) for _ in range(2))
    torch.testing.assert_close(a_step(pu, other, x, x), a_step(oc, one, x, x[:0]), rtol=1e-12, atol=1e-12)
    expected = gradients(oc, one, x, x[:0])
    for name, got in gradients(pu, other, x, x).items():
        torch.testing.assert_close(got, expected[name], rtol=1e-9, atol=1e-12)
    away = a_step(pu, a_net(net, shape), x, x + 3)
    assert abs(away - a_step(oc, one, x, x[:0])) > 1e-6


@every_kind
def test_no_gradient_flows_through_the_search_and_the_first_part_learns_from_positives_alone(
    net: str, space: str, shape: tuple[int, ...]
) -> None:
    x_p, x_u, m = rows(6, shape), rows(6, shape, seed=2), method("pu_drocc", net=net, space=space, warmup_epochs=1)
    with_search, without = (gradients(m, a_net(net, shape), x_p, x_u, epoch) for epoch in (1, 0))
    for name, got in with_search.items():
        if name.startswith("features") and space == "feature":
            torch.testing.assert_close(got, without[name], rtol=1e-9, atol=1e-12)
    assert any(not torch.allclose(got, without[name]) for name, got in with_search.items())

    trained, bce = a_net(net, shape), nn.functional.binary_cross_entropy_with_logits
    in_input = space == "input"
    z = trained(torch.cat([x_p, x_u]), part="features")
    score = partial(trained, part="all" if in_input else "head", track=False)
    noise = m.draws(x_p, x_u, torch.Generator().manual_seed(1))["start"]
    constant = m.search(score, x_u if in_input else z[6:], noise).clone()
    ones = torch.ones(6).double()
    loss = bce(trained(z, part="head")[:6], ones) + 0.5 * bce(score(constant), 0 * ones)
    names, params = zip(*trained.named_parameters(), strict=True)
    for name, by_hand in zip(names, torch.autograd.grad(loss, params), strict=True):
        torch.testing.assert_close(with_search[name], by_hand, rtol=1e-9, atol=1e-12)


def test_the_adversarial_loss_begins_after_the_warm_up_and_weighs_lam() -> None:
    x, net = rows(8, (5,)), a_net("net", (5,))
    at = {
        (lam, epoch): a_step(method(lam=lam, warmup_epochs=2), net, x, x[:0], epoch)
        for lam in (0.5, 1.0)
        for epoch in (1, 2)
    }
    assert at[0.5, 1] == at[1.0, 1]
    torch.testing.assert_close(at[1.0, 2] - at[1.0, 1], 2 * (at[0.5, 2] - at[0.5, 1]))
    assert at[0.5, 2] > at[0.5, 1]


@pytest.mark.parametrize("space", ["feature", "input"])
def test_only_clean_batches_move_the_running_statistics(space: str) -> None:
    moved = []
    for epoch in (0, 1):
        net, m = a_net("lenet", (1, 8, 8)), method("pu_drocc", space=space, warmup_epochs=1, ascent_steps=3)
        a_step(m, net, rows(6, (1, 8, 8)), rows(4, (1, 8, 8), seed=5), epoch)
        moved.append({name: value.clone() for name, value in net.named_buffers()})
    assert len(moved[0]) == 6
    for name, value in moved[0].items():
        torch.testing.assert_close(moved[1][name], value, rtol=0, atol=0)
        assert not torch.equal(value, torch.full_like(value, float(name.endswith("var"))))


@pytest.mark.parametrize("net", ["lenet", "net"])
def test_a_batch_with_a_single_unlabelled_row_or_none_is_learned_from(net: str) -> None:
    for shape in ((5,), (1, 8, 8)):
        for n_u in (0, 1, 2):
            got = gradients(
                method("pu_drocc", net=net, ascent_steps=2), a_net(net, shape), rows(6, shape), rows(n_u, shape)
            )
            assert all(torch.isfinite(g).all() for g in got.values())
    P = rows(9, (1, 8, 8)).numpy()
    fitted = method("pu_drocc", net=net, batch_size=4, ascent_steps=2).fit(P, P[:1] + 1)
    assert np.isfinite(fitted.decision_function(P)).all()


def test_lanes_of_lenet_have_the_weights_and_running_statistics_of_single_copies() -> None:
    X = rows(28, (1, 8, 8)).numpy()
    samples = [PUSample(X[i : i + 8], X[i + 8 : i + 20], None, i) for i in (0, 5)]
    m = method("pu_drocc", epochs=2, batch_size=10, warmup_epochs=1, ascent_steps=12)
    looped, mapped = (m.fit_lanes(samples, Compute(lane_map=lane_map)) for lane_map in ("loop", "vmap"))
    for one, other in zip(looped, mapped, strict=True):
        assert one.state().keys() == other.state().keys()
        assert any(name.endswith("mean") for name in one.state())
        for name, array in one.state().items():
            np.testing.assert_allclose(other.state()[name], array, rtol=1e-12, atol=1e-12)


def test_bf16_is_close_to_fp32_and_not_the_same() -> None:
    X = rows(12, (1, 8, 8)).float().numpy()
    m = method("drocc", batching="p", batch_size=12, epochs=2, ascent_steps=2)
    full, half = (m.fit_lanes([PUSample(X, None, None, 0)], Compute(numerics=n))[0] for n in ("fp32", "bf16"))
    difference = np.abs(full.decision_function(X) - half.decision_function(X)).max()
    assert 0 < difference < 0.1


@pytest.mark.parametrize(("name", "batching", "b", "steps"), [("drocc", "p", 128, 20), ("pu_drocc", "union", 256, 30)])
def test_an_epoch_has_the_published_number_of_steps(name: str, batching: Any, b: int, steps: int) -> None:
    class Counting(METHODS[name]):  # type: ignore[misc]
        def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> dict[str, Tensor]:
            SEEN.append((len(x_p), len(x_u)))
            drawn: dict[str, Tensor] = super().draws(x_p, x_u, gen)
            return drawn

    SEEN: list[tuple[int, int]] = []
    X = rows(7500, (2,)).float().numpy()
    Counting(**PARAMS | {"batching": batching, "batch_size": b, "ascent_steps": 1}).fit(X[:2500], X[2500:])
    assert len(SEEN) == steps
    assert batch_sizes(2500, 0 if name == "drocc" else 5000, b, batching) == SEEN


def test_a_shell_is_not_turned_inside_out() -> None:
    with pytest.raises(ValueError, match=r"'gamma': got 0.5, expected greater than or equal to 1"):
        method(gamma=0.5)


@pytest.mark.parametrize(
    ("output", "logit", "loss", "slope"),
    [
        (None, 0.0, np.log(2), -0.5),
        ("sigmoid", 0.0, np.log1p(np.exp(-0.5)), -0.0944),
        (None, -3.0, np.log1p(np.exp(3)), -0.953),
        ("sigmoid", -3.0, np.log1p(np.exp(-0.0474259)), -0.0221),
        (None, 30.0, 0.0, 0.0),
        ("sigmoid", 30.0, 0.3133, 0.0),  # no loss of positives is below log(1 + 1/e)
    ],
)
def test_released_a_second_sigmoid_bounds_the_loss_from_below_and_flattens_its_slope(
    output: str | None, logit: float, loss: float, slope: float
) -> None:
    m = method(output=output, warmup_epochs=1)
    net = m.build((5,)).double()
    last = [part for part in net.head if isinstance(part, nn.Linear)][-1]
    with torch.no_grad():
        last.weight.zero_()
        last.bias.fill_(logit)
    value = a_step(m, net, rows(6, (5,)), rows(0, (5,)))
    assert value.item() == pytest.approx(loss, abs=1e-4)
    assert torch.autograd.grad(value, last.bias)[0].item() == pytest.approx(slope, abs=1e-3)


def test_released_the_loss_and_the_search_take_the_sigmoid_for_a_logit() -> None:
    x, m = rows(6, (1, 8, 8)), method(net="net", output="sigmoid", ascent_steps=11)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        net = m.build((1, 8, 8)).double()
    score = partial(net, part="head", track=False)
    z = net(x, part="features")
    points = m.search(score, z, m.draws(x, x[:0], torch.Generator().manual_seed(1))["start"])
    p_x, p_points = score(z), score(points)
    assert ((p_x > 0) & (p_x < 1) & (p_points > 0) & (p_points < 1)).all()
    by_hand = torch.log1p(torch.exp(-p_x)).mean() + 0.5 * torch.log1p(torch.exp(p_points)).mean()
    torch.testing.assert_close(a_step(m, net, x, x[:0]), by_hand)
    X = x.float().numpy()
    released, plain = (method(batching="p", net="net", epochs=3, output=one).fit(X) for one in ("sigmoid", None))
    assert released.curve_["loss"][-1] > np.log1p(np.exp(-1)) + 0.5 * np.log(2)
    scores = released.decision_function(X)
    assert ((scores > 0) & (scores < 1)).all()
    assert np.abs(scores - plain.decision_function(X)).max() > 1e-3
