"""Write the tables of README.md and docs/*.md from the rows committed in docs/evidence.

    python docs/generate.py            # rewrite what stands between the markers
    python docs/generate.py --check    # exit 1 if a table is not what the rows give

A table stands between ``<!-- table: NAME -->`` and ``<!-- end -->``; NAME is a function of this file.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd

DOCS = Path(__file__).parent
EVIDENCE = DOCS / "evidence"
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]
_BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def quick() -> str:
    """Mean AUC and standard deviation of the default profile, averaged over the cells of a table for each seed."""
    rows = pd.read_parquet(EVIDENCE / "quick.parquet")
    order = ["oc_svm", "pu_svm", "nnpu", "nnpu_conv", "naive", "pn_oracle"]
    by_seed = rows.groupby(["table", "entry", "seed"], sort=False)["auc"].mean()
    stats = by_seed.groupby(["table", "entry"]).agg(["mean", "std", "count"])
    lines = [["table", "seeds", *order]]
    for table in rows["table"].unique():
        found = stats.loc[table]
        cells = [f"{found.at[e, 'mean']:.2f} ± {found.at[e, 'std']:.2f}" if e in found.index else "" for e in order]
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


def cifar10() -> str:
    """Published sizes and hyperparameters on CIFAR-10: both AUCs beside the paper's number."""
    rows = pd.read_parquet(EVIDENCE / "cifar10.parquet")
    lines = [["positive class", "method", "seeds", "held-out AUC", "training-pool AUC", "paper"]]
    for (pos, entry), part in rows.groupby(["pos", "entry"], sort=False):
        label = int(pos.strip("[]"))
        aucs = [f"{part[c].mean():.3f} ± {part[c].std():.3f}" for c in ("auc", "auc_train_pool")]
        paper = _PAPER.get((label, "drpu" if entry.startswith("drpu") else entry))
        lines.append([str(label), f"`{entry}`", str(len(part)), *aucs, f"{paper:.2f}" if paper else ""])
    return _markdown(lines)


def _markdown(lines: list[list[str]]) -> str:
    head, *body = lines
    return "".join("| " + " | ".join(line) + " |\n" for line in (head, ["---"] * len(head), *body))


def generated(text: str) -> str:
    """A page with every marked table as the rows give it."""
    return _BLOCK.sub(lambda block: block[1] + globals()[block[2]]() + block[3], text)


def main() -> None:
    """Rewrite the pages, or check them."""
    stale = [page for page in PAGES if generated(page.read_text()) != page.read_text()]
    if "--check" in sys.argv:
        names = ", ".join(page.name for page in stale)
        sys.exit(f"{names}: a table differs from docs/evidence; run docs/generate.py" if stale else 0)
    for page in stale:
        page.write_text(generated(page.read_text()))


if __name__ == "__main__":
    main()
