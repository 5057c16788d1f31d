"""Group fits into jobs: fits with equal lane keys become lanes of one batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from math import ceil
from typing import Literal, NamedTuple

from puoc.datasets import DATASETS
from puoc.methods.training.estimator import Compute
from puoc.plan.forecast.work import WIDE
from puoc.records import Fit, TestSet
from puoc.run.executors.job import Job
from puoc.store.plans import ComputeSpec


class Batch(NamedTuple):
    """The batch that a fit has to be computed in, whatever the settings are."""

    name: str  # equal for all lanes of the batch
    lane_map: Literal["loop", "vmap"]


class Lanes(NamedTuple):
    """Fits of one job, and how to compute them."""

    fits: list[Fit]
    compute: Compute


def lanes_of(
    fits: Mapping[str, Fit],
    tests: Mapping[str, Collection[TestSet]],
    settings: ComputeSpec,
    n_workers: int,
    batches: Mapping[str, Batch],
) -> Iterator[Lanes]:
    """Yield the fits of each job: batches that are fixed as they are, others by the section ``compute``."""
    how = Compute(device=settings.device, lane_map=settings.lane_map)
    groups: dict[Batch | tuple[str, int, str], list[Fit]] = defaultdict(list)
    for fit in fits.values():
        groups[batches.get(fit.id) or (fit.lane_key, len(tests[fit.id]), how.lane_map)].append(fit)
    for key, members in groups.items():
        if isinstance(key, Batch):
            yield Lanes(members, Compute(device=how.device, lane_map=key.lane_map))
            continue
        size = min(settings.max_lanes, ceil(len(members) / n_workers))
        if how.lane_map == "loop" or (how.lane_map == "auto" and how.device == "cpu" and _is_arithmetic(members[0])):
            size = 1  # a batch gains nothing under loop, and a killed one loses more
        for start in range(0, len(members), size):
            yield Lanes(members[start : start + size], how)


def split(job: Job) -> list[Job]:
    """Return a job for each fit of a job."""
    lanes = zip(job.fits, job.tests, job.attempts, strict=True)
    return [job._replace(fits=(fit,), tests=(tests,), attempts=(attempts,)) for fit, tests, attempts in lanes]


def _is_arithmetic(fit: Fit) -> bool:
    """Check whether arithmetic takes most of the time of a network on a CPU; see docs/benchmarks.md.

    This holds for convolutions, for which ``auto`` means loop, and for wide layers, which take longer in a batch.
    """
    return fit.method in WIDE or (fit.encoder is None and DATASETS[fit.sample.dataset].inputs == "image")
