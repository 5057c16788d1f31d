"""Milliseconds per training step and lane of each network of a profile: loop, vmap, compiled, and as a CUDA graph.

    python bench/gpu.py --device cuda --out gpu.parquet

A step is one batch of the published size, of random rows: random numbers, loss, gradients and the optimizer, by the
parts that ``Deep`` trains with. Random numbers are drawn once, since a graph replays them.

* ``loop``: one lane.
* ``vmap``: so many lanes at once, as ``StackedLanes`` trains them.
* ``compiled``: ``torch.compile`` of the loss of one lane, without the time of compiling, which ``first`` has.
* ``graph``: the step of one lane, recorded once and replayed; CUDA alone. Its optimizer is the capturable one.

The sides alternate, and the first repetition does not count. A side that fails has the reason in ``note``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from costs import fits_of
from torch import Tensor

from puoc import methods
from puoc.methods import encoders
from puoc.methods.training.deep import Deep
from puoc.methods.training.lanes import Lanes, OneLane, StackedLanes
from puoc.plan.forecast.work import method_inputs, rows
from puoc.plan.params import read_params
from puoc.records import Fit

ROOT = Path(__file__).parents[1]
SIDES = ("loop", "vmap", "compiled", "graph")
WARM_UP = 3  # steps before a graph is recorded
Step = Callable[[], Any]


def cases(profile: Path, names: list[str] | None) -> Iterator[tuple[Fit, Deep]]:
    """Yield one fit of each network of images of a profile, with its method."""
    seen = set()
    for fit in fits_of(read_params(profile, ROOT)):
        inputs, _ = method_inputs(fit.encoder, fit.sample.dataset)
        if (
            fit.method in seen
            or inputs != "image"
            or fit.encoder is not None
            or fit.method not in (names or [fit.method])
        ):
            continue
        known = methods if fit.method in methods.METHODS else encoders if fit.method in encoders.ENCODERS else None
        made = known.make(fit.method, fit.params) if known else None
        if isinstance(made, Deep):
            seen.add(fit.method)
            yield fit, made


class Batch:
    """One batch of lanes with everything that a step of them needs."""

    def __init__(self, fit: Fit, method: Deep, shape: tuple[int, ...], n_lanes: int, device: str, most: int | None):
        self.method, self.epoch = method, method.epochs - 1  # after a warm-up
        sizes = method.sizes(*rows(fit))[0]
        self.sizes = tuple(min(n, most) if most else n for n in sizes)
        rngs = [np.random.default_rng(lane) for lane in range(n_lanes)]
        drawn_rows = (np.stack([rng.random((n, *shape), dtype=np.float32) for rng in rngs]) for n in self.sizes)
        x_p, x_u = map(torch.from_numpy, drawn_rows)
        gens = [torch.Generator().manual_seed(lane) for lane in range(n_lanes)]
        self.nets = [method._seeded_net(shape, gen).to(device) for gen in gens]
        drawn = [method.draws(*lane) for lane in zip(x_p, x_u, gens, strict=True)]
        noise = {name: torch.stack([one[name] for one in drawn]).to(device) for name in drawn[0]}
        self.given = (x_p.to(device), x_u.to(device), torch.full((n_lanes,), 0.5, device=device), noise)

    def step(self, lanes: Lanes, wrap: Callable[[Any], Any] = lambda loss: loss, capturable: bool = False) -> Step:
        """Return a function that trains one step."""
        optimizer = self.method.optimizer(list(lanes.params.values()))
        for group in optimizer.param_groups:
            group |= {"capturable": True} if capturable and "capturable" in group else {}
        compute = wrap(lambda: lanes.map(partial(_loss, self.method, self.epoch), *self.given).sum())

        def train() -> None:
            optimizer.zero_grad(set_to_none=True)
            compute().backward()
            optimizer.step()

        return train


def _loss(method: Deep, epoch: int, net: Any, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Any) -> Tensor:
    return method.loss(net, x_p, x_u, alpha, noise, epoch)


def replayed(train: Step) -> Step:
    """Record a step as a CUDA graph and return its replay."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UP):
            train()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        train()
    return graph.replay


def side(name: str, one: Batch, many: Batch, backend: str) -> tuple[Step, int]:
    """Return a step of a side and its number of lanes."""
    if name == "vmap":
        return many.step(StackedLanes(many.nets)), len(many.nets)
    lanes = OneLane(one.nets[0])
    if name == "compiled":
        torch.compiler.reset()  # the limit of recompilations is that of the code of all methods
        return one.step(lanes, partial(torch.compile, backend=backend)), 1
    if name == "graph":
        return replayed(one.step(lanes, capturable=True)), 1
    return one.step(lanes), 1


def milliseconds(step: Step, steps: int, device: str) -> float:
    """Return the wall time of a step."""
    wait = torch.cuda.synchronize if device.startswith("cuda") else (lambda: None)
    wait()
    started = time.perf_counter()
    for _ in range(steps):
        step()
    wait()
    return (time.perf_counter() - started) / steps * 1e3


def measure(fit: Fit, method: Deep, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each side."""
    shape = given.shape or _shape(fit)
    one, many = (Batch(fit, method, shape, n, given.device, given.most) for n in (1, given.lanes))
    steps: dict[str, tuple[Step, int]] = {}
    first, notes, times = dict[str, float](), dict[str, str](), {name: list[float]() for name in given.sides}
    for name in given.sides:
        if name == "graph" and not given.device.startswith("cuda"):
            notes[name] = "needs CUDA"
            continue
        try:
            started = time.perf_counter()
            steps[name] = side(name, one, many, given.backend)
            milliseconds(steps[name][0], 1, given.device)
            first[name] = time.perf_counter() - started
        except Exception as error:  # noqa: BLE001 - a compiler or a graph may fail in any way, and the others count
            notes[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
            steps.pop(name, None)
    for repeat in range(given.repeats + 1):
        for name, (step, n_lanes) in steps.items():
            took = milliseconds(step, given.steps, given.device) / n_lanes
            times[name] += [took] if repeat else []
    for name in given.sides:
        found = times[name]
        yield {
            "method": fit.method,
            "side": name,
            "lanes": steps[name][1] if name in steps else 1,
            "p": one.sizes[0],
            "u": one.sizes[1],
            "ms": statistics.median(found) if found else None,
            "least": min(found, default=None),
            "most": max(found, default=None),
            "first": first.get(name),
            "n": len(found),
            "note": notes.get(name, ""),
        }


def _shape(fit: Fit) -> tuple[int, ...]:
    from puoc.datasets import DATASETS

    return tuple(DATASETS[fit.sample.dataset].shape)


def main() -> None:
    """Measure each network and write a row for each side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", type=Path, default=ROOT / "profiles" / "paper.yaml")
    parser.add_argument("--methods", nargs="+", help="these methods alone")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=SIDES)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--lanes", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20, help="steps of a repetition")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--most", type=int, help="most rows of P and of U in a batch, for a trial on a processor")
    parser.add_argument("--shape", type=int, nargs="+", help="shape of the images, for the same")
    parser.add_argument("--backend", default="inductor", help="of torch.compile")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.shape = tuple(given.shape) if given.shape else None
    name = torch.cuda.get_device_name() if given.device.startswith("cuda") else "CPU"
    found: list[dict[str, Any]] = []
    for fit, method in cases(given.profile, given.methods):
        for row in measure(fit, method, given):
            found.append({"device": name, "torch": torch.__version__} | row)
            print(found[-1], flush=True)  # noqa: T201 - a script's output
        pd.DataFrame(found).to_parquet(given.out)


if __name__ == "__main__":
    main()
