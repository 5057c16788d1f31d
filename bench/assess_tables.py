"""Small problems with known truth, drawn from tables of KEEL: what the map of `puoc assess` is learned and judged on.

    python bench/assess_tables.py --data FOLDER --parts PARTS --draws 16      # computes what is missing, a file a draw
    python bench/assess_tables.py --parts PARTS --merge docs/evidence/assess_tables.parquet

A draw has P, U, incoming rows V of three kinds (negatives as in U, another alpha, new negatives), and test rows. Half
of the draws label at random; the others by one of four biased mechanisms at one of three strengths. A third each has 0,
5 and 20 % negatives in P. Tables of one origin are on one side of the split in ``SIDES``. FOLDER has the tables as
`puoc fetch` lays them out. The method of each family is fitted to all rows and scored on the test rows, and is fitted
to each half and scored on the other, as `puoc assess` does; so is a logistic regression of P against U.
"""

from __future__ import annotations

import argparse
import csv
import json
import pickle
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from puoc import methods
from puoc.analysis.reliability.gain import gain, placements
from puoc.analysis.statistics.auc import auc
from puoc.datasets.keel import read_table
from puoc.methods.training.principal_components import Seen
from puoc.scenarios.drawing.draws import stream
from puoc.scenarios.drawing.propensity import log_odds_of
from puoc.userdata.assess.cross_scores import CrossFitScores, Half, _sides
from puoc.userdata.assess.evidence import Evidence, _incoming, evidence_of
from puoc.userdata.assess.input_rows import Checked, checked
from puoc.userdata.assess.reference_methods import FAMILIES, Family, question, values_seen

Array = NDArray[Any]

KEEL: Final = Path(__file__).parents[1] / "src" / "puoc" / "datasets" / "keel.csv"
ALPHAS: Final = (0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 1.0)
LABELLED: Final = (30, 60, 120, 240)
SIZES: Final = (60, 150, 400, 1000)
NOISE: Final = (0.0, 0.05, 0.2)
MECHANISMS: Final = {
    "clear_first": (1.0, 3.0, 10.0),
    "ambiguous_first": (1.0, 3.0, 10.0),
    "linear": (0.5, 0.8, 0.95),
    "by_mode": (0.5, 0.8, 1.0),
}
COMING: Final = ("none", "prior", "new")
MOST_TEST: Final = 300
MOST_V: Final = 200
FEWEST: Final = 15  # rows of a class in a test, and of V
FEWEST_IN_TWO: Final = 100  # negatives of a table whose negatives are divided into known and new ones

#: Tables of these stems share rows or classes, so they are on one side of the split.
STEMS: Final = ("vehicle", "segment", "vowel", "yeast", "shuttle", "kr_vs_k", "winequality", "car", "glass", "ecoli")


class Candidate(NamedTuple):
    """A method of a family on a number of components."""

    method: str
    params: dict[str, Any]
    components: int


class Problem(NamedTuple):
    """The rows of a draw."""

    about: dict[str, Any]
    X_p: Array
    X_u: Array
    X_v: dict[str, Array]
    test: dict[str, Array]  # positive, none, new


def stem(name: str) -> str:
    """Return the origin of a table."""
    return next((one for one in STEMS if name.startswith(one)), re.sub(r"\d+$", "", name))


def sides(names: Sequence[str]) -> dict[str, str]:
    """Return ``map`` or ``judge`` by table: of five origins in alphabetical order, the first and third are judged."""
    origins = sorted({stem(name) for name in names})
    return {name: "judge" if origins.index(stem(name)) % 5 in (0, 2) else "map" for name in names}


def known_tables() -> dict[str, dict[str, str]]:
    """Return the lines of keel.csv by the name of the table."""
    with KEEL.open(encoding="utf-8", newline="") as file:
        return {line["name"].replace("-", "_").lower(): line for line in csv.DictReader(file)}


def tables(folder: Path) -> Iterator[tuple[str, Array, Array]]:
    """Yield name, rows and classes of each table of the folder, by name."""
    lines = known_tables()
    for path in sorted(folder.glob("keel_*")):
        name = path.name.removeprefix("keel_")
        line = lines[name]
        found = read_table(next(path.rglob("*.dat")), tuple(line["classes"].split(";")))
        yield name, found.X.astype(np.float64), found.y


