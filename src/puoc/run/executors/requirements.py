"""Libraries and the device of a run: imported and checked before the first worker starts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import import_module


def check_device(device: str) -> None:
    """Raise ValueError if there is no such device on this machine."""
    import torch

    if device == "cpu":
        return
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # otherwise this query makes CUDA unusable after a fork
    n_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(device.partition(":")[2] or 0) >= n_devices:
        raise ValueError(f"compute.device: got {device}; expected cpu, or one of the {n_devices} CUDA devices here")


def load_libraries(names: Iterable[str]) -> None:
    """Import the libraries of methods before workers are forked, so that no fit imports and times them."""
    import torch  # noqa: F401

    from puoc import methods
    from puoc.methods import encoders, priors
    from puoc.methods.training.estimator import Estimator, PriorEstimator

    known: dict[str, type[Estimator | PriorEstimator]] = {**methods.METHODS, **encoders.ENCODERS, **priors.PRIORS}
    for library in sorted({library for name in names for library in known[name].libraries}):
        import_module(library)
