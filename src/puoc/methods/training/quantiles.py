"""Quantiles for the offset of a decision function between gradient steps, usable under a map over lanes."""

from __future__ import annotations

import torch
from torch import Tensor


def quantile(values: Tensor, q: Tensor | float) -> Tensor:
    """Return the q-quantile of values (n,), interpolated as in numpy; n >= 1, q in [0, 1] may be a tensor."""
    ordered = values.sort().values
    place = torch.as_tensor(q, dtype=values.dtype, device=values.device) * (values.numel() - 1)
    below = place.floor()
    around = torch.stack([below, place.ceil()]).long()
    low, high = ordered.gather(0, around)
    return torch.lerp(low, high, place - below)
