"""How many trials share a GPU: measured with the first one alone on it, halved once where memory ran out."""

from __future__ import annotations

from math import floor

_FREE = 0.9  # share of a GPU's memory that trials may fill together
_OUT_OF_MEMORY = ("OutOfMemoryError", "out of memory")


class Packing:
    """Trials that share a GPU.

    Parameters
    ----------
    gpus : GPUs of the sweep; 0 where it computes on CPUs.
    cpus : CPUs beside them, one a trial.
    """

    def __init__(self, gpus: int, cpus: int):
        self.gpus, self.cpus = gpus, cpus
        self.each = 1  # trials on a GPU
        self.is_measured = gpus == 0
        self.was_halved = False

    @property
    def at_once(self) -> int:
        """Trials that run together."""
        return max(min(self.cpus, self.gpus * self.each), 1) if self.gpus else self.cpus

    @property
    def resources(self) -> dict[str, float]:
        """What Ray sets aside for a trial."""
        return {"cpu": 1, "gpu": 1 / self.each} if self.gpus else {"cpu": 1}

    def measure(self, used: float) -> None:
        """Take the share of a GPU's memory that a trial left in use, alone on it, as what each needs."""
        if not self.is_measured and used > 0:
            self.each = max(min(floor(_FREE / used), self.cpus // self.gpus), 1)
            self.is_measured = True

    def halve(self) -> bool:
        """Let half as many share a GPU, once; False where that was done before or one has it alone."""
        if self.was_halved or self.each < 2:
            return False
        self.each, self.was_halved = self.each // 2, True
        return True


def ran_out_of_memory(reason: str | None) -> bool:
    """Whether a fit's reason tells of a GPU's memory."""
    return reason is not None and all(part in reason for part in _OUT_OF_MEMORY)
