"""AUC on the test rows after every epoch of DROCC and PU-DROCC: of the last one, and the best that picking could print.

    python bench/last_epoch.py --pos 0 3 --seeds 3 --out docs/evidence/last_epoch.parquet

Needs a prepared cifar10 (`puoc prepare` in a project that asks for it). Hyperparameters are those of the profile
`paper` for the positive class. Scoring changes nothing of a training: the last epoch's AUC is that of a fit. On one CPU
core count a quarter of an hour for a seed of `drocc` and half of that for one of `pu_drocc`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from ruamel.yaml import YAML
from sklearn.metrics import roc_auc_score

from puoc import scenarios
from puoc.datasets.prepare.arrays import Prepared
from puoc.methods import METHODS
from puoc.methods.training.estimator import Compute, PUSample
from puoc.records import Sample, TestSet

ROOT = Path(__file__).parents[1]
METHOD_NAMES = ("drocc", "pu_drocc")
COUNTS = {"n_pos_lab": 2500, "n_pos_unl": 2500, "n_neg_unl": 2500}

Report = Callable[[PUSample, int, float, Any], None]  # sample, epoch from 1, loss, the method as it is by then


def published(name: str, pos: int) -> dict[str, Any]:
    """Hyperparameters of the profile ``paper`` for a positive class of CIFAR-10."""
    entry = YAML(typ="safe").load(ROOT / "profiles" / "paper.yaml")["methods"][name]
    return dict(entry["params"] | entry.get("by_pos", {}).get("cifar10", {}).get(pos, {}))


def watched(name: str, params: dict[str, Any], report: Report) -> Any:
    """The method, which shows itself after every epoch."""

    class Watched(METHODS[name]):  # type: ignore[misc]
        def _train(self, samples: Sequence[PUSample], gens: Any, lanes: Any, *rest: Any) -> Any:
            self.lanes = lanes
            return super()._train(samples, gens, lanes, *rest)

        def _check_finite(self, losses: list[float], samples: Sequence[PUSample], epoch: int) -> None:
            super()._check_finite(losses, samples, epoch)
            for sample, net, loss in zip(samples, self.lanes.nets(), losses, strict=True):
                one = copy(self)
                one.net_ = net.eval()
                report(sample, epoch + 1, loss, one)
                net.train()

    return Watched(**params)


def study(
    name: str,
    params: dict[str, Any],
    samples: Sequence[PUSample],
    tests: dict[int, tuple[NDArray[Any], NDArray[Any]]],
    compute: Compute,
    keep: Callable[[dict[str, Any]], None],
) -> None:
    """Train a copy for each sample and hand over a row after each of its epochs.

    Parameters
    ----------
    tests : rows and whether they are positive, by the samples' seeds.
    """

    def report(sample: PUSample, epoch: int, loss: float, method: Any) -> None:
        X, y = tests[sample.seed]
        auc = roc_auc_score(y, method.decision_function(X))
        keep({"method": name, "seed": sample.seed, "epoch": epoch, "loss": loss, "auc": auc})

    watched(name, params, report).fit_lanes(samples, compute)


def drawn(data: Prepared, pos: int, seed: int) -> tuple[PUSample, tuple[NDArray[Any], NDArray[Any]]]:
    """A sample of one class against all others, and its test rows."""
    neg = tuple(number for number in range(10) if number != pos)
    sample = Sample(dataset=data.name, data_digest=data.digest, pos=(pos,), neg=neg, **COUNTS)
    rows = scenarios.draw(data, sample, seed)
    test, y = scenarios.test_rows(data, TestSet(pos=(pos,), neg=neg), seed)
    return PUSample(data.take(rows.p), data.take(rows.u), 0.5, seed), (data.take(test), np.asarray(y))


def main() -> None:
    """Train, and write the rows as they come."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepared", type=Path, default=Path("work/prepared/cifar10"))
    parser.add_argument("--methods", nargs="+", default=list(METHOD_NAMES), choices=METHOD_NAMES)
    parser.add_argument("--pos", type=int, nargs="+", default=[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    data, found = Prepared.open(asked.prepared), []
    on = torch.cuda.get_device_name() if asked.device.startswith("cuda") else "CPU"
    for pos in asked.pos:
        given = [drawn(data, pos, seed) for seed in range(asked.seeds)]
        samples, tests = [sample for sample, _ in given], {sample.seed: test for sample, test in given}
        for name in asked.methods:

            def keep(row: dict[str, Any], pos: int = pos) -> None:
                found.append({"pos": pos, **row, "device": on, "torch": torch.__version__})
                pd.DataFrame(found).to_parquet(asked.out)

            study(name, published(name, pos), samples, tests, Compute(device=asked.device), keep)


if __name__ == "__main__":
    main()
