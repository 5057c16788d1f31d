"""Surrogate losses of the margin z = y f and the risks of PU learning built from them.

Sources: du Plessis, Niu and Sugiyama (2015) for the double hinge and the unbiased risk; Kiryo, Niu, du Plessis and
Sugiyama (2017) for the non-negative risk; Bagirov, Ivanov and Shpilman for the notation: R_p_pos is the risk of calling
labelled positives positive, R_p_neg of calling them negative, R_u_neg of calling unlabelled rows negative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import softplus

Loss = Callable[[Tensor], Tensor]
Correction = Literal["clamp", "ascent"]


def sigmoid(z: Tensor) -> Tensor:
    """Return 1 / (1 + exp(z)), the loss of Kiryo et al. (2017)."""
    return torch.sigmoid(-z)


def logistic(z: Tensor) -> Tensor:
    """Return log(1 + exp(-z))."""
    return softplus(-z)


def double_hinge(z: Tensor) -> Tensor:
    """Return max(-2z, 0, 1 - z): twice the loss of du Plessis et al. (2015), as Bagirov et al. scale it for PU-SVM."""
    return torch.maximum(-2 * z, (1 - z).clamp(min=0))


LOSSES: dict[str, Loss] = {"sigmoid": sigmoid, "logistic": logistic, "double_hinge": double_hinge}


def mean(values: Tensor) -> Tensor:
    """Return the mean over the rows of a batch, 0 for an empty one, so that a batch without P or U has a loss."""
    return values.sum() / max(values.numel(), 1)


def _parts(loss: Loss, f_p: Tensor, f_u: Tensor, alpha: Tensor | float) -> tuple[Tensor, Tensor]:
    """Return alpha R_p_pos and R_u_neg - alpha R_p_neg; the second is 0 in a batch without U."""
    positive = alpha * mean(loss(f_p))
    if f_u.numel() == 0:
        return positive, torch.zeros_like(positive)
    return positive, mean(loss(-f_u)) - alpha * mean(loss(-f_p))


def unbiased(loss: Loss, f_p: Tensor, f_u: Tensor, alpha: Tensor | float) -> Tensor:
    """Return the unbiased PU risk, alpha R_p_pos + R_u_neg - alpha R_p_neg (du Plessis et al., 2015, uPU).

    Parameters
    ----------
    loss : surrogate loss of the margin.
    f_p, f_u : (b_p,) and (b_u,) logits of labelled positives and of unlabelled rows; either may be empty.
    alpha : class prior p(y=1 | s=0).
    """
    positive, negative = _parts(loss, f_p, f_u, alpha)
    return positive + negative


def non_negative(
    loss: Loss, f_p: Tensor, f_u: Tensor, alpha: Tensor | float, correction: Correction = "clamp"
) -> Tensor:
    """Return the non-negative PU risk, alpha R_p_pos + max(0, R_u_neg - alpha R_p_neg) (Kiryo et al., 2017, nnPU).

    See ``corrected`` for the corrections and ``unbiased`` for the parameters.
    """
    return corrected(*_parts(loss, f_p, f_u, alpha), correction)


def corrected(positive: Tensor, negative: Tensor, correction: Correction) -> Tensor:
    """Return positive + max(0, negative), where ``negative`` estimates a non-negative value (Kiryo et al., 2017).

    ``clamp`` uses the gradient of this sum. ``ascent`` is the paper's algorithm with beta = 0 and gamma = 1: if
    ``negative`` is below 0, the step follows the gradient of -negative alone. Both have the same value.
    """
    risk = positive + negative.clamp(min=0)
    if correction == "clamp":
        return risk
    followed = torch.where(negative >= 0, positive + negative, -negative)
    return risk.detach() + (followed - followed.detach())