SIDES: Final = sides(list(known_tables()))


def candidates(about: dict[str, Any]) -> dict[str, Candidate]:
    """Return the method of each family, as the assessment uses it."""
    values = values_seen(about["columns"], about["n_p"] + about["n_u"])
    return {family: Candidate(*question(family, values), values) for family in FAMILIES}


def fitted(one: Candidate, X_p: Array, X_u: Array, seed: int) -> Any:
    """Return a function that scores rows."""
    seen = Seen.by(X_p, X_u, one.components)
    model = methods.make(one.method, one.params).fit(seen(X_p), seen(X_u), seed=seed)
    return lambda X: np.asarray(model.decision_function(seen(X)), np.float64)


def logistic(X_p: Array, X_u: Array) -> Any:
    """Return the rival: a logistic regression of P against U with a ridge, on all columns."""
    return lambda X: np.asarray(log_odds_of(X_p, X_u, X))


def halves(X: Array, rng: np.random.Generator) -> Array:
    """Return a mask (n,) of one of two clusters of rows (2-means), the larger one."""
    Z = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    centre = Z[rng.choice(len(Z), 2, replace=False)]
    for _ in range(20):
        near = np.square(Z[:, None] - centre).sum(axis=2).argmin(axis=1)
        centre = np.stack([Z[near == k].mean(axis=0) if (near == k).any() else centre[k] for k in (0, 1)])
    mask: Array = near == np.bincount(near, minlength=2).argmax()
    return mask


