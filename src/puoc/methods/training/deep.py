"""Gradient training of all methods. A method defines one lane by ``build``, ``draws``, ``loss`` and optional hooks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Literal, Self

import numpy as np
import torch
from pydantic import PositiveFloat, PositiveInt
from torch import Tensor, nn

from puoc.methods.training import uncompiled  # noqa: F401 - its import is its effect
from puoc.methods.training.checkpoints import Resumable
from puoc.methods.training.estimator import Compute, Estimator, PUSample, check_sample, typed
from puoc.methods.training.lanes import Lane, Lanes, OneLane, StackedLanes, by_pixel, choose, pixels_together
from puoc.records import Array

Batching = Literal["p", "union", "equal"]
Noise = dict[str, Tensor]

_AT_ONCE = 1024  # rows, if they are not larger than images of 3x32x32
_VALUES_AT_ONCE = _AT_ONCE * 3 * 32 * 32


class FittedNet(Estimator):
    """Scoring with a trained network. It is a plain class, since a fitted network is no hyperparameter."""

    net_: nn.Module

    @abstractmethod
    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """Build a new network for rows of this shape, with raw logits (b,) and without dropout layers."""

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """Check that there is a network for rows of ``shape``. Raises ValueError as ``build``."""
        with torch.device("meta"):  # no memory, and no random numbers
            self.build(shape)

    def decision_function(self, X: Array) -> Array:
        """Return logits (n,) in the precision of the fit."""
        return self.evaluate(self.net_, X)

    def evaluate(self, what: Callable[[Tensor], Tensor], X: Array) -> Array:
        """Apply a part of the trained network to rows (n, *shape), in evaluation mode and in chunks.

        A chunk has fewer rows if they are large, so that the memory does not grow with the size of the images.
        """
        like, chunks = next(self.net_.parameters()), []
        at_once = max(min(_VALUES_AT_ONCE // max(int(np.prod(X.shape[1:])), 1), _AT_ONCE), 1)
        with torch.no_grad():
            for start in range(0, max(len(X), 1), at_once):
                chunk = torch.tensor(X[start : start + at_once]).to(like)
                chunks.append(what(by_pixel(chunk)).cpu().numpy())
        found: Array = np.concatenate(chunks)
        return found

    def state(self) -> dict[str, Array]:
        """Return parameters and buffers by name."""
        return {name: value.detach().cpu().numpy().copy() for name, value in self.net_.state_dict().items()}

    def restore(self, state: dict[str, Array], shape: tuple[int, ...]) -> Self:
        """Restore the fitted model, for rows of ``shape``, on the CPU.

        Raises
        ------
        ValueError : the arrays have other names or shapes than this network.
        """
        net = self._seeded_net(shape, torch.Generator().manual_seed(0))
        expected = {name: tuple(value.shape) for name, value in net.state_dict().items()}
        got = {name: value.shape for name, value in state.items()}
        if got != expected:
            raise ValueError(f"{self.name}: arrays of shapes {expected} expected for rows of shape {shape}, got {got}")
        net.load_state_dict({name: torch.tensor(value) for name, value in state.items()}, assign=True)
        self.net_ = pixels_together(net).eval()
        return self

    def _seeded_net(self, shape: tuple[int, ...], gen: torch.Generator) -> nn.Module:
        """Initialise from the lane's generator. torch initialises from the global one, which is restored."""
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(int(torch.randint(2**62, (), generator=gen)))
            return self.build(shape)


