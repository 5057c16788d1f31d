"""How narrow intervals of alpha can be: the guaranteed end for a perfect scorer, and what tables with known alpha show.

    python bench/alpha_width.py     # prints both tables of docs/reliability.md#how-narrow-an-interval-of-alpha-can-be

The first table has scorers that rank all positives above all negatives, so nothing but the numbers of rows and the
price of two halves and two scorers widens the interval. The second has the draws of bench/assess_tables.py whose P is a
random sample. Its estimated intervals leave out the origin of each table; *by gap* is one whose spread grows with the
distance of the guaranteed and the assumed end.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from assess_model import as_tables, regression
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import beta

from puoc.analysis.reliability.alpha import share_of_negatives
from puoc.analysis.reliability.leads import logit
from puoc.userdata.assess.evidence import LEVEL, Evidence

Array = NDArray[Any]

EVIDENCE: Final = Path(__file__).parents[1] / "docs" / "evidence"
DRAWS: Final = 40
N_U: Final = 1000
_NEAR_ONE: Final = 0.9  # as in puoc.analysis.reliability.leads


def perfect(n_p: int, rng: Any) -> dict[str, float]:
    """Return mean ends of intervals at alpha .5 by perfect scorers."""

    def drawn(n: int, m: int) -> tuple[Array, Array]:
        return rng.random(n), np.concatenate([rng.random(m // 2), -1 - rng.random(m - m // 2)])

    halves = [share_of_negatives([drawn(n_p // 2, N_U // 2) for _ in range(2)], (1 + LEVEL) / 2) for _ in range(DRAWS)]
    whole = [share_of_negatives([drawn(n_p, N_U)], LEVEL) for _ in range(DRAWS)]
    return {
        "labelled": n_p,
        "guaranteed, as puoc": float(np.mean([1 - one.low for one in halves])),
        "one scorer, all rows": float(np.mean([1 - one.low for one in whole])),
        "binomial bound": float(beta.ppf((1 + LEVEL) / 2, N_U // 2 + 1, N_U // 2)),
        "assumed, as puoc": float(np.mean([1 - one.high for one in halves])),
    }


def known() -> pd.DataFrame:
    """Return the draws and tasks with P at random: truth, and the ends of their intervals."""
    tables = pd.concat([pd.read_parquet(EVIDENCE / f"assess_{name}.parquet") for name in ("tables", "fresh")])
    rows = pd.concat([tables, as_tables(pd.read_parquet(EVIDENCE / "robustness_map.parquet"))], ignore_index=True)
    rows = rows[(rows["V"] == "") & (rows["mechanism"] == "scar")].reset_index(drop=True)
    alphas = [Evidence.model_validate_json(text).alpha for text in rows["evidence"]]
    return rows.assign(low=[one.low for one in alphas], high=[one.high for one in alphas])


def estimated(rows: pd.DataFrame, by_gap: bool) -> tuple[Array, Array]:
    """Return the ends of 95 % intervals; those of the tables learned from are of models without their origin."""
    ends = logit(rows[["low", "high"]].to_numpy())
    X = np.column_stack([np.ones(len(rows)), ends])
    S = X[:, :1] if not by_gap else np.column_stack([np.ones(len(rows)), ends[:, 1] - ends[:, 0]])
    y, learned = logit(rows["alpha"].to_numpy()), (rows["side"] == "map").to_numpy()
    weight = 1 / rows.groupby("data")["data"].transform("size").to_numpy()
    middle, spread = np.empty(len(rows)), np.empty(len(rows))
    for origin in [*rows.loc[learned, "origin"].unique(), None]:
        held = ~learned if origin is None else (rows["origin"] == origin).to_numpy()
        of = learned & ~held
        w = weight[of] / weight[of].mean()

        def loss(t: Array, of: Array = of, w: Array = w) -> float:
            log_spread = S[of] @ t[3:]
            off = (y[of] - X[of] @ t[:3]) / np.exp(log_spread)
            return float(w @ (log_spread + off**2 / 2)) + float(t[1:] @ t[1:]) / 4

        start = np.r_[regression(X[of], y[of, None], w, 1.0)[:, 0], np.zeros(S.shape[1])]
        t = minimize(loss, start, method="BFGS").x
        middle[held], spread[held] = X[held] @ t[:3], np.exp(S[held] @ t[3:])
    low, high = expit(middle - 1.96 * spread), expit(middle + 1.96 * spread)
    guaranteed = rows["high"].to_numpy()
    return np.minimum(low, guaranteed), np.minimum(np.where(high >= _NEAR_ONE, 1.0, high), guaranteed)


def widths(rows: pd.DataFrame) -> pd.DataFrame:
    """Return widths and coverage by part of the draws."""
    alpha = rows["alpha"].to_numpy()
    half = np.abs(alpha - 0.5) < 0.05
    parts = {
        "learned": (rows["side"] == "map").to_numpy(),
        "judged": (rows["side"] == "judge").to_numpy(),
        "alpha .5, 400 rows of U or more": half & (rows["n_u"] >= 400).to_numpy(),
        "alpha .5, 800 rows of U or more": half & (rows["n_u"] >= 800).to_numpy(),
    }
    found = {"now": estimated(rows, by_gap=False), "by gap": estimated(rows, by_gap=True)}
    lines = []
    for name, part in parts.items():
        of = rows[part]
        line: dict[str, Any] = {"draws": name, "n": len(of)}
        line |= {"guaranteed covers": float((of["high"] >= of["alpha"]).mean())}
        line |= {"guaranteed above alpha": float((of["high"] - of["alpha"]).mean())}
        line |= {"assumed to guaranteed": float((of["high"] - of["low"]).mean())}
        for kind, (low, high) in found.items():
            line |= {f"width {kind}": float((high - low)[part].mean())}
            line |= {f"covers {kind}": float(((low <= alpha) & (alpha <= high))[part].mean())}
        lines.append(line)
    return pd.DataFrame(lines)


def main() -> None:
    """Print the tables."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rng = np.random.default_rng(0)
    ideal = pd.DataFrame([perfect(n_p, rng) for n_p in (60, 120, 240, 1000)])
    print(ideal.round(3).to_string(index=False), widths(known()).round(3).to_string(index=False), sep="\n")  # noqa: T201


if __name__ == "__main__":
    main()
