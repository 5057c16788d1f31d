"""How fits are put together into jobs: as lanes of one batch where their lane keys agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import ceil
from typing import Any, Literal, NamedTuple

from puoc.datasets import DATASETS
from puoc.methods.training.estimator import Compute
from puoc.records import Fit
from puoc.run.executors.job import Job
from puoc.store.plans import ComputeSpec


class Batch(NamedTuple):
    """The batch that a fit has to be computed in, whatever the settings are."""

    name: str  # equal for all lanes of the batch
    lane_map: Literal["loop", "vmap"]


class Lanes(NamedTuple):
    """Fits that one job computes, and how."""

    fits: list[Fit]
    compute: Compute


def lanes_of(
    fits: Mapping[str, Fit],
    tests: Mapping[str, Collection[Any]],
    settings: ComputeSpec,
    n_workers: int,
    batches: Mapping[str, Batch],
) -> Iterator[Lanes]:
    """Yield the fits of each job: batches that are fixed as they are, others by the section ``compute``."""
    how = Compute(device=settings.device, lane_map=settings.lane_map)
    groups: dict[tuple[Any, ...], list[Fit]] = defaultdict(list)
    for fit in fits.values():
        groups[batches.get(fit.id) or (fit.lane_key, len(tests[fit.id]), how.lane_map)].append(fit)
    for key, members in groups.items():
        if isinstance(key, Batch):
            yield Lanes(members, Compute(device=how.device, lane_map=key.lane_map))
            continue
        size = min(settings.max_lanes, ceil(len(members) / n_workers))
        if how.lane_map == "loop" or (how.lane_map == "auto" and how.device == "cpu" and _takes_images(members[0])):
            size = 1  # under loop a batch would gain nothing, and a killed one would lose more
        for start in range(0, len(members), size):
            yield Lanes(members[start : start + size], how)


def split(job: Job) -> list[Job]:
    """Return a job for each fit of a job."""
    lanes: Sequence[Any] = list(zip(job.fits, job.tests, job.attempts, strict=True))
    return [job._replace(fits=(fit,), tests=(tests,), attempts=(made,)) for fit, tests, made in lanes]


def _takes_images(fit: Fit) -> bool:
    """Whether its networks are convolutional, for which ``auto`` means loop on a CPU."""
    return fit.encoder is None and DATASETS[fit.sample.dataset].inputs == "image"