@typed
class Deep(FittedNet):
    """Base of gradient-trained methods. Rows are shuffled per lane and epoch; the step size decays by epoch."""

    precisions = frozenset({"fp32", "bf16"})
    libraries = ("torch._dynamo",)  # no longer loaded; without the name, all fits would have new ids

    lr: PositiveFloat
    lr_decay: PositiveFloat  # factor per epoch
    epochs: PositiveInt
    batch_size: PositiveInt
    batching: Batching  # what batch_size counts: labelled positives, rows of P and U together, rows of each

    @abstractmethod
    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Compute the loss of one lane's batch, a scalar.

        Parameters
        ----------
        x_p, x_u : (b_p, *shape) and (b_u, *shape); b_u is 0 for an OC method.
        alpha : class prior, a scalar; NaN if there is none.
        noise : result of ``draws``.
        epoch : counted from 0.
        """

    def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> Noise:
        """Draw all random numbers of ``loss`` for one step of one lane, on the CPU from the lane's generator."""
        return {}

    def check_counts(self, n_p: int, n_u: int) -> None:
        """Check that the rows can be cut into batches. Raises ValueError as ``sizes``."""
        self.sizes(n_p, n_u)

    def sizes(self, n_p: int, n_u: int) -> list[tuple[int, int]]:
        """Return the numbers of rows of P and of U in every step of an epoch."""
        return batch_sizes(n_p, n_u, self.batch_size, self.batching)

    def optimizer(self, params: list[Tensor]) -> torch.optim.Optimizer:
        """Create an elementwise optimizer, since lanes may be stacked in ``params``."""
        return torch.optim.Adam(params, lr=self.lr)

    def after_step(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor) -> dict[str, Tensor]:
        """Return new values of buffers after an optimizer step, by name, such as an offset at a quantile of scores."""
        return {}

    def estimate_prior(self, sample: PUSample) -> float | None:
        """Estimate ``alpha_hat_`` from the trained network and its training rows; None if the method does not."""
        return None

    def fit_lanes(self, samples: Sequence[PUSample], compute: Compute = Compute()) -> list[Self]:  # noqa: B008
        """Fit one independent copy for each sample, seeded by this sample alone.

        Raises
        ------
        ValueError : samples of unequal shapes, or missing unlabelled rows or class prior of a method that needs them.
        FloatingPointError : the loss of a lane is no longer finite.
        """
        self._check(samples)
        gens = [torch.Generator().manual_seed(sample.seed) for sample in samples]
        dtype = torch.float64 if samples[0].X_p.dtype == np.float64 else torch.float32
        nets = [self._seeded_net(samples[0].X_p.shape[1:], gen).to(compute.device, dtype) for gen in gens]
        if choose(compute.lane_map, nets[0], compute.device, len(nets)) == "vmap":
            return self._train(samples, gens, StackedLanes(nets), compute, dtype, range(len(samples)))
        # one after the other, so that only one lane's rows are on the device
        trained = (
            self._train([sample], [gen], OneLane(net), compute, dtype, [i])
            for i, (sample, gen, net) in enumerate(zip(samples, gens, nets, strict=True))
        )
        return [lane for lanes in trained for lane in lanes]

    def _check(self, samples: Sequence[PUSample]) -> None:
        shapes = {
            (sample.X_p.shape, None if self.one_class or sample.X_u is None else sample.X_u.shape) for sample in samples
        }
        if len(shapes) != 1:
            raise ValueError(f"{self.name}: lanes of equal shapes expected, got {len(shapes)} different ones")
        for sample in samples:
            check_sample(self, sample)
            if not self.one_class and self.needs_alpha:
                given_prior(self.name, sample.alpha)

    def _train(
        self,
        samples: Sequence[PUSample],
        gens: Sequence[torch.Generator],
        lanes: Lanes,
        compute: Compute,
        dtype: torch.dtype,
        places: Sequence[int],
    ) -> list[Self]:
        X_p = _stack([sample.X_p for sample in samples], compute.device, dtype)  # (L, n_p, *shape)
        unseen = self.one_class  # it gets no row of U
        X_u = _stack([s.X_p[:0] if unseen or s.X_u is None else s.X_u for s in samples], compute.device, dtype)
        alpha = torch.tensor([np.nan if s.alpha is None else s.alpha for s in samples], device=X_p.device, dtype=dtype)
        optimizer = self.optimizer(list(lanes.params.values()))
        decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, self.lr_decay)
        adjusts = type(self).after_step is not Deep.after_step
        sizes = self.sizes(X_p.shape[1], X_u.shape[1])
        curves = torch.zeros(self.epochs, len(samples), dtype=torch.float64)
        kept = Resumable(compute.checkpoint(places), lanes, optimizer, decay, gens, curves)
        for epoch in range(kept.resume(), self.epochs):
            total = torch.zeros_like(alpha)
            for x_p, x_u in _batches(X_p, X_u, sizes, gens):
                noise = self._noise(x_p, x_u, gens)
                with torch.autocast(X_p.device.type, torch.bfloat16, enabled=compute.numerics == "bf16"):
                    losses = lanes.map(partial(_at_epoch, self, epoch), x_p, x_u, alpha, noise)
                optimizer.zero_grad(set_to_none=True)
                losses.sum().backward()  # type: ignore[no-untyped-call]  # torch does not annotate it
                optimizer.step()
                if adjusts:
                    with torch.no_grad():
                        lanes.write(lanes.map(self.after_step, x_p, x_u, alpha))
                total += losses.detach()
            decay.step()
            curves[epoch] = total.cpu() / len(sizes)
            self._check_finite(curves[epoch].tolist(), samples, epoch)
            kept.keep(epoch + 1)
        lane_map = "vmap" if isinstance(lanes, StackedLanes) else "loop"
        trained = zip(samples, lanes.nets(), curves.T.tolist(), strict=True)
        return [self._fitted(sample, net, curve, lane_map) for sample, net, curve in trained]

    def _noise(self, x_p: Tensor, x_u: Tensor, gens: Sequence[torch.Generator]) -> Noise:
        drawn = [self.draws(*lane) for lane in zip(x_p, x_u, gens, strict=True)]
        return {name: torch.stack([noise[name] for noise in drawn]).to(x_p.device) for name in drawn[0]}

    def _check_finite(self, losses: list[float], samples: Sequence[PUSample], epoch: int) -> None:
        for sample, loss in zip(samples, losses, strict=True):
            if not np.isfinite(loss):
                lane = f"{self.name}: the loss of the lane with seed {sample.seed} is {loss} in epoch {epoch}"
                raise FloatingPointError(f"{lane}, a finite one expected; a smaller lr may help")

    def _fitted(self, sample: PUSample, net: nn.Module, curve: list[float], lane_map: str) -> Self:
        one = copy(self)
        one.net_, one.curve_, one.lane_map_ = net.eval(), {"loss": curve}, lane_map
        one.alpha_hat_ = one.estimate_prior(sample)
        return one


