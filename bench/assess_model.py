"""Estimate the model of the leads that `puoc assess` uses, from tables and tasks with known truth.

    python bench/assess_model.py                    # writes src/puoc/analysis/reliability/leads.json

The data are the map side of docs/evidence/assess_tables.parquet and the ten tasks of
docs/evidence/robustness_map.parquet. Each data set has the same weight. Means are ridge regressions; variances are
estimated by maximum likelihood, so that the errors of the measured AUCs are not taken for differences between data
sets.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize

from puoc.analysis.reliability.leads import (
    AlphaGiven,
    Effects,
    Labelling,
    LeadModel,
    Normals,
    Seen,
    covariance,
    logit,
    terms,
)
from puoc.userdata.assess.evidence import Evidence
from puoc.userdata.assess.expected_auc import _gains

Array = NDArray[Any]

EVIDENCE: Final = Path("docs/evidence")
OUT: Final = Path("src/puoc/analysis/reliability/leads.json")
RIDGE: Final = 2.0
BORROWED: Final = 0.2
START: Final = (0.9, 0.9, -2.5, -2.5, 0.3, 0.0)


class Rows(NamedTuple):
    """Numbers of the rows (n,): truth by kind, what U and V show, and weights."""

    alpha: Array
    n_p: Array
    n_u: Array
    lead: dict[str, Array]  # (n, 2) by kind; nan: not measured
    error: dict[str, Array]  # (n, 2, 2)
    gains: Array
    errors: Array
    ends: Array  # (n, 2) of the interval of alpha
    gains_v: Array
    errors_v: Array
    ends_v: Array
    alpha_v: Array
    kind_v: Array  # "", "none" or "new"
    weight: Array


def known(tables: pd.DataFrame, tasks: pd.DataFrame | None) -> pd.DataFrame:
    """Return rows of one form: without V (``V`` is empty) and with each V."""
    return pd.concat([tables, as_tables(tasks)], ignore_index=True) if tasks is not None else tables


def as_tables(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return rows of bench/populations.py in the form of bench/assess_tables.py."""
    keys = ["data", "seed", "n_u", "alpha"]
    found = []
    for _, group in tasks.groupby(keys, sort=False):
        by = {row["shift"]: row for row in group.to_dict("records")}
        truth: dict[str, Any] = {}
        for kind in [one for one in ("none", "new") if one in by]:
            truth |= {f"{family} {kind}": by[kind][family] for family in ("OC", "PU-OC", "PU")}
        one = next(iter(by.values()))
        about = {"data": one["data"], "origin": one["data"], "side": "map", "number": one["seed"], "n_p": one["n_p"]}
        about |= {"n_u": one["n_u"], "alpha": one["alpha"], "mechanism": "scar", "strength": 0.0, "noise": 0.0}
        bare = Evidence.model_validate_json(one["evidence"]).model_copy(update={"incoming": None})
        about["columns"] = bare.columns
        found.append({**about, **truth, "V": "", "alpha_v": one["alpha"], "evidence": json.dumps(bare.canonical())})
        for shift, row in by.items():
            moved = one["alpha"] - 0.2 if one["alpha"] > 0.5 else one["alpha"] + 0.2
            more = {"V": shift, "alpha_v": moved if shift == "prior" else one["alpha"], "evidence": row["evidence"]}
            found.append({**about, **truth, **more})
    return pd.DataFrame(found)


def numbers(rows: pd.DataFrame) -> Rows:
    """Return the numbers of rows."""
    seen = [Evidence.model_validate_json(text) for text in rows["evidence"]]
    gains, errors = zip(*(_gains(one.gained, one.apart) for one in seen), strict=True)
    nothing = (np.full(2, np.nan), np.full((2, 2), np.nan))
    of_v = [nothing if (v := one.incoming) is None else _gains(v.gained, v.apart) for one in seen]
    ends_v = [(np.nan, np.nan) if (v := one.incoming) is None else (v.alpha_low, v.alpha_high) for one in seen]
    lead = {
        kind: np.stack([rows[f"{one} {kind}"] - rows[f"PU-OC {kind}"] for one in ("OC", "PU")], axis=1)
        for kind in ("none", "new")
    }
    share = rows.groupby(["data", "V"])["data"].transform("size").to_numpy()
    return Rows(
        *(rows[name].to_numpy(np.float64) for name in ("alpha", "n_p", "n_u")),
        lead,
        {kind: test_error(rows, kind) for kind in ("none", "new")},
        np.array(gains),
        np.array(errors),
        np.array([(one.alpha.low, one.alpha.high) for one in seen]),
        np.array([one[0] for one in of_v]),
        np.array([one[1] for one in of_v]),
        np.array(ends_v),
        rows["alpha_v"].to_numpy(np.float64),
        rows["V"].replace("prior", "none").to_numpy(),
        1 / share / np.mean(1 / share),
    )


