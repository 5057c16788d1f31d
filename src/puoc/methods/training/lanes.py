"""L independent copies of one network, trained together. A method defines one lane; a map adds the axis of lanes.

``loop`` trains the lanes one after the other. It is the reference, bit-equal for any set of lanes. ``vmap`` stacks
their parameters and trains them together. The sum of the lanes' losses has, per lane, that lane's own gradient, and the
optimizers in use are elementwise, so both give the same models up to rounding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

LaneMap = Literal["loop", "vmap"]
Tensors = Tensor | dict[str, Tensor]
R = TypeVar("R", bound=Tensors)

#: Map that ``auto`` selects for several lanes, by architecture and device; docs/benchmarks.md has the times. On a CPU
#: convolutions are slower under vmap and small dense networks faster; on a GPU both are faster from five lanes on.
AUTO: dict[tuple[str, str], LaneMap] = {
    ("conv", "cpu"): "loop",
    ("dense", "cpu"): "vmap",
    ("conv", "cuda"): "vmap",
    ("dense", "cuda"): "vmap",
}


def choose(asked: Literal["auto", "loop", "vmap"], net: nn.Module, device: str, n_lanes: int) -> LaneMap:
    """Resolve ``auto`` for a network on a device; a single lane is trained by ``loop``."""
    if asked != "auto":
        return asked
    if n_lanes == 1:
        return "loop"
    kind = "conv" if any(isinstance(part, nn.Conv2d) for part in net.modules()) else "dense"
    return AUTO.get((kind, torch.device(device).type), "loop")


class Lane:
    """Network of one lane for a loss: callable like the module, with its parameters and buffers by name."""

    def __init__(
        self, forward: Callable[..., Tensor], params: Mapping[str, Tensor], buffers: Mapping[str, Tensor]
    ) -> None:
        self.forward, self.params, self.buffers = forward, params, buffers

    def __call__(self, *args: object, **kwargs: object) -> Tensor:
        """Return the output of the network."""
        return self.forward(*args, **kwargs)


class Lanes(ABC):
    """L networks with a map over them. All tensors of its arguments and results have a leading axis of length L."""

    params: dict[str, Tensor]
    buffers: dict[str, Tensor]

    @abstractmethod
    def map(self, fn: Callable[..., R], *args: Tensors) -> R:
        """Return ``fn(lane, *args of that lane)`` of each lane, stacked. All values are tensors or dicts of them."""

    @abstractmethod
    def write(self, buffers: Mapping[str, Tensor]) -> None:
        """Set buffers by name."""

    @abstractmethod
    def nets(self) -> list[nn.Module]:
        """Return the networks, one module for each lane."""


class OneLane(Lanes):
    """Map ``loop``: a single network, whose parameters and rounding depend on no other lane."""

    def __init__(self, net: nn.Module) -> None:
        self.net = net
        pixels_together(net)
        self.params, self.buffers = dict(net.named_parameters()), dict(net.named_buffers())

    def map(self, fn: Callable[..., R], *args: Tensors) -> R:
        """See ``Lanes``."""
        lane = Lane(self.net, self.params, self.buffers)
        given = (_each(lambda value: by_pixel(value[0]), arg) for arg in args)
        return _each(lambda value: value.unsqueeze(0), fn(lane, *given))

    def write(self, buffers: Mapping[str, Tensor]) -> None:
        """See ``Lanes``."""
        for name, value in buffers.items():
            self.buffers[name].copy_(value[0])

    def nets(self) -> list[nn.Module]:
        """See ``Lanes``."""
        return [self.net]


class StackedLanes(Lanes):
    """Map ``vmap``: parameters stacked to (L, *shape), with one vectorised call for each step."""

    def __init__(self, nets: Sequence[nn.Module]) -> None:
        self.each = list(nets)
        self.params, self.buffers = stack_module_state(self.each)

    def map(self, fn: Callable[..., R], *args: Tensors) -> R:
        """See ``Lanes``."""

        def one(params: dict[str, Tensor], buffers: dict[str, Tensor], *lane_args: Tensors) -> R:
            forward = partial(_forward, self.each[0], {**params, **buffers})
            return fn(Lane(forward, params, buffers), *lane_args)

        return vmap(one, randomness="error")(self.params, self.buffers, *args)

    def write(self, buffers: Mapping[str, Tensor]) -> None:
        """See ``Lanes``."""
        for name, value in buffers.items():
            self.buffers[name].copy_(value)

    def nets(self) -> list[nn.Module]:
        """See ``Lanes``."""
        for i, net in enumerate(self.each):
            net.load_state_dict({name: value[i].detach() for name, value in (self.params | self.buffers).items()})
            pixels_together(net)  # as in a loaded model, which must give the same scores
        return self.each


def by_pixel(x: Tensor) -> Tensor:
    """Return images (b, channels, height, width) on a CPU with the channels of a pixel adjacent in memory.

    Other tensors are returned unchanged. Convolutions of few channels and poolings are faster with this layout; see
    docs/benchmarks.md.
    """
    return x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 and x.device.type == "cpu" else x


def pixels_together(net: nn.Module) -> nn.Module:
    """Return the network with its weights in the memory layout of ``by_pixel``."""
    if all(parameter.device.type == "cpu" for parameter in net.parameters()):
        net.to(memory_format=torch.channels_last)
    return net


def _forward(net: nn.Module, state: dict[str, Tensor], *args: object, **kwargs: object) -> Tensor:
    out: Tensor = functional_call(net, state, args, kwargs)
    return out


def _each(fn: Callable[[Tensor], Tensor], value: R) -> R:
    if isinstance(value, dict):
        return {name: fn(part) for name, part in value.items()}  # type: ignore[return-value]  # a dict as R is here
    return fn(value)  # type: ignore[return-value]  # a tensor as R is here
