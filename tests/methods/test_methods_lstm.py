"""The LSTM methods: the cell is ``nn.LSTM``'s, the losses and offsets are those by hand, and r ends where it must."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from puoc.methods import make
from puoc.methods.lstm import PooledLSTM
from puoc.methods.training.quantiles import quantile

SCHEDULE: dict[str, Any] = {"lr": 1e-2, "lr_decay": 0.99, "epochs": 20, "batch_size": 1000}
OC: dict[str, Any] = SCHEDULE | {"batching": "p", "nu": 0.3, "hidden": 5, "pooling": "last", "training": "alternating"}
PU: dict[str, Any] = SCHEDULE | {"batching": "union", "lam": 0.1, "hidden": 5, "pooling": "last", "training": "joint"}


def sequences(n: int, steps: int = 7, d: int = 3, seed: int = 0, shift: float = 0.0) -> NDArray[Any]:
    """Rows (n, steps, 1 + d) of every length from 1 on, in double precision."""
    rng = np.random.default_rng(seed)
    lengths = 1 + np.arange(n) % steps
    mask = (np.arange(steps) < lengths[:, None]).astype(float)[..., None]
    return np.concatenate([mask, mask * rng.normal(shift, 1, (n, steps, d))], axis=2)


def network(pooling: Any, d: int = 3) -> PooledLSTM:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return PooledLSTM(d, 5, pooling, learned_offset=True).double()


def packed(net: PooledLSTM, rows: NDArray[Any]) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden states of all steps, that of the last and the lengths, by ``nn.LSTM`` on packed sequences."""
    lengths = torch.tensor(rows[..., 0].sum(axis=1).astype(int))
    x = pack_padded_sequence(torch.tensor(rows[..., 1:]), lengths, batch_first=True, enforce_sorted=False)
    states, (last, _) = net.lstm(x)
    return pad_packed_sequence(states, batch_first=True)[0], last[0], lengths


def test_the_cell_is_that_of_nn_lstm_on_packed_sequences() -> None:
    rows = sequences(21)
    net = network("last")
    states, last, lengths = packed(net, rows)
    x = torch.tensor(rows)
    torch.testing.assert_close(net(x, part="hidden"), last, rtol=0, atol=1e-14)
    torch.testing.assert_close(net(x), last @ net.w - net.offset, rtol=0, atol=1e-14)
    averaged = states.sum(dim=1) / lengths[:, None]  # padded states are 0
    torch.testing.assert_close(network("mean")(x, part="hidden"), averaged, rtol=0, atol=1e-14)


def test_gradients_are_those_of_nn_lstm_on_packed_sequences() -> None:
    rows = sequences(21)
    net = network("last")
    ours = torch.autograd.grad(net(torch.tensor(rows)).square().sum(), list(net.parameters()))
    theirs = torch.autograd.grad((packed(net, rows)[1] @ net.w - net.offset).square().sum(), list(net.parameters()))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-13)


def test_the_model_is_the_state_of_nn_lstm() -> None:
    fitted = make("oc_lstm", OC | {"epochs": 1}).fit(sequences(14))
    state = fitted.state()
    assert state.keys() == {"w", "offset", *(f"lstm.{name}" for name in nn.LSTM(3, 5).state_dict())}
    theirs = nn.LSTM(3, 5, batch_first=True).double()
    theirs.load_state_dict({name[5:]: torch.tensor(a) for name, a in state.items() if name.startswith("lstm.")})
    row = sequences(14, seed=1)[3:4]  # of 4 steps
    score = theirs(torch.tensor(row[:, :4, 1:]))[0][0, -1].detach().numpy() @ state["w"] - state["offset"]
    assert fitted.decision_function(row)[0] == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_longer_padding_changes_no_score(pooling: str) -> None:
    rows = sequences(14)
    fitted = make("oc_lstm", OC | {"epochs": 1, "pooling": pooling}).fit(rows)
    longer = np.concatenate([rows, np.zeros((14, 3, 4))], axis=1)
    np.testing.assert_allclose(fitted.decision_function(longer), fitted.decision_function(rows), rtol=0, atol=1e-14)


