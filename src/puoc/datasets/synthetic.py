"""Gaussian blobs and shells in the plane, for the paper's two figures on synthetic data (synth1, synth2).

The paper prints the AUCs of its figures, but not the parameters of the distributions. The parameters here were chosen
so that the AUCs lie in the paper's ranges. The points are drawn from a fixed seed, so there is nothing to download.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs, RawFile
from puoc.registry import dataset

_GRID = 65535  # coordinates are stored as integers: equal on machines that round differently


class Cloud(NamedTuple):
    """``n`` points around a centre. Their distance is normal with mean ``radius``; a radius of 0 gives a blob."""

    n: int
    centre: tuple[float, float]
    spread: float  # standard deviation of each coordinate of a blob, or of a shell's radius
    radius: float = 0.0

    def draw(self, random: np.random.Generator) -> NDArray[np.float64]:
        """Draw points (n, 2)."""
        noise = self.spread * random.standard_normal((self.n, 2))
        if self.radius:
            angle = random.uniform(0, 2 * np.pi, self.n)
            noise = (self.radius + noise[:, :1]) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return np.asarray(self.centre) + noise


def _arrays(seed: int, clouds: Sequence[Cloud]) -> Arrays:
    """Draw one class per cloud; points outside the unit square are moved to its border."""
    random = np.random.default_rng(seed)
    points = np.concatenate([cloud.draw(random) for cloud in clouds]).clip(0, 1)
    y = np.repeat(np.arange(len(clouds)), [cloud.n for cloud in clouds])
    return Arrays(np.rint(points * _GRID).astype(np.uint16), y.astype(np.int64))


class _Drawn(Dataset):
    """Base of both datasets: points in the unit square, drawn instead of read."""

    inputs: ClassVar[Inputs] = "vector"
    shape = (2,)
    scale = float(_GRID)
    files: ClassVar[tuple[RawFile, ...]] = ()
    licence = "None needed: drawn by puoc from a fixed seed."
    citation = (
        "Our own parameters, for figures of: F. Bagirov, D. Ivanov, A. Shpilman: Improving State-of-the-Art in "
        "One-Class Classification by Leveraging Unlabeled Data."
    )
    seed: ClassVar[int]
    clouds: ClassVar[Sequence[Cloud]]

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Draw the points; ``folder`` is ignored."""
        return _arrays(cls.seed, cls.clouds)


@dataset("synth1")
class Synth1(_Drawn):
    """A blob of positives and two blobs of negatives: one for U, and one that replaces it in the test set (a shift).

    Both blobs of negatives lie nearer to the origin than the positives, as a linear OC-SVM expects, but on two sides of
    them. A line learned from one blob has the other blob on its positive side.
    """

    classes = ("positive", "negative", "shifted negative")
    counts: ClassVar = {"all": (3000, 1500, 1500)}
    digest = "68ec2be2aeb2827a9a96a81c48455979"
    seed = 1
    clouds = (
        Cloud(3000, (0.6, 0.6), 0.06),
        Cloud(1500, (0.44, 0.59), 0.06),
        Cloud(1500, (0.75, 0.29), 0.06),
    )


@dataset("synth2")
class Synth2(_Drawn):
    """Four blobs of positives, negatives in the middle of them, and a shell of other negatives around all.

    A single envelope around all positives scores the middle highest. The shell is used for a shift, which this figure
    of the paper does not have.
    """

    classes = ("positive 1", "positive 2", "positive 3", "positive 4", "negative", "shell of negatives")
    counts: ClassVar = {"all": (750, 750, 750, 750, 1500, 1500)}
    digest = "70ef498cf611c6cb803c1a7c91e1e110"
    seed = 2
    clouds = (
        Cloud(750, (0.3, 0.3), 0.09),
        Cloud(750, (0.3, 0.7), 0.09),
        Cloud(750, (0.7, 0.3), 0.09),
        Cloud(750, (0.7, 0.7), 0.09),
        Cloud(1500, (0.5, 0.5), 0.1),
        Cloud(1500, (0.5, 0.5), 0.02, radius=0.46),
    )
