"""OC-LSTM (Ergen et al., 2017) and PU-LSTM (Bagirov et al., section on OC-LSTM): an SVM on an LSTM's hidden state.

A row is a sequence with its own length: shape (T, 1 + d), float. The first value of a step is 1 where the step belongs
to the sequence and 0 in the padding after it; the other d values are the step's features. Padding is all zeros, and a
sequence has at least one step. So rows include their lengths, and rows of another form raise an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn
from torch.nn.functional import linear

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import PUSample, typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.quantiles import quantile
from puoc.methods.training.risks import double_hinge, mean, non_negative
from puoc.records import Array
from puoc.registry import method

Pooling = Literal["last", "mean"]
Training = Literal["joint", "alternating", "hidden_quantile", "batch_quantile"]  # joint: r learned by gradient


class PooledLSTM(nn.Module):
    """Network with scores <w, h> - r of sequences (b, T, 1 + d); h (b, hidden) is the last hidden state or their mean.

    The LSTM is ``nn.LSTM`` in its parameters alone: its own forward pass fails under a map over lanes, so the cell is
    written out. As released, w begins as U[0, 1) and r as 1, above the scores, so that the hinge pulls them up from the
    first step. r is learned by gradient or set from outside.
    """

    offset: Tensor

    def __init__(self, d: int, hidden: int, pooling: Pooling, *, learned_offset: bool) -> None:
        super().__init__()
        self.lstm = nn.LSTM(d, hidden, batch_first=True)
        self.w = nn.Parameter(torch.rand(hidden))
        self.pooling = pooling
        if learned_offset:
            self.offset = nn.Parameter(torch.ones(()))
        else:
            self.register_buffer("offset", torch.ones(()))

    def forward(self, x: Tensor, part: Literal["score", "hidden"] = "score") -> Tensor:
        """Return scores (b,), or the hidden states h (b, hidden) from which they are computed."""
        mask = x[..., 0]
        weight = mask
        if self.pooling == "last":  # 1 at the step whose successor is padding or nothing
            weight = mask - torch.cat([mask[:, 1:], torch.zeros_like(mask[:, :1])], dim=1)
        hidden = torch.einsum("bt,bth->bh", weight / weight.sum(dim=1, keepdim=True), self.states(x[..., 1:]))
        return hidden if part == "hidden" else hidden @ self.w - self.offset

    def states(self, x: Tensor) -> Tensor:
        """Return hidden states (b, T, hidden) of features (b, T, d), as ``nn.LSTM`` from states of 0."""
        from_x, from_h, bias_x, bias_h = self.lstm.all_weights[0]
        given = linear(x, from_x, bias_x + bias_h)  # (b, T, 4 hidden)
        h = c = x.new_zeros(len(x), self.lstm.hidden_size)
        states = []
        for gates in given.unbind(dim=1):
            enter, forget, cell, leave = (gates + linear(h, from_h)).chunk(4, dim=-1)
            c = forget.sigmoid() * c + enter.sigmoid() * cell.tanh()
            h = leave.sigmoid() * c.tanh()
            states.append(h)
        return torch.stack(states, dim=1)


@typed
class SequenceSVM(Deep):
    """Base of both methods: the network, and rows that are sequences."""

    inputs = frozenset({"sequence"})

    hidden: PositiveInt  # length of the hidden state
    pooling: Pooling  # which hidden states stand for a sequence
    training: Training

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``.

        Raises
        ------
        ValueError : rows of another shape than (T, 1 + d).
        """
        _check_shape(self.name, shape)
        return PooledLSTM(shape[1] - 1, self.hidden, self.pooling, learned_offset=self.training == "joint")

    def decision_function(self, X: Array) -> Array:
        """Return scores <w, h> - r (n,) in the precision of the fit. Raises ValueError if a row is no sequence."""
        check_sequences(self.name, X)
        return super().decision_function(X)

    def _check(self, samples: Sequence[PUSample]) -> None:
        super()._check(samples)
        for sample in samples:
            check_sequences(self.name, sample.X_p)
            if self.kind != "oc" and sample.X_u is not None:
                check_sequences(self.name, sample.X_u)


SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


