"""Memory bank of CSI: features of the labelled positives (Tack et al., 2020, the scores s_con and s_cls).

A score is a sum over the four angles. Its terms are the largest cosine with the bank times the norm, and the logit of
the correct angle, each divided by its mean over the labelled positives.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

WIDTH = 128  # of ShiftNet's features and of their projection
TINY = 1e-8  # norm of features that are all 0


class Bank(NamedTuple):
    """Features of the labelled positives, and the scales of the terms of a score."""

    rows: Tensor  # (4, n_p, 128) unit vectors, by angle
    likeness: Tensor  # (4,) weight of the nearest row
    angle: Tensor  # (4,) weight of the angle's logit


def make_bank(features: Tensor, logits: Tensor) -> Bank:
    """Make the memory bank of labelled positives; each term of a score is divided by its mean over them.

    Parameters
    ----------
    features : (n_p, 4, d) by angle; logits : (n_p, 4) of the correct angle.
    """
    norms = torch.linalg.vector_norm(features, dim=-1).clamp(min=TINY)
    # a mean logit may be near 0 or negative; it is at least half the mean magnitude, so that no term changes its sign
    scale = torch.maximum(logits.mean(dim=0), logits.abs().mean(dim=0) / 2).clamp(min=TINY)
    rows = (features / norms.unsqueeze(-1)).transpose(0, 1).contiguous()
    return Bank(rows, 1 / norms.mean(dim=0), 1 / scale)