def test_error(rows: pd.DataFrame, kind: str) -> Array:
    """Return the covariance (n, 2, 2) of measured leads; the tasks have none, so it is that of as many test rows."""
    named = [f"error {pair} {kind}" for pair in ("OC PU-OC", "PU PU-OC", "PU OC")]
    if named[0] not in rows:
        rows = rows.assign(**dict.fromkeys(named, np.nan))
    usual = np.sqrt(0.2 / rows["n_p"].to_numpy())
    one, other, apart = (np.where(np.isnan(e := rows[name].to_numpy()), usual, e) for name in named)
    together = (one**2 + other**2 - apart**2) / 2
    return np.stack([np.stack([one**2, together], -1), np.stack([together, other**2], -1)], -1)


def pick(rows: Rows, which: Array) -> Rows:
    """Return a part of the rows."""
    parts = [{kind: a[which] for kind, a in part.items()} if isinstance(part, dict) else part[which] for part in rows]
    return Rows(*parts)


def regression(X: Array, Y: Array, weight: Array, ridge: float = RIDGE) -> Array:
    """Return the coefficients (terms, k) of a weighted ridge regression; the first term is not shrunk."""
    penalty = ridge * np.eye(X.shape[1])
    penalty[0, 0] = 0
    found: Array = np.linalg.solve(X.T @ (weight[:, None] * X) + penalty, X.T @ (weight[:, None] * Y))
    return found


def unlikely(off: Array, spread: Array, weight: Array) -> float:
    """Return minus the weighted log likelihood of normal vectors."""
    spread = spread + 1e-5 * np.eye(2)
    a, b, c = spread[:, 0, 0], spread[:, 0, 1], spread[:, 1, 1]
    det = a * c - b**2
    if (det <= 0).any():
        return 1e12
    form = (c * off[:, 0] ** 2 - 2 * b * off[:, 0] * off[:, 1] + a * off[:, 1] ** 2) / det
    return float(weight @ (np.log(det) + form) / 2)


def _least(loss: Any, start: list[float]) -> Array:
    """Return the minimum of a smooth loss."""
    found: Array = minimize(loss, start, method="Nelder-Mead", options={"maxiter": 800, "maxfev": 800}).x
    return found


def effects(X: Array, alpha: Array, lead: Array, error: Array, weight: Array) -> tuple[Effects, Array]:
    """Estimate means and variances of leads; returns the coefficients of all terms of X besides."""
    B = regression(X, lead, weight)
    off = lead - X @ B

    def loss(t: Array) -> float:
        scale = np.exp(t[:4].reshape(2, 2)[:, 0] + t[:4].reshape(2, 2)[:, 1] * alpha[:, None])
        held = t[1] ** 2 + t[3] ** 2 + t[4] ** 2  # keeps the slopes small where little is known
        return unlikely(off, covariance(scale, np.tanh(t[4])) + error, weight) + held / 2

    t = _least(loss, [-2, 0, -2, 0, 0.5])
    return Effects(B, t[:4].reshape(2, 2), float(np.tanh(t[4]))), B


def weighed(
    before: Normals, gains: Array, errors: Array, lead: Array, error: Array, share: Array, weight: Array
) -> Seen:
    """Estimate what gains say of leads: the parameters under which the leads after the gains are most likely.

    This is not the likelihood of the gains: the gains on U and on V have errors in common, and what counts is how well
    both together predict the leads.
    """

    def parameters(t: Array) -> Seen:
        return Seen(t[:2], np.exp(t[2:4]), float(np.tanh(t[5])), float(np.exp(t[4])), np.exp(t[6:]))

    def loss(t: Array) -> float:
        after = parameters(t).observe(before, gains, errors, share)
        usual, spread = [*START, -3.5, -3.5], [0.3, 0.3, 0.7, 0.7, 0.5, 0.7, 1.0, 1.0]
        held = np.square((t - usual) / spread).sum()  # where there are few rows
        return unlikely(lead - after.mean, after.covariance + error, weight) + held / 2

    return parameters(_least(loss, [*START, -3.5, -3.5]))


