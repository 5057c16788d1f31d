"""What the network takes of a training step of CSI and PU-CSI, and what their augmentations take.

    OMP_NUM_THREADS=1 python bench/csi_step.py --repeats 5

A step passes eight copies of each image through the network, forward and backward. The script times a whole step, the
same passes of random images without anything else, and the augmentations alone, one after the other in one process of
one thread. Batches, images and hyperparameters are those of profiles/paper.yaml. It prints shares of the processor
time of a step: median, least and most. The network of its own has no loss, so its share is a little too small.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from costs import fits_of, rows_of, sizes_of, small

from puoc import methods
from puoc.methods.csi import COPIES, Contrastive, views
from puoc.methods.training.lanes import OneLane, by_pixel
from puoc.plan.forecast.work import work_of
from puoc.plan.params import read_params
from puoc.records import Fit

ROOT = Path(__file__).parents[1]
Step = Callable[[], object]


def steps_of(fit: Fit) -> tuple[Step, Step, Step]:
    """Return functions of a whole step, of the network's passes in it, and of its augmentations."""
    method = methods.make(fit.method, small(fit, 1).params)
    assert isinstance(method, Contrastive)
    n_p, n_u = sizes_of(fit)
    b_p, b_u = method.sizes(n_p, 0 if method.one_class else n_u)[0]
    x_p, x_u = (torch.from_numpy(rows_of(fit, n, seed))[None] for seed, n in enumerate((b_p, b_u)))
    net, gen = method.build(tuple(x_p.shape[2:])), torch.Generator().manual_seed(0)
    lane, optimizer = OneLane(net), method.optimizer(list(net.parameters()))
    copies, alpha = by_pixel(torch.rand(COPIES * (b_p + b_u), *x_p.shape[2:])), torch.tensor([0.5])

    def whole() -> None:
        noise = {name: value[None] for name, value in method.draws(x_p[0], x_u[0], gen).items()}
        optimizer.zero_grad(set_to_none=True)
        losses = lane.map(lambda *given: method.loss(*given, epoch=0), x_p, x_u, alpha, noise)
        losses.sum().backward()  # type: ignore[no-untyped-call]  # torch does not annotate it
        optimizer.step()

    def network() -> None:
        optimizer.zero_grad(set_to_none=True)
        net(copies).sum().backward()

    def augmentations() -> None:
        views(torch.cat([x_p[0], x_u[0]]).clamp(0, 1), method.draws(x_p[0], x_u[0], gen))

    return whole, network, augmentations


def seconds(step: Step) -> float:
    """Return the processor time of a step."""
    started = time.process_time()
    step()
    return time.process_time() - started


def main() -> None:
    """Measure one fit of each of the two methods on images."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    fits = {
        work_of(fit).key: fit
        for fit in fits_of(read_params(ROOT / "profiles" / "paper.yaml", ROOT))
        if fit.method in ("csi", "pu_csi") and work_of(fit).inputs == "image"
    }
    for fit in fits.values():
        steps = steps_of(fit)
        for step in steps:
            step()  # warms up
        times = np.array([[seconds(step) for step in steps] for _ in range(repeats)])
        shares = times[:, 1:] / times[:, :1]
        found = [f"{np.median(s):.2f} ({s.min():.2f} to {s.max():.2f})" for s in shares.T]
        print(f"{fit.method}: network {found[0]}, augmentations {found[1]}, n = {repeats}")  # noqa: T201 - its output


if __name__ == "__main__":
    main()
