"""The paper's figures stat_unl and rnd_clf: p-values of a Mann-Whitney test over alpha, also on withheld rows.

    PUOC_MIRROR=... python bench/reliability_figures.py --parts PARTS
    python bench/reliability_figures.py --parts PARTS --merge     # docs/evidence/stat_unl.parquet, docs/stat_unl.svg

CIFAR-10 as features of MobileNetV2: P vehicles, negatives of U birds, cats and deer, new ones dogs, frogs and horses;
500 labelled, 500 unlabelled and 500 incoming rows. (a) outputs on P against U, by OC-SVM, PU-SVM, DROCC, PU-DROCC and
an untrained network; (b) by the PU models, outputs on U against incoming rows with the same negatives or with new ones.
Which animals its figure had, and how many rows, the paper does not say. ``trained``: on rows that the model was fitted
to, as in the paper; ``withheld``: P and U are other draws.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from false_alarms import P_CRIT
from numpy.typing import NDArray
from populations import cifar10_features, together
from random_net import RandomNet

from puoc import methods
from puoc.analysis.reliability.two_sample import two_sample_p
from puoc.methods.training.estimator import Estimator
from puoc.methods.training.principal_components import Seen
from puoc.scenarios.drawing.draws import stream
from puoc.scenarios.drawing.simulate import Incoming, Pool, Truth, situation
from puoc.userdata.assess.reference_methods import question

Array = NDArray[Any]

ALPHAS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
DRAWS, ROWS = 10, 500
VEHICLES, KNOWN, NEW = (0, 1, 8, 9), (2, 3, 4), (5, 6, 7)
EVIDENCE, PICTURE = Path("docs/evidence/stat_unl.parquet"), Path("docs/stat_unl.svg")


def models(d: int) -> dict[str, Estimator | RandomNet]:
    """The figure's, with the settings that ``reference_methods`` derives from the number of values."""
    _, of_drocc = question("PU-OC", d)
    linear = {"solver": "exact", "kernel": "linear", "risk": "non_negative", "lam": 0.01}
    return {
        "oc_svm": methods.make(*question("OC", d)),
        "pu_svm": methods.make("pu_svm", linear),
        "drocc": methods.make("drocc", of_drocc),
        "pu_drocc": methods.make("pu_drocc", of_drocc),
        "random_net": RandomNet(),
    }


def part(pool: Pool, alpha: float, draw: int) -> pd.DataFrame:
    """p-values of one draw, a row for each model, comparison and kind of rows."""
    arriving = (Incoming(ROWS, 1.0), Incoming(ROWS, alpha), Incoming(ROWS, alpha), Incoming(ROWS, alpha, 1.0))
    found = situation(pool, Truth(ROWS, ROWS, alpha, arriving), stream("stat_unl", alpha, draw))
    seen = Seen.by(found.X_p, found.X_u)
    Z_p, Z_u, *later = (seen(X) for X in (found.X_p, found.X_u, *found.X_v))
    rows = []
    for name, model in models(Z_p.shape[1]).items():
        told = {"alpha": min(alpha, 0.999)} if name == "pu_svm" else {}  # what TIcE would be asked for
        model.fit(Z_p, Z_u, seed=draw, **told)
        p, u, other_p, other_u, same, new = (model.decision_function(Z) for Z in (Z_p, Z_u, *later))
        pairs = {("P, U", "trained"): (p, u), ("P, U", "withheld"): (other_p, other_u)}
        if name.startswith("pu_"):
            for kind, v in (("same", same), ("new", new)):
                pairs |= {(f"U, {kind}", "trained"): (u, v), (f"U, {kind}", "withheld"): (other_u, v)}
        for (compared, on), (one, other) in pairs.items():
            about = {"alpha": alpha, "draw": draw, "model": name, "compared": compared, "rows": on}
            rows.append(about | {"p": two_sample_p(np.asarray(one), np.asarray(other))})
    return pd.DataFrame(rows)


def picture(rows: pd.DataFrame, path: Path) -> None:
    """Median p-value over alpha: a panel for each comparison and kind of rows."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams |= {"svg.hashsalt": "stat_unl", "svg.fonttype": "none"}  # equal rows give an equal, small file
    panels = [(compared, on) for on in ("trained", "withheld") for compared in ("P, U", "U, same", "U, new")]
    figure = Figure(figsize=(11, 6), layout="constrained")
    for axes, (compared, on) in zip(figure.subplots(2, 3, sharex=True, sharey=True).ravel(), panels, strict=True):
        chosen = rows[(rows["compared"] == compared) & (rows["rows"] == on)]
        for name, of_model in chosen.groupby("model", sort=False):
            middle = of_model.groupby("alpha")["p"].median().clip(lower=1e-12)
            axes.plot(middle.index, middle, marker="o", markersize=3, label=name)
        axes.axhline(P_CRIT, color="grey", linewidth=0.8, linestyle="--")
        axes.set(yscale="log", ylim=(5e-13, 2), title=f"{compared}, {on} rows")
        axes.legend(fontsize=7)
    figure.supxlabel("alpha")
    figure.supylabel("median p-value (cut at 1e-12)")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Compute the parts that are missing, or put them together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=Path, required=True)
    parser.add_argument("--merge", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.merge:
        rows = together(asked.parts)
        rows.to_parquet(EVIDENCE, index=False)
        picture(rows, PICTURE)
        return
    asked.parts.mkdir(parents=True, exist_ok=True)
    X, y = cifar10_features()
    pool = Pool(*(X[np.isin(y, classes)].astype(np.float64) for classes in (VEHICLES, KNOWN, NEW)))
    for draw, alpha in product(range(DRAWS), ALPHAS):
        path = asked.parts / f"{draw}-{alpha}.parquet"
        if not path.exists():
            part(pool, alpha, draw).to_parquet(path.with_suffix(".tmp"))
            path.with_suffix(".tmp").rename(path)


if __name__ == "__main__":
    main()
