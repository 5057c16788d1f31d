"""Checkpoints, from which a killed training continues at its last epoch, with the same numbers."""

from __future__ import annotations

import pickle
import time
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import torch
from torch import Tensor

from puoc.methods.training.lanes import Lanes
from puoc.store.atomic import write_bytes
from puoc.store.steps import update

_EVERY = 30.0  # seconds between two checkpoints


class Resumable:
    """State of a training, written to a file from time to time.

    Parameters
    ----------
    path : the file, or None for no checkpoints.
    gens : the generators from which the training draws.
    curves : (epochs, n_lanes), filled epoch by epoch.
    """

    def __init__(
        self,
        path: Path | None,
        lanes: Lanes,
        optimizer: torch.optim.Optimizer,
        decay: torch.optim.lr_scheduler.LRScheduler,
        gens: Sequence[torch.Generator],
        curves: Tensor,
    ) -> None:
        self.path, self.lanes, self.optimizer, self.decay = path, lanes, optimizer, decay
        self.gens, self.curves = gens, curves
        self._last = time.monotonic()

    def resume(self) -> int:
        """Restore the state and return the next epoch; 0 without a readable file."""
        if self.path is None or not self.path.exists():
            return 0
        try:
            state = torch.load(self.path, map_location=self.curves.device, weights_only=True)
        except (EOFError, OSError, RuntimeError, pickle.UnpicklingError):
            return 0  # damaged on the disk: the training starts again
        tensors = self.lanes.params | self.lanes.buffers
        if _shapes(tensors, [gen.get_state() for gen in self.gens]) != _shapes(state["tensors"], state["gens"]):
            return 0  # written with another lane map or device, where a lane has another memory layout
        with torch.no_grad():
            for name, value in state["tensors"].items():
                tensors[name].copy_(value)
        self.optimizer.load_state_dict(state["optimizer"])
        self.decay.load_state_dict(state["decay"])
        for gen, value in zip(self.gens, state["gens"], strict=True):
            gen.set_state(value)
        self.curves.copy_(state["curves"])
        return int(state["epoch"])

    def keep(self, epoch: int) -> None:
        """Write the state before an epoch, unless the last checkpoint is recent; report the epochs that are done."""
        update(epoch, len(self.curves), "epochs")
        if self.path is None or time.monotonic() - self._last < _EVERY:
            return
        state = {
            "tensors": {name: value.detach() for name, value in (self.lanes.params | self.lanes.buffers).items()},
            "optimizer": self.optimizer.state_dict(),
            "decay": self.decay.state_dict(),
            "gens": [gen.get_state() for gen in self.gens],
            "curves": self.curves,
            "epoch": epoch,
        }
        content = BytesIO()
        torch.save(state, content)
        write_bytes(self.path, content.getvalue())
        self._last = time.monotonic()


def _shapes(tensors: dict[str, Tensor], gens: Sequence[Tensor]) -> tuple[dict[str, torch.Size], list[torch.Size]]:
    return {name: value.shape for name, value in tensors.items()}, [value.shape for value in gens]