def alpha_given(ends: Array, alpha: Array, weight: Array, above: float) -> AlphaGiven:
    """Estimate alpha given its interval."""
    X = np.stack([np.ones(len(ends)), logit(ends[:, 0]), logit(ends[:, 1])], axis=1)
    b = regression(X, logit(alpha)[:, None], weight, 1.0)[:, 0]
    return AlphaGiven(b, float(np.sqrt(np.average((logit(alpha) - X @ b) ** 2, weights=weight))), above)


def estimated(rows: pd.DataFrame) -> dict[Labelling, LeadModel]:
    """Estimate the models from rows with known truth.

    The model of biased labelling learns from the other rows too, with a weight of ``BORROWED``, since a quarter as many
    rows are biased.
    """
    every, biased = numbers(rows), (rows["mechanism"] != "scar").to_numpy()
    of_biased = every._replace(weight=every.weight * np.where(biased, 1.0, BORROWED))
    return {"random": model_of(pick(every, ~biased), 0.05), "biased": model_of(of_biased, 1.0)}


def model_of(every: Rows, above: float) -> LeadModel:
    """Estimate a model; ``above`` as in ``AlphaGiven``."""
    bare = pick(every, every.kind_v == "")
    X = terms(bare.alpha, bare.n_p, bare.n_u)
    none, B = effects(X, bare.alpha, bare.lead["none"], bare.error["none"], bare.weight)
    of_new = pick(bare, ~np.isnan(bare.lead["new"][:, 0]))
    X_new = terms(of_new.alpha, of_new.n_p, of_new.n_u)
    both = np.hstack([X_new, of_new.lead["none"] - X_new @ B])
    new, B_new = effects(both, of_new.alpha, of_new.lead["new"], of_new.error["new"], of_new.weight)
    later = pick(every, every.kind_v != "")
    effect = (none, new._replace(coefficients=B_new[:-2]), B_new[-2:].T)
    of_u = weighed(
        before(bare, none), bare.gains, bare.errors, bare.lead["none"], bare.error["none"], 1 - bare.alpha, bare.weight
    )
    is_new = later.kind_v == "new"
    lead = np.where(is_new[:, None], later.lead["new"], later.lead["none"])
    error = np.where(is_new[:, None, None], later.error["new"], later.error["none"])
    of_v = weighed(
        after_u(later, effect, of_u), later.gains_v, later.errors_v, lead, error, 1 - later.alpha_v, later.weight
    )
    return LeadModel(
        *effect,
        of_u,
        of_v,
        alpha_given(bare.ends, bare.alpha, bare.weight, above),
        alpha_given(later.ends_v, later.alpha_v, later.weight, above),
    )


def before(rows: Rows, none: Effects) -> Normals:
    """Return the leads over the negatives of U before the gains, of situations whose alpha is known."""
    mean = terms(rows.alpha, rows.n_p, rows.n_u) @ none.coefficients
    return Normals(np.zeros(len(mean)), mean, none.spread(rows.alpha))


def after_u(rows: Rows, effect: tuple[Effects, Effects, Array], of_u: Seen) -> Normals:
    """Return the leads over the negatives that V has, after the gains on U."""
    none, new, R = effect
    known = of_u.observe(before(rows, none), rows.gains, rows.errors, 1 - rows.alpha)
    x = terms(rows.alpha, rows.n_p, rows.n_u)
    mean = x @ new.coefficients + (known.mean - x @ none.coefficients) @ R.T
    spread = R @ known.covariance @ R.T + new.spread(rows.alpha)
    is_new = rows.kind_v == "new"
    return Normals(
        known.log_weight,
        np.where(is_new[:, None], mean, known.mean),
        np.where(is_new[:, None, None], spread, known.covariance),
    )


def map_rows() -> pd.DataFrame:
    """Return the rows that the model is learned from."""
    tables = pd.read_parquet(EVIDENCE / "assess_tables.parquet")
    return known(tables[tables["side"] == "map"], pd.read_parquet(EVIDENCE / "robustness_map.parquet"))


def main() -> None:
    """Write the parameters."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    models = {labelling: model.document() for labelling, model in estimated(map_rows()).items()}
    text = json.dumps(models, indent=1)
    OUT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
