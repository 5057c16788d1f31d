"""EN's calibration and DEDPUL's posteriors beside known ones; each switch to the released code makes a difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from puoc.methods import make
from puoc.methods.dedpul import swapped
from puoc.methods.en import EN
from puoc.methods.training import checkpoints
from puoc.methods.training.estimator import Compute, PUSample

NETWORK: dict[str, Any] = {
    "classifier": "network",
    "lr": 5e-3,
    "lr_decay": 0.9,
    "epochs": 12,
    "batch_size": 100,
    "batching": "union",
}
PARAMS: dict[str, Any] = {**NETWORK, "held_out": 0.2}
DEDPUL: dict[str, Any] = {
    **NETWORK,
    "folds": 3,
    "bandwidth_p": 0.1,
    "bandwidth_u": 0.05,
    "share": "positive",
    "interpolation": "linear",
}
Rows = NDArray[np.float32]


def gaussians(alpha: float, seed: int = 0, n_p: int = 600, n_u: int = 1200) -> tuple[Rows, Rows]:
    """P from N(2, 1), U from alpha N(2, 1) + (1 - alpha) N(-2, 1), on a line."""
    rng = np.random.default_rng(seed)
    x_p, x_u = rng.normal(2, 1, n_p), rng.normal(np.where(np.arange(n_u) < alpha * n_u, 2.0, -2.0), 1)
    return x_p[:, None].astype(np.float32), x_u[:, None].astype(np.float32)


@pytest.mark.parametrize("alpha", [0.2, 0.7])
@pytest.mark.parametrize("batching", ["union", "equal", "p"])
def test_en_recovers_alpha_whatever_a_batch_holds(alpha: float, batching: str) -> None:
    fitted = make("en", PARAMS | {"batching": batching}).fit(*gaussians(alpha))
    assert fitted.alpha_hat_ == pytest.approx(alpha, abs=0.08)


@pytest.mark.parametrize(
    ("batching", "ratio"),
    # 80 of 100 labelled positives are learned from beside 160 unlabelled rows, of which ``equal`` takes 84
    [("union", 80 / 160), ("equal", 80 / 84)],
)
def test_c_is_the_mean_of_g_over_positives_held_out(batching: str, ratio: float) -> None:
    seen: list[int] = []

    class Constant(EN):
        def build(self, shape: tuple[int, ...]) -> nn.Module:
            affine = nn.Linear(1, 1)
            nn.init.constant_(affine.weight, 1e-3)
            return nn.Sequential(affine, nn.Flatten(0))

        def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> dict[str, Tensor]:
            seen.append(len(x_p))
            return {}

    x = np.arange(100, dtype=np.float32)
    params = PARAMS | {"batching": batching, "batch_size": 12, "epochs": 1, "lr": 1e-9, "lr_decay": 1.0}
    fitted = Constant(**params).fit(x[:, None] * 30, np.zeros((160, 1), dtype=np.float32), seed=3)
    assert sum(seen) == 80
    # which rows were held out is told by a permutation of their number
    held = np.random.default_rng(3).permutation(100)[:20]
    g = 1 / (1 + np.exp(-fitted.decision_function(x[held, None] * 30).astype(np.float64)))
    assert g.std() > 0.1
    assert fitted.alpha_hat_ == pytest.approx(min(ratio * (1 - g.mean()) / g.mean(), 1), rel=1e-6)


def test_en_needs_a_positive_to_learn_from_and_one_to_hold_out() -> None:
    x_p, x_u = gaussians(0.5, n_p=2, n_u=6)
    assert np.isfinite(make("en", PARAMS).fit(x_p, x_u).decision_function(x_u)).all()
    with pytest.raises(ValueError, match="en: got 1 labelled positive, at least 2 expected"):
        make("en", PARAMS).fit(x_p[:1], x_u)


def test_dedpuls_score_is_the_posterior() -> None:
    fitted = make("dedpul", DEDPUL).fit(*gaussians(0.4))
    assert fitted.alpha_hat_ == pytest.approx(0.4, abs=0.06)
    x = np.linspace(-4, 4, 81, dtype=np.float32)
    true = 0.4 / (0.4 + 0.6 * np.exp(-4 * x))
    assert np.abs(fitted.decision_function(x[:, None]) - true).mean() < 0.06


def test_ties_are_broken_by_the_mean_logit_and_change_nothing_else() -> None:
    fitted = make("dedpul", DEDPUL).fit(*gaussians(0.4))
    x = np.linspace(-8, 8, 400, dtype=np.float32)[:, None]
    scores = fitted.decision_function(x)
    logits = np.mean([of.decision_function(x).astype(np.float64) for of in fitted.classifiers_], axis=0)  # type: ignore[attr-defined]
    posterior = scores - 1e-6 * logits / (1 + np.abs(logits))
    assert posterior.min() > -1e-12
    assert posterior.max() < 1 + 1e-12
    for level in (posterior.min(), posterior.max()):
        tied = np.abs(posterior - level) < 1e-12
        assert tied.sum() > 20
        order = np.argsort(logits[tied])
        assert (np.diff(scores[tied][order]) >= 0).all()
        assert np.unique(scores[tied]).size == np.unique(logits[tied]).size


def test_released_interpolation_gives_the_other_neighbours_value_and_0_to_the_surest_rows() -> None:
    f_u, posterior = np.array([0.2, 0.4, 0.6, 0.8]), np.array([0.1, 0.3, 0.5, 0.9])
    f = np.array([[0.21, 0.95], [0.1, 0.7]])
    np.testing.assert_allclose(np.interp(f, f_u, posterior), [[0.11, 0.9], [0.1, 0.7]], atol=1e-12)
    np.testing.assert_allclose(swapped(f, f_u, posterior), [[0.29, 0], [0, 0.7]], atol=1e-12)
    sure = np.array([[25.0]], dtype=np.float32)
    x_p, x_u = gaussians(0.4)
    params = DEDPUL | {"classifier": "linear", "lr": 0.1}  # a perceptron might bend downwards out there
    linear, released = (make("dedpul", params | {"interpolation": how}).fit(x_p, x_u) for how in ("linear", "swapped"))
    assert linear.decision_function(sure) >= linear.decision_function(x_u).max() > 0.7
    assert released.decision_function(sure) < 0.01
    assert released.alpha_hat_ == linear.alpha_hat_


def test_released_share_is_that_of_negatives_and_no_score_depends_on_it() -> None:
    x_p, x_u = gaussians(0.25, n_p=200, n_u=400)
    positive, negative = (make("dedpul", DEDPUL | {"share": share}).fit(x_p, x_u) for share in ("positive", "negative"))
    assert positive.alpha_hat_ == pytest.approx(0.25, abs=0.1)
    assert negative.alpha_hat_ == pytest.approx(1 - positive.alpha_hat_)  # type: ignore[operator]
    np.testing.assert_array_equal(positive.decision_function(x_u), negative.decision_function(x_u))


def test_released_lack_of_cross_fitting_finds_negatives_where_there_are_none() -> None:
    rng = np.random.default_rng(0)
    P, U = (rng.normal(size=(n, 40)).astype(np.float32) for n in (60, 90))
    params = DEDPUL | {"lr": 1e-2, "lr_decay": 1.0, "epochs": 15, "batch_size": 50}
    crossed, released = (make("dedpul", params | {"folds": folds}).fit(P, U) for folds in (3, 1))
    assert released.alpha_hat_ < 0.3 < 0.6 < crossed.alpha_hat_  # type: ignore[operator]
    assert len(released.state()) == 2 + len(crossed.state()) // 3


class KilledError(BaseException):
    """Stands for a kill."""


def test_a_killed_fit_goes_on_in_the_fold_it_had_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    P, U = gaussians(0.4, n_p=40, n_u=80)
    sample, kept = PUSample(P, U, None, 0), Compute(checkpoints=tmp_path, lanes=("a",))
    params = DEDPUL | {"epochs": 3}
    keep, resume, starts = checkpoints.Resumable.keep, checkpoints.Resumable.resume, list[int]()

    def kill(self: checkpoints.Resumable, epoch: int) -> None:
        keep(self, epoch)
        if len(starts) == 2 and epoch == 2:
            raise KilledError

    def tell(self: checkpoints.Resumable) -> int:
        starts.append(resume(self))
        return starts[-1]

    monkeypatch.setattr(checkpoints, "_EVERY", 0.0)
    monkeypatch.setattr(checkpoints.Resumable, "resume", tell)
    with monkeypatch.context() as patched:
        patched.setattr(checkpoints.Resumable, "keep", kill)
        with pytest.raises(KilledError):
            make("dedpul", params).fit_lanes([sample], kept)
    resumed = make("dedpul", params).fit_lanes([sample], kept)[0]
    assert starts == [0, 0, 3, 2, 0]  # the first fold was complete, the second one was killed after two epochs
    assert list(tmp_path.iterdir()) == []
    for name, value in make("dedpul", params).fit_lanes([sample])[0].state().items():
        np.testing.assert_array_equal(resumed.state()[name], value)


def test_a_fit_that_fails_leaves_nothing_to_go_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    P, U = gaussians(0.4, n_p=40, n_u=80)
    monkeypatch.setattr(checkpoints, "_EVERY", 0.0)
    monkeypatch.setattr(
        "puoc.methods.training.estimator.check_finite", lambda *_: None
    )  # which would refuse what diverges for sure
    U[:1] = np.nan  # in one fold, so the two others learn from it
    with pytest.raises(FloatingPointError, match="p_vs_u: the loss of the lane"):
        make("dedpul", DEDPUL).fit_lanes([PUSample(P, U, None, 0)], Compute(checkpoints=tmp_path, lanes=("a",)))
    assert list(tmp_path.iterdir()) == []
