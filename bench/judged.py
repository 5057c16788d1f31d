"""`puoc assess` judged: the regret of its answers on data, seeds and shift classes that the map was not learned on.

    python bench/judged.py --parts PARTS                    # computes what is missing
    python bench/judged.py --parts PARTS --merge --out docs/evidence/judged.parquet

A cell is a situation with known truth: alpha x |U| x what comes in (`none`: as U; `prior`: alpha moved by .2; `new`:
new negatives). The advice is followed, with *cannot tell* as PU-OC. Each family's method, fitted to all of P and U, is
scored on withheld positives against the negatives that come in.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from robustness_map import by_class

from puoc.analysis.reliability_map import ALPHAS, SIZES
from puoc.assess import decide
from puoc.assess_input import checked
from puoc.crossed import Crossed, crossed
from puoc.draws import stream
from puoc.evidence import Evidence, evidence_of
from puoc.families import FAMILIES, fit
from puoc.scoring import auc
from puoc.simulate import Incoming, Kind, Population, Truth, situation

Array = NDArray[Any]

SEEDS = (100, 101)
SHIFTS = ("none", "prior", "new")


@dataclass(frozen=True)
class Shells:
    """Spheres in six dimensions: positives at radius 3, known negatives at 1.2 or 5, new ones at 6.5 off centre."""

    d: int = 6

    def draw(self, counts: dict[Kind, int], rng: np.random.Generator) -> dict[Kind, Array]:
        """See ``puoc.simulate.Population``."""
        found = {}
        for kind, n in counts.items():
            directions = rng.normal(size=(n, self.d))
            directions /= np.linalg.norm(directions, axis=1, keepdims=True)
            radius = {"positive": np.full(n, 3.0), "known": rng.choice([1.2, 5.0], n), "new": np.full(n, 6.5)}[kind]
            rows = directions * radius[:, None] + rng.normal(0, 0.5, (n, self.d))
            found[kind] = rows + (2.0 if kind == "new" else 0.0)
        return found


def judged_on() -> dict[str, tuple[Population, int]]:
    """Data that the map has not seen, with the number of labelled positives and of test rows of each kind."""
    mirror = Path(os.environ["PUOC_MIRROR"])
    pens = np.concatenate([np.loadtxt(mirror / f"pendigits.{part}", delimiter=",") for part in ("tra", "tes")])
    tweets = pd.read_csv(mirror / "cresci2017_tweet_features.csv")
    kinds = [*sorted(set(tweets["group"]))]
    y = tweets["group"].map(kinds.index).to_numpy()
    bots = {name: kinds.index(name) for name in kinds}
    T = np.log1p(np.abs(tweets.drop(columns=["group", "account_id"]).to_numpy()))
    known, new = (bots["social_spambots_1"], bots["social_spambots_2"]), ("social_spambots_3", "traditional_spambots_1")
    of_pens = by_class(pens[:, :16], pens[:, 16], (0, 2, 3, 5, 6, 8), (1, 7), (4, 9))
    of_tweets = by_class(T, y, (bots["genuine_accounts"],), known, tuple(bots[name] for name in new))
    return {
        "shells": (Shells(), 300),
        "pendigits 0 2 3 5 6 8 / 1 7 / 4 9": (of_pens, 300),
        "twitter genuine / bots 1 2 / bots 3 and traditional": (of_tweets, 200),
    }


def cells(name: str, population: Population, n_p: int, seed: int, n_u: int, alpha: float) -> list[dict[str, Any]]:
    """Rows of one P and U, one for each shift; none where the population has not enough rows."""
    moved = alpha - 0.2 if alpha > 0.5 else alpha + 0.2
    arriving = (Incoming(n_p, alpha), Incoming(n_p, moved), Incoming(n_p, alpha, 1.0))
    tests = (Incoming(n_p, 1.0), Incoming(n_p, 0.0, 0.0), Incoming(n_p, 0.0, 1.0))
    truth, key = Truth(n_p, n_u, alpha, (*arriving, *tests)), ("judged", name, seed, n_u, alpha)
    try:
        drawn = situation(population, truth, stream(*key))
    except ValueError:
        return []
    fitted = fit(drawn.X_p, drawn.X_u, seed)
    positive, known, new = (fitted.scores(X) for X in drawn.X_v[3:])
    # the halves are fitted once for all that comes in: no model sees it
    of = checked(drawn.X_p, drawn.X_u, None, seed)._replace(X_v=np.concatenate(drawn.X_v[:3]))
    halves, rows = crossed(of, seed).halves, []
    for number, shift in enumerate(SHIFTS):
        own = slice(number * n_p, (number + 1) * n_p)
        scored = Crossed([half._replace(v={family: f[own] for family, f in half.v.items()}) for half in halves])
        evidence = evidence_of(of._replace(X_v=drawn.X_v[number]), scored)
        negative = new if shift == "new" else known
        about = {"data": name, "seed": seed, "n_p": n_p, "n_u": n_u, "alpha": alpha, "shift": shift}
        aucs = {family: auc(positive[family], negative[family], name) for family in FAMILIES}
        rows.append(about | aucs | {"evidence": json.dumps(evidence.canonical())})
    return rows


def answered(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with what the packaged map makes of their evidence."""
    found = [decide(Evidence.model_validate_json(text)) for text in rows["evidence"]]
    advice = np.array([one.advice for one in found])
    worth = rows[list(FAMILIES)].to_numpy()
    chosen = worth[np.arange(len(rows)), [FAMILIES.index(one) for one in advice]]
    return rows.assign(
        answer=[one.answer for one in found], advice=advice, auc=chosen, regret=worth.max(axis=1) - chosen
    )


def main() -> None:
    """Compute the parts that are missing, or put them together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=Path, required=True)
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    asked.parts.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    if asked.merge:
        parts = [pd.read_parquet(path) for path in sorted(asked.parts.glob("*.parquet"))]
        answered(pd.concat(parts, ignore_index=True)).to_parquet(asked.out)
        return
    for seed, n_u, alpha, (at, (name, (population, n_p))) in itertools.product(
        SEEDS, SIZES, ALPHAS, enumerate(judged_on().items())
    ):
        path = asked.parts / f"{at}-{seed}-{n_u}-{alpha}.parquet"
        if not path.exists():
            pd.DataFrame(cells(name, population, n_p, seed, n_u, alpha)).to_parquet(path.with_suffix(".tmp"))
            path.with_suffix(".tmp").rename(path)


if __name__ == "__main__":
    main()