def kinds(X: Array, y: Array, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return positives (the most frequent class), known and new negatives (half of the classes, or clusters)."""
    counts = np.bincount(y)
    pos = int(counts.argmax())
    others = rng.permutation([one for one in np.unique(y) if one != pos])
    of_neg = X[y != pos]
    if len(of_neg) < FEWEST_IN_TWO:
        known = np.ones(len(of_neg), dtype=np.bool_)
    elif len(others) > 1:
        known = np.isin(y[y != pos], others[: (len(others) + 1) // 2])
        if min(known.sum(), (~known).sum()) < 3 * FEWEST:
            known = halves(of_neg, rng)
    else:
        known = halves(of_neg, rng)
    positive, known_rows, new = X[y == pos], of_neg[known], of_neg[~known]
    return tuple(rows[rng.permutation(len(rows))] for rows in (positive, known_rows, new))  # type: ignore[return-value]


def log_propensity(mechanism: str, strength: float, X: Array, rest: tuple[Array, Array], rng: Any) -> Array:
    """Return log e(x) of positives (n, d); the model of the labels is fitted on other rows."""
    if mechanism == "by_mode":
        rare = ~halves(X, rng)
        with np.errstate(divide="ignore"):
            return np.where(rare, np.log(1 - strength), 0.0)
    if mechanism == "linear":
        spread = np.ptp(X, axis=0)
        column = rng.choice(np.flatnonzero(spread > 0))
        z = (X[:, column] - X[:, column].min()) / spread[column]
        return np.asarray(np.log(1 - strength + strength * z))
    log_p = -np.logaddexp(0.0, -log_odds_of(*rest, X))
    return np.asarray(strength * (log_p if mechanism == "clear_first" else np.log(1.5 - np.exp(log_p))))


def problem(name: str, X: Array, y: Array, number: int) -> Problem | None:
    """Return a draw; None if the table has too few rows for it."""
    rng = stream("assess tables", name, number)
    pos, known, new = kinds(X, y, rng)
    alpha, n_p, n_u = (rng.choice(values) for values in (ALPHAS, LABELLED, SIZES))
    biased = bool(rng.random() < 0.5)
    mechanism = str(rng.choice(list(MECHANISMS))) if biased else "scar"
    strength = float(rng.choice(MECHANISMS[mechanism])) if biased else 0.0
    noise = float(rng.choice(NOISE))
    parts = np.cumsum([0.18, 0.22])
    v_pos, t_pos, pos = np.split(pos, (parts * len(pos)).astype(int))
    v_known, t_known, known = np.split(known, (parts * len(known)).astype(int))
    v_new, t_new = np.split(new, [int(0.45 * len(new))])
    n_p = int(min(n_p, len(pos) // (4 if biased else 3)))
    room_pos, room_neg = len(pos) - n_p * (2 if biased else 1), len(known) - int(np.ceil(noise * n_p))
    n_u = int(min(n_u, room_pos / alpha, room_neg / max(1 - alpha, 1e-9)))
    u_pos = round(alpha * n_u)
    if n_p < 24 or n_u < 50 or min(len(t_pos), len(t_known)) < FEWEST:
        return None
    X_u, left = np.concatenate([pos[:u_pos], known[: n_u - u_pos]]), pos[u_pos:]
    wrong = known[n_u - u_pos :][: int(rng.binomial(n_p, noise))]
    weights = log_propensity(mechanism, strength, left, (t_pos, t_known), rng) if biased else np.zeros(len(left))
    able = np.flatnonzero(np.isfinite(weights))
    times = np.log(-np.log1p(-rng.random(len(able)))) - weights[able]
    chosen = able[np.argsort(times)][: n_p - len(wrong)]
    X_p = np.concatenate([left[chosen], wrong])
    moved = alpha - 0.2 if alpha > 0.5 else alpha + 0.2
    X_v = {}
    for kind, share, negatives in (
        ("none", alpha, v_known),
        ("prior", moved, v_known),
        ("new", alpha, v_new),
    ):
        n_v = int(min(MOST_V, len(v_pos) / share, len(negatives) / max(1 - share, 1e-9)))
        if n_v >= FEWEST and (share == 1 or len(negatives)) and (kind != "new" or len(t_new) >= FEWEST):
            n_pos = round(share * n_v)
            rows = np.concatenate([v_pos[:n_pos], negatives[: n_v - n_pos]])
            X_v[kind] = rows[rng.permutation(len(rows))]
    about = {"data": name, "origin": stem(name), "number": number, "n_p": len(X_p), "n_u": n_u, "columns": X.shape[1]}
    about |= {"alpha": float(u_pos / n_u), "mechanism": mechanism, "strength": strength, "noise": noise}
    test = {"positive": t_pos[:MOST_TEST], "none": t_known[:MOST_TEST]}
    test |= {"new": t_new[:MOST_TEST]} if len(t_new) >= FEWEST else {}
    return Problem(about, X_p[rng.permutation(len(X_p))], X_u[rng.permutation(n_u)], X_v, test)


def scored(one: Problem, seed: int) -> dict[str, Any]:
    """Return scores by candidate: of the test rows by fits to all rows, and of each half by fits to the other."""
    rows = checked(one.X_p, one.X_u, None, seed)
    about = {**one.about, "n_p": len(rows.X_p), "n_u": len(rows.X_u), "notes": len(rows.notes)}
    found: dict[str, Any] = {"about": about, "test": {}, "halves": []}
    tried = candidates(about)
    for name, candidate in tried.items():
        by = fitted(candidate, rows.X_p, rows.X_u, seed)
        found["test"][name] = {kind: by(X).astype(np.float32) for kind, X in one.test.items()}
    by = logistic(rows.X_p, rows.X_u)
    found["test"]["logistic"] = {kind: by(X).astype(np.float32) for kind, X in one.test.items()}
    for number, side in enumerate(_sides(rows, seed)):
        part: dict[str, Any] = {"place_p": rows.place_p[~side.fit_p]}
        learn, other = (rows.X_p[side.fit_p], rows.X_u[side.fit_u]), (rows.X_p[~side.fit_p], rows.X_u[~side.fit_u])
        for name in [*tried, "logistic"]:
            by = logistic(*learn) if name == "logistic" else fitted(tried[name], *learn, seed + number)
            sample = {"p": other[0], "u": other[1], **one.X_v}
            part[name] = {kind: by(X).astype(np.float32) for kind, X in sample.items()}
        found["halves"].append(part)
    return found


def chosen(names: list[str], about: dict[str, Any]) -> dict[Family, str]:
    """Return the candidate of each family that the assessment uses."""
    if "PU" in names:
        return {family: family for family in FAMILIES}
    wide = "PU all" in names and values_seen(about["columns"], about["n_p"] + about["n_u"]) == about["columns"]
    return {family: f"{family} {'all' if wide else '20'}" for family in FAMILIES}


def rows_of(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row without V, then one for each V: AUCs on the test rows, their errors, and the evidence."""
    about, test = found["about"], found["test"]
    names = chosen(list(test), about)
    truth: dict[str, Any] = {}
    for kind in [one for one in ("none", "new") if one in test["logistic"]]:
        pairs = {family: (test[name]["positive"], test[name][kind]) for family, name in names.items()}
        for family, pair in pairs.items():
            truth[f"{family} {kind}"] = auc(*pair, family)
        for one, base in (("OC", "PU-OC"), ("PU", "PU-OC"), ("PU", "OC")):
            truth[f"error {one} {base} {kind}"] = gain([(pairs[base], pairs[one])]).error
        truth[f"logistic {kind}"] = auc(test["logistic"]["positive"], test["logistic"][kind], "logistic")
    rows = Checked(np.empty((about["n_p"], 0)), np.empty((about["n_u"], 0)), None, *[np.empty(0, int)] * 3, 0, ())
    rows = rows._replace(columns=about["columns"])
    seen: Evidence | None = None
    for coming in (None, *[one for one in COMING if one in found["halves"][0]["logistic"]]):
        scores = [
            Half(
                *({f: part[name][k].astype(float) for f, name in names.items()} for k in ("p", "u")),
                {},
                part["place_p"],
            )
            for part in found["halves"]
        ]
        rivals = {"logistic u": [placements(h["logistic"]["p"], h["logistic"]["u"])[0].mean() for h in found["halves"]]}
        if coming is not None:
            of_v = [{f: part[name][coming].astype(float) for f, name in names.items()} for part in found["halves"]]
            scores = [half._replace(v=v) for half, v in zip(scores, of_v, strict=True)]
            rivals["logistic v"] = [
                placements(h["logistic"]["p"], h["logistic"][coming])[0].mean() for h in found["halves"]
            ]
        V = None if coming is None else np.empty((len(scores[0].v["OC"]), 0))
        seen = evidence_again(rows._replace(X_v=V), CrossFitScores(scores), seen)
        moved = about["alpha"] - 0.2 if about["alpha"] > 0.5 else about["alpha"] + 0.2
        more = {
            "side": SIDES[about["data"]],
            "V": coming or "",
            "alpha_v": moved if coming == "prior" else about["alpha"],
        }
        means = {name: float(np.mean(values)) for name, values in rivals.items()}
        yield {**about, **more, **truth, **means, "evidence": json.dumps(seen.canonical())}


def evidence_again(rows: Checked, scores: CrossFitScores, seen: Evidence | None) -> Evidence:
    """Return the evidence; what no V changes is taken from the evidence without V."""
    if seen is None:
        return evidence_of(rows, scores)
    return seen.model_copy(update={"incoming": _incoming(scores, rows)})


def merged(parts: Path) -> pd.DataFrame:
    """Return the rows of all draws."""
    rows: list[dict[str, Any]] = []
    for path in sorted(parts.glob("*.pickle")):
        found = pickle.loads(path.read_bytes())
        rows += [] if found is None else rows_of(found)
    return pd.DataFrame(rows)


def main() -> None:
    """Compute the draws that are missing, or put them together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--parts", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0, help="number of the first draw of each table (default: 0)")
    parser.add_argument("--draws", type=int, default=16, help="number after the last draw of each table (default: 16)")
    parser.add_argument("--merge", type=Path, metavar="PARQUET")
    asked = parser.parse_args()
    if asked.merge:
        merged(asked.parts).to_parquet(asked.merge)
        return
    asked.parts.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    loaded = list(tables(asked.data))
    for number in range(asked.first, asked.draws):
        for name, X, y in loaded:
            path = asked.parts / f"{name}-{number}.pickle"
            if path.exists():
                continue
            drawn = problem(name, X, y, number)
            try:
                found = None if drawn is None else scored(drawn, number)
            except ValueError:  # too few different rows for two halves
                found = None
            path.with_suffix(".tmp").write_bytes(pickle.dumps(found))
            path.with_suffix(".tmp").rename(path)


if __name__ == "__main__":
    main()
