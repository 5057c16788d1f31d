"""Tables of ours that stand beside one of the paper's: planned and filled as a test says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from plans import entry_plan, table_plan

from puoc.analysis.paper.published import (
    AVERAGE_COLUMN,
    TWINS,
    UNPRINTED,
    columns,
    methods,
    numbers,
    protocol,
    read,
    scored_on,
)
from puoc.analysis.tables.results import planned_rows
from puoc.store.plans import EntryPlan, TablePlan

#: Methods of the paper that see P alone.
ONE_CLASS = (*TWINS.values(), "hrn")
_ENCODERS = dict.fromkeys(("oc_svm", "pu_svm"), "autoencoder")
_ENCODERS |= dict.fromkeys(("oc_cnn", "pu_cnn"), "imagenet resnet18 f37072fd")
_VALUES = {
    (name, method, column): value
    for name, method, column, value in numbers()[["published", "method", "column", "value"]].itertuples(index=False)
}

_PRIORS = dict.fromkeys(("pu_svm", "pu_cnn"), "tice") | {"nnpu": "dedpul", "nnpu_star": "true"}

#: AUC by the paper's protocol, of a method, column and seed.
Score = Callable[[str, str, int], Any]
#: How much higher the training pool is scored.
GAP = 0.1


def plan_beside(
    published: str, seeds: int = 10, table: str | None = None, dataset: str = "", only: list[str] | None = None
) -> TablePlan:
    cells = only or [column for column in columns(published) if column != AVERAGE_COLUMN]
    dataset = dataset or protocol(published, cells[0]).datasets or "twitter_tweets"
    entries = [_entry(method) for method in methods(published) if method != "hrn_star"]
    return table_plan(
        *(table or f"our_{published}", "named", dataset, published, tuple(cells), tuple(entries), tuple(range(seeds))),
        published=published,
    )


def _entry(method: str) -> EntryPlan:
    twin = TWINS.get(method)
    kind = "pu_oc" if twin else "oc" if method in ONE_CLASS else "pu"
    return entry_plan(method, "nnpu" if method == "nnpu_star" else method, kind, twin, "pu", method)


def as_printed(published: str, *, off: float = 0.0, spread: float = 0.001) -> Score:
    """The printed number and ``off``, with a spread over seeds that averages to nothing over pairs of seeds."""
    return lambda method, column, seed: _VALUES[published, method, column] + off + spread * (1 if seed % 2 else -1)


def rows_beside(plan: TablePlan, score: Score, *, held_out: bool = False, **changes: Any) -> pd.DataFrame:
    """Rows of the published sizes and settings; a text as score is a status.

    The score is the AUC that the paper's protocol takes, or the one on held-out rows.
    """
    rows = []
    for entry in plan.entries:
        settings_of = read("settings")
        of_method = settings_of[settings_of["method"] == entry.method]
        for cell in plan.cell_names:
            printed = {} if plan.published in UNPRINTED else protocol(str(plan.published), cell).sizes
            sizes = {key: int(n) for key, n in printed.items() if n}
            pos = [int(cell.removeprefix("pos="))] if cell.startswith("pos=") else [0]
            setting = "abnormal" if plan.published == "abnormal" else str(pos[0])
            own = of_method[of_method["setting"].isin(["*", setting])]
            params = dict(zip(own["parameter"], own["printed"], strict=True))
            for seed in plan.seeds:
                given = score(entry.published_as or entry.method, cell, seed)
                status, auc = (given, 0.0) if isinstance(given, str) else ("ok", given)
                on_pool = not held_out and scored_on(str(plan.published), entry.method, cell) == "training pool"
                aucs = (auc - GAP, auc) if on_pool else (auc, auc + GAP)
                low, high = (None, None) if status != "ok" else (float(np.clip(value, 0, 1)) for value in aucs)
                rows.append(
                    {"entry": entry.entry, "cell": cell, "seed": seed, "status": status, "attempts": 1}
                    | {"reason": None if status == "ok" else f"why {status}", "auc": low}
                    | {"auc_train_pool": high, "device": "cpu"}
                    | {"torch_version": "2.6", "numerics": "fp32", "fit_id": "f", "trial_id": f"{entry}/{cell}/{seed}"}
                    | {"encoder": _ENCODERS.get(entry.method), "pos": json.dumps(pos), "params": json.dumps(params)}
                    | {"prior": _PRIORS.get(entry.entry), "config_source": "paper"}
                    | sizes
                    | changes
                )
    return planned_rows(pd.DataFrame(rows), plan, "test")