@method("oc_lstm")
@typed
class OCLSTM(SequenceSVM):
    """nu / 2 ||w||^2 + mean max(0, r - <w, h>) - nu r: OC-SVM's objective times nu, over the LSTM too.

    Published (table hp3): nu .5, hidden 16, lr 1e-4, 200 epochs, batches of 128; lr_decay .99 is the
    released code's.
    """

    kind = "oc"

    nu: float = Field(gt=0, le=1)  # upper bound on the share of labelled positives left outside
    #: alternating: r is set after each step to the nu-quantile of the batch's <w, h>, where the objective is least;
    #: hidden_quantile: to that of all entries of h, as released
    training: Literal["joint", "alternating", "hidden_quantile"]

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return OC-SVM's objective times nu on the batch; <w, h> - r is the score."""
        scores, r = net(x_p), _offset(net)
        penalty: Tensor = self.nu / 2 * net.params["w"].square().sum()
        return penalty + mean((-scores).clamp(min=0)) - self.nu * r

    def after_step(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor) -> dict[str, Tensor]:
        """Return a new r, unless it is learned."""
        if self.training == "joint" or len(x_p) == 0:
            return {}
        if self.training == "hidden_quantile":
            return {"offset": quantile(net(x_p, part="hidden").flatten(), self.nu)}
        return {"offset": quantile(net(x_p) + _offset(net), self.nu)}


@method("pu_lstm")
@typed
class PULSTM(SequenceSVM):
    """lam ||w||^2 + the non-negative PU risk (Kiryo et al., 2017) of <w, h> - r with the double hinge, clamped.

    The paper's equation nnpu_svm over the LSTM too. Published (table hp3): nu .5, which is lam here,
    hidden 16, lr 5e-3, 100 epochs, batches of 256; lr_decay .99 is the released code's.
    """

    kind = "pu_oc"
    twin = "oc_lstm"

    lam: PositiveFloat  # weight of ||w||^2; the paper's table calls it nu
    #: alternating: r is set after each step so that a share alpha of the batch's U scores above 0; batch_quantile: of
    #: the batch's P and U together, as released
    training: Literal["joint", "alternating", "batch_quantile"]

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """See the class; a batch without P or U keeps the part that is estimated."""
        scores = net(torch.cat([x_p, x_u]))
        penalty: Tensor = self.lam * net.params["w"].square().sum()
        return penalty + non_negative(double_hinge, scores[: len(x_p)], scores[len(x_p) :], alpha)

    def after_step(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor) -> dict[str, Tensor]:
        """Return a new r, unless it is learned."""
        rows = torch.cat([x_p, x_u]) if self.training == "batch_quantile" else x_u
        if self.training == "joint" or len(rows) == 0:
            return {}
        return {"offset": quantile(net(rows) + _offset(net), 1 - alpha)}


def check_sequences(name: str, X: Array) -> None:
    """Check rows (n, T, 1 + d): the mask is a non-empty prefix of ones, and the padding is zero.

    Raises
    ------
    ValueError : the row, its value and the expected one.
    """
    _check_shape(name, X.shape[1:])
    mask = X[..., 0]
    steps = mask.astype(bool).sum(axis=1)
    expected = np.arange(X.shape[1]) < np.maximum(steps, 1)[:, None]
    wrong = np.flatnonzero((mask != expected).any(axis=1))
    if wrong.size:
        got = f"got {np.array2string(mask[wrong[0]], threshold=20)} as mask of row {wrong[0]}"
        raise ValueError(f"{name}: {got}; the first value of a step is expected to be 1 in a sequence and 0 after it")
    unclean = np.flatnonzero((X.any(axis=2) & ~expected).any(axis=1))
    if unclean.size:
        raise ValueError(f"{name}: got values after the {steps[unclean[0]]} steps of row {unclean[0]}, zeros expected")


def _check_shape(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[1] < 2:
        expected = "rows of shape (T, 1 + d) expected, T steps of a mask and d features"
        raise ValueError(f"{name} takes sequences: {expected}; got {shape}; an encoder may help")


def _offset(net: Lane) -> Tensor:
    return net.params["offset"] if "offset" in net.params else net.buffers["offset"]
