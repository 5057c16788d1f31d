"""Compute features of frozen encoders before the fits that use them: each dataset once, in parts, by all workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from filelock import FileLock

from puoc.datasets.prepare.arrays import Prepared
from puoc.records import Encoding, Fit
from puoc.run.executors import frozen_features as features
from puoc.run.executors.local import LocalExecutor, WorkerDied


def encode(work: Path, fits: Iterable[Fit], n_workers: int, on_part: Callable[[int, int, str], None]) -> None:
    """Compute what is missing below ``work/features``.

    Parameters
    ----------
    on_part : called with the number of parts, how many of them are done, and what they are part of.

    Raises
    ------
    ValueError : the weights of an encoder are not available, or its worker dies twice.
    OSError : the features cannot be written.
    """
    needed: dict[str, tuple[str, Encoding]] = {}
    for fit in fits:
        encoding = fit.frozen_encoder()
        if encoding is not None:
            needed[features.key(fit.sample.data_digest, encoding)] = fit.sample.dataset, encoding
    for key, (dataset, encoding) in needed.items():
        (work / "locks").mkdir(parents=True, exist_ok=True)
        with FileLock(work / "locks" / f"features-{key}.lock"):
            _encode(work.resolve(), dataset, encoding, n_workers, on_part)


def _encode(
    work: Path, dataset: str, encoding: Encoding, n_workers: int, on_part: Callable[[int, int, str], None]
) -> None:
    name, folder, prepared = f"features of {dataset}", work / "features", work / "prepared" / dataset
    data = Prepared.open(prepared)
    if features.read(folder, data.digest, encoding) is not None:
        return
    for _ in range(2):  # the part of a worker that dies is tried once more
        parts, deaths = features.missing(folder, prepared, data, encoding), list[WorkerDied]()
        with LocalExecutor(n_workers, features.compute) as executor:
            for done, (_, outcome) in enumerate(executor.run(parts), start=1):
                deaths += [outcome] if isinstance(outcome, WorkerDied) else []
                on_part(len(parts), done, name)
        if not deaths:
            features.assemble(folder, data, encoding)
            return
    raise ValueError(f"{name} through {encoding.name}: {deaths[0]}; its part was tried twice")
