"""Simulated situations with known truth, to measure the error rate and the power of tests of reliability.

A situation has the data of a user: labelled positives P, unlabelled rows U, and samples V of incoming rows. Each row of
U and V is independently a positive, a known negative or a new negative, so the counts are binomial, as in the setting
of Bagirov et al.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from puoc.records import Array

Kind = Literal["positive", "known", "new"]

KINDS: Final[tuple[Kind, ...]] = ("positive", "known", "new")


class Population(Protocol):
    """Source of rows: positives, negatives that are in U, and negatives that only V may contain."""

    def draw(self, counts: dict[Kind, int], rng: np.random.Generator) -> dict[Kind, Array]:
        """Draw so many rows (n, d) of each kind at once, so that a finite population gives no row twice."""
        ...


class Incoming(NamedTuple):
    """Parameters of a sample V of incoming rows."""

    n: int
    alpha: float  # share of positives behind V
    new: float = 0.0  # share of new negatives among the negatives of V


class Truth(NamedTuple):
    """Parameters of a situation."""

    n_p: int  # labelled positives
    n_u: int
    alpha: float  # share of positives behind U
    incoming: tuple[Incoming, ...] = ()


class Situation(NamedTuple):
    """Rows of a situation with their true kinds."""

    X_p: Array  # (n_p, d)
    X_u: Array  # (n_u, d), in random order
    X_v: list[Array]  # of each incoming sample, (n, d)
    u_kind: NDArray[np.int8]  # (n_u,) places in KINDS
    v_kind: list[NDArray[np.int8]]


def situation(population: Population, truth: Truth, rng: np.random.Generator) -> Situation:
    """Draw a situation.

    Raises
    ------
    ValueError : a share outside of [0, 1], or more rows than a finite population has.
    """
    samples = [(truth.n_u, truth.alpha, 0.0), *truth.incoming]
    kinds = []
    for n, alpha, new in samples:
        if not (0 <= alpha <= 1 and 0 <= new <= 1):
            raise ValueError(f"got alpha {alpha} and new {new}, shares in [0, 1] expected")
        kinds.append(rng.choice(3, n, p=[alpha, (1 - alpha) * (1 - new), (1 - alpha) * new]).astype(np.int8))
    wanted = np.bincount(np.concatenate(kinds), minlength=3)
    counts = dict(zip(KINDS, wanted.tolist(), strict=True))
    counts["positive"] += truth.n_p
    drawn = population.draw(counts, rng)
    X_p, of_kind = drawn["positive"][: truth.n_p], [drawn[kind] for kind in KINDS]
    of_kind[0] = of_kind[0][truth.n_p :]
    dealt, start = [], np.zeros(3, dtype=np.int64)
    for sample in kinds:
        dealt.append(_dealt(of_kind, sample, start))
        start += np.bincount(sample, minlength=3)
    return Situation(X_p, dealt[0], dealt[1:], kinds[0], kinds[1:])


def _dealt(of_kind: list[Array], kinds: NDArray[np.int8], start: NDArray[np.int64]) -> Array:
    """Return the next rows of each kind, at the positions of that kind in ``kinds``."""
    rows = np.empty((len(kinds), *of_kind[0].shape[1:]), dtype=of_kind[0].dtype)
    for number, available in enumerate(of_kind):
        places = np.flatnonzero(kinds == number)
        rows[places] = available[start[number] : start[number] + len(places)]
    return rows


@dataclass(frozen=True)
class Gaussian:
    """Unit normals in d dimensions: positives at 0, known and new negatives at right angles, ``distance`` away."""

    d: int = 5
    distance: float = 2.5

    def draw(self, counts: dict[Kind, int], rng: np.random.Generator) -> dict[Kind, Array]:
        """See ``Population``."""
        centres = {"positive": np.zeros(self.d), "known": np.eye(self.d)[0], "new": np.eye(self.d)[1]}
        return {kind: rng.normal(size=(n, self.d)) + self.distance * centres[kind] for kind, n in counts.items()}


@dataclass(frozen=True)
class Scores:
    """One value for each row, like the score of a classifier, rounded so that many are tied.

    Positives lie about 1, known negatives about -1, new ones about 4: further out on the positives' side.
    """

    decimals: int = 1

    def draw(self, counts: dict[Kind, int], rng: np.random.Generator) -> dict[Kind, Array]:
        """See ``Population``."""
        about = {"positive": (1.0, 1.0), "known": (-1.0, 1.0), "new": (4.0, 0.7)}
        return {kind: np.round(rng.normal(*about[kind], size=(n, 1)), self.decimals) for kind, n in counts.items()}


@dataclass(frozen=True)
class Pool:
    """Rows of a real dataset by kind; a situation has no row twice."""

    positive: Array  # (n, d)
    known: Array
    new: Array

    def draw(self, counts: dict[Kind, int], rng: np.random.Generator) -> dict[Kind, Array]:
        """See ``Population``. Raises ValueError if there are fewer rows."""
        drawn: dict[Kind, Array] = {}
        for kind, n in counts.items():
            available: Array = getattr(self, kind)
            if n > len(available):
                raise ValueError(f"{n} {kind} rows wanted, the pool has {len(available)}")
            drawn[kind] = available[rng.choice(len(available), n, replace=False)]
        return drawn