BROKEN = {  # mask, features
    "no step": ([0, 0, 0], 0.0),
    "a gap": ([1, 0, 1], 0.0),
    "a late begin": ([0, 1, 1], 0.0),
    "a half step": ([1, 0.5, 0], 0.0),
    "steps larger than 1": ([3, 3, 0], 0.0),
    "values in the padding": ([1, 1, 0], 0.1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_row_that_is_no_sequence_is_refused_when_fitted_and_when_scored(name: str) -> None:
    good = sequences(6, steps=3)
    broken = good.copy()
    broken[4, :, 0], broken[4, :, 1:] = BROKEN[name]
    expected = "row 4.* expected"
    with pytest.raises(ValueError, match=expected):
        make("oc_lstm", OC).fit(broken)
    with pytest.raises(ValueError, match=expected):
        make("pu_lstm", PU).fit(good, broken, alpha=0.5)
    fitted = make("oc_lstm", OC | {"epochs": 1}).fit(good, broken)  # an OC method does not look at U
    with pytest.raises(ValueError, match=expected):
        fitted.decision_function(broken)


def lane(hidden: Tensor | None = None) -> Any:
    """A network whose rows are their scores <w, h> - r; its hidden states are given."""
    given = {"w": torch.full((3,), 0.7, dtype=torch.float64)}
    offset = torch.tensor(0.25, dtype=torch.float64)

    class Given(SimpleNamespace):
        def __call__(self, x: Tensor, part: str = "score") -> Tensor:
            return hidden if part == "hidden" and hidden is not None else x

    return Given(params=given, buffers={"offset": offset})


P, U = (torch.tensor(values, dtype=torch.float64) for values in ([2.0, 0.4, -0.3], [0.5, -1.7, 1.3, -0.2, 0.1]))
NAN = torch.tensor(torch.nan)


def test_oc_lstm_has_the_objective_of_the_one_class_svm_times_nu() -> None:
    m: Any = make("oc_lstm", OC)
    w_squared, r, scores = 3 * 0.7**2, 0.25, P.numpy() + 0.25  # scores: <w, h>
    objective = w_squared / 2 + np.maximum(0, r - scores).sum() / (0.3 * len(scores)) - r
    assert float(m.loss(lane(), P, P[:0], NAN, {}, 0)) == pytest.approx(0.3 * objective, abs=1e-12)


def test_pu_lstm_has_the_non_negative_double_hinge_risk_and_its_own_weight_of_the_norm() -> None:
    def hinge(z: NDArray[Any]) -> float:
        return float(np.maximum(-2 * z, np.maximum(0, 1 - z)).mean())

    m: Any = make("pu_lstm", PU)
    p, u = P.numpy(), U.numpy()
    for alpha, clamped in ((0.4, False), (0.95, True)):
        bracket = hinge(-u) - alpha * hinge(-p)
        assert (bracket < 0) == clamped
        by_hand = 0.1 * 3 * 0.7**2 + alpha * hinge(p) + max(0.0, bracket)
        got = float(m.loss(lane(), P, U, torch.tensor(alpha), {}, 0))
        assert got == pytest.approx(by_hand, abs=1e-6)


def test_a_batch_without_p_or_u_has_a_finite_loss_and_keeps_or_moves_r() -> None:
    m: Any = make("pu_lstm", PU | {"training": "alternating"})
    for p, u in ((P, U[:0]), (P[:0], U), (P[:0], U[:0])):
        assert torch.isfinite(m.loss(lane(), p, u, torch.tensor(0.4), {}, 0))
        assert m.after_step(lane(), p, u, torch.tensor(0.4)).keys() == ({"offset"} if len(u) else set())


@pytest.mark.parametrize("q", [0.0, 0.1, 0.5, 0.77, 1.0])
def test_a_quantile_is_that_of_numpy_for_every_lane_of_a_map(q: float) -> None:
    values = torch.randn(4, 13, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = np.quantile(values.numpy(), q, axis=1)
    np.testing.assert_allclose(torch.vmap(quantile, (0, None))(values, torch.tensor(q, dtype=torch.float64)), expected)
    np.testing.assert_allclose(quantile(values[0, :1], q), values[0, 0])


def test_r_is_a_quantile_of_the_scores_and_as_released_one_of_something_else() -> None:
    """Scores are given without r here: <w, h> = score + .25."""
    hidden = torch.tensor([[0.9, -0.2], [0.1, 0.3], [-0.5, 0.6]], dtype=torch.float64)
    oc: dict[str, Any] = {mode: make("oc_lstm", OC | {"training": mode}) for mode in ("alternating", "hidden_quantile")}
    moved = {mode: m.after_step(lane(hidden=hidden), P, P[:0], NAN) for mode, m in oc.items()}
    assert float(moved["alternating"]["offset"]) == pytest.approx(np.quantile(P + 0.25, 0.3))
    assert float(moved["hidden_quantile"]["offset"]) == pytest.approx(np.quantile(hidden, 0.3))
    assert abs(moved["alternating"]["offset"] - moved["hidden_quantile"]["offset"]) > 0.1

    pu: dict[str, Any] = {mode: make("pu_lstm", PU | {"training": mode}) for mode in ("alternating", "batch_quantile")}
    moved = {mode: m.after_step(lane(), P, U, torch.tensor(0.4, dtype=torch.float64)) for mode, m in pu.items()}
    assert float(moved["alternating"]["offset"]) == pytest.approx(np.quantile(U + 0.25, 0.6))
    assert float(moved["batch_quantile"]["offset"]) == pytest.approx(np.quantile(torch.cat([P, U]) + 0.25, 0.6))
    assert abs(moved["alternating"]["offset"] - moved["batch_quantile"]["offset"]) > 0.1

    for name, params, x_u in (("oc_lstm", OC, P[:0]), ("pu_lstm", PU, U)):
        joint: Any = make(name, params | {"training": "joint"})
        assert joint.after_step(lane(), P, x_u, torch.tensor(0.4)) == {}


def test_after_a_fit_a_share_nu_of_the_positives_lies_outside_or_not_as_released() -> None:
    rows = sequences(100, shift=0.5)
    outside = {
        mode: make("oc_lstm", OC | {"training": mode, "nu": 0.3}).fit(rows).decision_function(rows) < 0
        for mode in ("alternating", "hidden_quantile")
    }
    assert outside["alternating"].mean() == pytest.approx(0.3, abs=0.01)
    assert abs(outside["hidden_quantile"].mean() - 0.3) > 0.1


def test_after_a_fit_a_share_alpha_of_the_unlabelled_rows_is_positive_or_not_as_released() -> None:
    X_p, X_u = sequences(60, shift=1.0), np.concatenate([sequences(60, shift=1.0, seed=1), sequences(90, shift=-1.0)])
    positive = {
        mode: make("pu_lstm", PU | {"training": mode}).fit(X_p, X_u, alpha=0.4).decision_function(X_u) > 0
        for mode in ("alternating", "batch_quantile")
    }
    assert positive["alternating"].mean() == pytest.approx(0.4, abs=0.01)
    assert abs(positive["batch_quantile"].mean() - 0.4) > 0.1


def test_learned_r_ends_at_the_quantile_where_the_objective_has_its_minimum() -> None:
    scores = torch.linspace(-1, 2, 61, dtype=torch.float64)  # <w, h>, fixed: r alone is learned
    r = torch.ones((), dtype=torch.float64, requires_grad=True)

    class Learned(SimpleNamespace):
        def __call__(self, x: Tensor) -> Tensor:
            return x - r

    net: Any = Learned(params={"w": torch.zeros(3), "offset": r}, buffers={})
    m: Any = make("oc_lstm", OC | {"training": "joint"})
    optimizer = torch.optim.SGD([r], lr=0.05)
    for _ in range(500):
        optimizer.zero_grad()
        m.loss(net, scores, scores[:0], NAN, {}, 0).backward()
        optimizer.step()
    assert float(r.detach()) == pytest.approx(np.quantile(scores, 0.3), abs=0.03)