def given_prior(name: str, alpha: float | None) -> float:
    """Return the class prior of a method.

    Raises
    ------
    ValueError : it is missing or not in (0, 1).
    """
    if alpha is None or not 0 < alpha < 1:
        raise ValueError(f"{name} needs a class prior alpha in (0, 1), got {alpha}; set its prior in params.yaml")
    return alpha


def batch_sizes(n_p: int, n_u: int, batch_size: int, batching: Batching) -> list[tuple[int, int]]:
    """Return the numbers of rows of P and of U in every step of an epoch, equal for lanes of equal sizes.

    ``p``: ceil(n_p / b) steps of labelled positives, without a last step of a single row; U in proportion.
    ``union``: ceil((n_p + n_u) / b) steps, round(b n_p / (n_p + n_u)) rows of P in each, at least one of P and of U.
    ``equal``: b rows of each, until all rows of P or of U are used.
    """
    if batching == "equal" and n_u > 0:
        steps = min(_ceil(n_p, batch_size), _ceil(n_u, batch_size))
        left = [(n_p - i * batch_size, n_u - i * batch_size) for i in range(steps)]
        return [(min(batch_size, p), min(batch_size, u)) for p, u in left]
    if batching == "union" and n_u > 0:
        n = n_p + n_u
        steps, b = _ceil(n, batch_size), min(batch_size, n)
        b_p = max(round(b * n_p / n), 1)
        b_u = max(b - b_p, 1)
    else:
        steps, b_p = _ceil(n_p, batch_size), min(batch_size, n_p)
        b_u = max(round(b_p * n_u / n_p), 1) if n_u else 0
        if steps > 1 and n_p % batch_size == 1:
            return [(b_p, b_u)] * (steps - 1)
    last = (_rest(n_p, b_p, steps), _rest(n_u, b_u, steps))
    return [(b_p, b_u)] * (steps - 1) + [last]


def _rest(n: int, b: int, steps: int) -> int:
    """Return the number of rows of the last step, between 1 and b, since rounding may leave too many or none."""
    return min(max(n - (steps - 1) * b, 1), b)


def _ceil(n: int, b: int) -> int:
    return -(-n // b)


def _stack(arrays: Sequence[Array], device: str, dtype: torch.dtype) -> Tensor:
    return torch.from_numpy(np.stack(arrays)).to(device, dtype)


def _at_epoch(method: Deep, epoch: int, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise) -> Tensor:
    return method.loss(net, x_p, x_u, alpha, noise, epoch)


def _batches(
    X_p: Tensor, X_u: Tensor, sizes: Sequence[tuple[int, int]], gens: Sequence[torch.Generator]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the batches of an epoch, from a random order of each lane's rows. Rows repeat if they are too few."""
    orders = [torch.stack([torch.randperm(X.shape[1], generator=gen) for gen in gens]) for X in (X_p, X_u)]
    start_p = start_u = 0
    for b_p, b_u in sizes:
        yield _take(X_p, orders[0], start_p, b_p), _take(X_u, orders[1], start_u, b_u)
        start_p, start_u = start_p + b_p, start_u + b_u


def _take(X: Tensor, order: Tensor, start: int, size: int) -> Tensor:
    """Return rows (L, size, *shape) of X (L, n, *shape) at places start to start + size of each lane's order."""
    places = torch.arange(start, start + size) % max(order.shape[1], 1)
    rows = order[:, places].to(X.device)
    return X[torch.arange(len(X), device=X.device).unsqueeze(1), rows]
