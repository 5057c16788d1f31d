"""Networks without memory, to compare the shapes that a file claims with its arrays before anything is allocated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class _RealSeeds(TorchFunctionMode):
    """Draws numbers on the CPU, since a network reads its seed from them."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        return func(*args, **{"device": "cpu", **(kwargs or {})} if func is torch.randint else kwargs or {})


@contextmanager
def without_memory() -> Iterator[None]:
    """Let torch build networks whose tensors have a shape and a type, but no values."""
    with torch.device("meta"), _RealSeeds():
        yield
