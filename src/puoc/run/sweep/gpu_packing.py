"""The number of trials that share a GPU.

It is measured while the first trial uses the GPU alone, and halved once if memory runs out.
"""

from __future__ import annotations

from math import floor

_USABLE_SHARE = 0.9  # share of a GPU's memory that all its trials may use together
_OUT_OF_MEMORY = ("OutOfMemoryError", "out of memory")


class Packing:
    """Trials that share a GPU.

    Parameters
    ----------
    gpus : number of GPUs of the sweep; 0 if it computes on CPUs.
    cpus : number of CPUs; each trial takes one.
    """

    def __init__(self, gpus: int, cpus: int):
        self.gpus, self.cpus = gpus, cpus
        self.each = 1  # trials on a GPU
        self.is_measured = gpus == 0
        self.was_halved = False

    @property
    def at_once(self) -> int:
        """Return the number of trials that run in parallel."""
        return max(min(self.cpus, self.gpus * self.each), 1) if self.gpus else self.cpus

    @property
    def resources(self) -> dict[str, float]:
        """Return the resources that Ray reserves for a trial."""
        return {"cpu": 1, "gpu": 1 / self.each} if self.gpus else {"cpu": 1}

    def measure(self, used: float) -> None:
        """Set the number of trials on a GPU from the share of its memory that one trial used alone."""
        if not self.is_measured and used > 0:
            self.each = max(min(floor(_USABLE_SHARE / used), self.cpus // self.gpus), 1)
            self.is_measured = True

    def halve(self) -> bool:
        """Halve the number of trials on a GPU. Return False if it was halved before or if it is 1."""
        if self.was_halved or self.each < 2:
            return False
        self.each, self.was_halved = self.each // 2, True
        return True


def ran_out_of_memory(reason: str | None) -> bool:
    """Check whether the reason of a failed fit is a lack of GPU memory."""
    return reason is not None and all(part in reason for part in _OUT_OF_MEMORY)
