"""Write the tables of README.md and docs/*.md from the rows committed in docs/evidence.

    python docs/generate.py            # rewrite what stands between the markers
    python docs/generate.py --check    # exit 1 if a table is not what the rows give

A table stands between ``<!-- table: NAME -->`` and ``<!-- end -->``; NAME is a function of this file
or of answer_tables.py, choice_tables.py, evidence_metrics.py, grid_tables.py, labelling_tables.py, map_tables.py,
method_tables.py, paper_tables.py, probability_tables.py, progress_tables.py, reliability_tables.py or speed_tables.py.
``<!-- table: metrics_of_FILE -->`` gives a sentence instead: which metrics the rows of a file of docs/evidence have.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import answer_tables
import choice_tables
import dataset_tables
import evidence_metrics
import grid_tables
import labelling_tables
import map_tables
import method_tables
import pandas as pd
import paper_tables
import probability_tables
import progress_tables
import reliability_tables
import speed_tables
import tabular_tables
from told_alpha import TOLD, entry_name, told_alpha

from puoc.registry import collect_rarely

DOCS = Path(__file__).parent
EVIDENCE = DOCS / "evidence"
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]
_BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def quick() -> str:
    """Mean AUC and standard deviation of the default profile, averaged over the cells of a table for each seed.

    A cell below chance, which the average hides, is named. *told alpha*: the fits get the true share of positives in U.
    """
    rows = pd.read_parquet(EVIDENCE / "quick.parquet")
    order = ["oc_svm", "pu_svm", "nnpu", "nnpu_conv", "naive", "pn_oracle"]
    by_seed = rows.groupby(["table", "entry", "seed"], sort=False)["auc"].mean()
    stats = by_seed.groupby(["table", "entry"]).agg(["mean", "std", "count"])
    hidden = map_tables.hidden(rows)
    told = told_alpha("quick")
    lines = [["table", "seeds", *(f"{entry} ({TOLD})" if entry in told else entry for entry in order)]]
    for table in rows["table"].unique():
        found = stats.loc[table]
        spreads = {e: f"{found.at[e, 'mean']:.2f} ± {found.at[e, 'std']:.2f}" for e in order if e in found.index}
        cells = [spreads[e] + hidden[table, e] if e in spreads else "" for e in order]
        lines.append([f"`{table}`", str(found["count"].max()), *cells])
    return _markdown(lines)


def lanes() -> str:
    """Milliseconds per step and lane of both maps, by network and number of lanes."""
    rows = pd.read_parquet(EVIDENCE / "lanes.parquet")
    lines = [["device", "torch", "network", "lanes", "loop", "vmap", "loop / vmap"]]
    for key, part in rows.groupby(["device", "torch", "network", "lanes"], sort=False):
        both = part.set_index("map")
        times = {name: both.loc[name] for name in ("loop", "vmap")}
        shown = [f"{t.ms_per_step_and_lane:.2f} ({t.least:.2f} to {t.most:.2f})" for t in times.values()]
        ratio = times["loop"].ms_per_step_and_lane / times["vmap"].ms_per_step_and_lane
        lines.append([*map(str, key), *shown, f"{ratio:.1f}"])
    return _markdown(lines)


#: One-vs-all AUC as the paper prints it (its table of one-vs-all results), by positive class.
_PAPER = {(0, "drocc"): 0.76, (0, "pu_drocc"): 0.80, (0, "drpu"): 0.85}
_PAPER |= {(3, "drocc"): 0.61, (3, "pu_drocc"): 0.74, (3, "drpu"): 0.78}
_PAPER |= {(0, "oc_svm"): 0.78, (0, "pu_svm"): 0.79}


def machines() -> str:
    """How far AUCs are from those of this processor with the kernels of others: mean and largest difference."""
    rows = pd.read_parquet(EVIDENCE / "machines.parquet")
    planned = pd.read_parquet(EVIDENCE / "quick.parquet").set_index("trial_id")["params"]
    others = [name for name in rows["processor"].unique() if name != "this processor"]
    lines = [["entry", "settings", "fits", "AUC by seed", *others]]
    key = ["cell", "seed"]
    for (entry, params), part in rows.groupby(["entry", "params"]):
        aucs = part.pivot(index=key, columns="processor", values="auc").dropna(how="all", axis=1)
        aucs = aucs.dropna()  # the same fits on all
        seeds = aucs["this processor"].groupby("seed").mean()
        settings = "default" if part["trial_id"].isin(planned.index).all() else _changed(entry, params)
        moved = [(aucs[name] - aucs["this processor"]).abs() if name in aucs else None for name in others]
        shown = ["" if one is None else f"{one.mean():.4f} ({one.max():.4f})" for one in moved]
        name = entry_name(str(entry), told_alpha("quick"))
        lines.append([name, settings, str(len(aucs)), f"{seeds.min():.3f} to {seeds.max():.3f}", *shown])
    return _markdown(lines)


def _changed(entry: str, params: str) -> str:
    """Return the hyperparameters that an entry of the default profile had before."""
    rows = pd.read_parquet(EVIDENCE / "quick.parquet")
    now = json.loads(rows.loc[rows["entry"] == entry, "params"].iloc[0])
    return ", ".join(f"{name} {value}" for name, value in json.loads(params).items() if now.get(name) != value)


def epoch() -> str:
    """Seconds per epoch of a training, ours and the plain loop's, with their ratio."""
    return _epochs("epoch.parquet", ("plain", "ours", "ratio"))


