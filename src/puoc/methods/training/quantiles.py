"""Quantiles that set the offset of a decision function between gradient steps; they work under a map over lanes."""

from __future__ import annotations

import torch
from torch import Tensor


def quantile(values: Tensor, q: Tensor | float) -> Tensor:
    """The q-quantile of values (n,), linear between two of them as numpy's; n >= 1, q in [0, 1] may be a tensor."""
    ordered = values.sort().values
    place = torch.as_tensor(q, dtype=values.dtype, device=values.device) * (values.numel() - 1)
    below = place.floor()
    around = torch.stack([below, place.ceil()]).long()
    low, high = ordered.gather(0, around)
    return torch.lerp(low, high, place - below)