def networks() -> str:
    """The same for the networks of the paper's profile with their own loss, and what a second worker adds."""
    return _epochs("networks.parquet", ("plain", "ours", "ratio", "second"))


def networks_together() -> str:
    """The same for the networks of other rows than images, eight at once in each process."""
    return _epochs("networks_together.parquet", ("plain", "ours", "ratio"))


def _epochs(name: str, measures: Sequence[str]) -> str:
    heads = {"plain": "plain loop", "ours": "puoc", "ratio": "plain / puoc", "second": "two workers / one"}
    lines = [["method", "rows", "numerics", "P + U", *(heads[of] for of in measures), "n"]]
    for row in pd.read_parquet(EVIDENCE / name).to_dict("records"):
        shown = [f"{row[of]:.3g} ({row[of + '_least']:.3g} to {row[of + '_most']:.3g})" for of in measures]
        sizes = f"{row['n_p']:,}" + (f" + {row['n_u']:,}" if row["n_u"] else "")
        lines.append([f"`{row['method']}`", row["inputs"], row["numerics"], sizes, *shown, str(row["n"])])
    return _markdown(lines)


def all_positives() -> str:
    """The SVMs on codes of an autoencoder that saw all training positives: both AUCs beside the paper's number."""
    rows = pd.read_parquet(EVIDENCE / "cifar10_small.parquet")
    return _beside_paper(rows[rows["entry"].str.endswith("_all_positives")], told_alpha("cifar10_small"))


def cifar10() -> str:
    """Published sizes and hyperparameters on CIFAR-10: both AUCs beside the paper's number."""
    return _beside_paper(pd.read_parquet(EVIDENCE / "cifar10.parquet"), told_alpha("cifar10"))


def autoencoder() -> str:
    """What both SVMs make of an autoencoder's codes as it is trained, by what it is trained on."""
    rows = pd.read_parquet(EVIDENCE / "autoencoder.parquet").dropna(subset="epochs")
    columns = {"oc_svm": 3, "pu_svm": 3, "centre": 2, "norm": 2, "margin": 2}
    lines = [["trained on", "epochs", "seeds", "`oc_svm` AUC", f"`pu_svm` ({TOLD}) AUC", "centre", "norm", "margin"]]
    for (variant, epochs), part in rows.groupby(["variant", "epochs"], sort=False):
        means = [f"{part[column].mean():.{digits}f}" for column, digits in columns.items()]
        lines.append([variant, f"{epochs:.0f}", str(len(part)), *means])
    return _markdown(lines)


def _beside_paper(rows: pd.DataFrame, told: frozenset[str]) -> str:
    lines = [["positive class", "method", "seeds", "held-out AUC", "training-pool AUC", "paper"]]
    for (pos, entry), part in rows.groupby(["pos", "entry"], sort=False):
        label = int(pos.strip("[]"))
        aucs = [_spread(part[column]) for column in ("auc", "auc_train_pool")]
        base = "drpu" if entry.startswith("drpu") else entry.removesuffix("_all_positives")
        paper = _PAPER.get((label, base))
        name = entry_name(str(entry), told)
        lines.append([str(label), name, str(len(part)), *aucs, f"{paper:.2f}" if paper else ""])
    return _markdown(lines)


def _spread(values: pd.Series) -> str:
    return f"{values.mean():.3f} ± {values.std():.3f}" if len(values) > 1 else f"{values.mean():.3f}"


def _markdown(lines: list[list[str]]) -> str:
    head, *body = lines
    return "".join("| " + " | ".join(line) + " |\n" for line in (head, ["---"] * len(head), *body))


def generated(text: str) -> str:
    """A page with every marked table as the rows give it."""
    return _BLOCK.sub(lambda block: block[1] + _table(block[2]) + block[3], text)


def _table(name: str) -> str:
    if name.startswith("metrics_of_"):
        return evidence_metrics.sentence(name.removeprefix("metrics_of_"))
    own = globals().get(name)
    others = [
        getattr(module, name)
        for module in (
            grid_tables,
            labelling_tables,
            map_tables,
            reliability_tables,
            method_tables,
            paper_tables,
            probability_tables,
            answer_tables,
            progress_tables,
            choice_tables,
            tabular_tables,
            dataset_tables,
            evidence_metrics,
            speed_tables,
        )
        if hasattr(module, name)
    ]
    found = own() if own is not None else others[0]()
    return found if isinstance(found, str) else _markdown(found)


def main() -> None:
    """Rewrite the pages, or check them."""
    collect_rarely()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a table is old")
    asked = parser.parse_args()
    stale = [page for page in PAGES if generated(page.read_text()) != page.read_text()]
    if asked.check:
        names = ", ".join(page.name for page in stale)
        sys.exit(f"{names}: a table differs from docs/evidence; run docs/generate.py" if stale else 0)
    for page in stale:
        page.write_text(generated(page.read_text()))


if __name__ == "__main__":
    main()
