"""`puoc assess` judged: the regret of its answers on data, seeds and shift classes that the map was not learned on.

    PUOC_MIRROR=... python bench/judged.py --parts PARTS                    # computes what is missing
    python bench/judged.py --parts PARTS --merge --out docs/evidence/judged.parquet
    python bench/judged.py --by-kind docs/evidence/judged.parquet           # the answers by kind of negatives

The advice is followed, also where the answer is *cannot tell*. The folder that PUOC_MIRROR names holds
real data in the layouts of docs/datasets.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from populations import judged_on, measure, together

from puoc.analysis.reliability.leads import Labelling, LeadModel
from puoc.userdata.assess.decision import decide
from puoc.userdata.assess.evidence import Evidence
from puoc.userdata.assess.reference_methods import FAMILIES

SEEDS = (300, 301)


def answered(rows: pd.DataFrame, models: Mapping[Labelling, LeadModel] | None = None) -> pd.DataFrame:
    """The rows with what the models of the leads (by default the packaged ones) make of their evidence."""
    found = [decide(Evidence.model_validate_json(text), models) for text in rows["evidence"]]
    advice = [one.advice for one in found]
    worth = rows[list(FAMILIES)].to_numpy()
    chosen = worth[np.arange(len(rows)), [FAMILIES.index(one) for one in advice]]
    regret = worth.max(axis=1) - chosen
    return rows.assign(
        answer=[one.answer for one in found],
        advice=advice,
        auc=chosen,
        regret=regret,
        first=[one.first for one in found],
        second=[one.second for one in found],
        probability=[one.probability for one in found],
    )


def by_kind(rows: pd.DataFrame) -> pd.DataFrame:
    """How often the answer for negatives as in U, and that for new ones, is right where these came; V or no V seen."""
    lines = []
    for kind in ("none", "new"):
        part = rows[rows["shift"] == kind]
        worth = part[list(FAMILIES)].to_numpy()
        best, worst = (np.array(FAMILIES)[places] for places in (worth.argmax(axis=1), worth.argmin(axis=1)))
        for with_v in (True, False):
            without = {} if with_v else {"incoming": None}
            seen = [Evidence.model_validate_json(text).model_copy(update=without) for text in part["evidence"]]
            answers = np.array([next(a.answer for a in decide(one).by_kind if a.kind == kind) for one in seen])
            given = answers != "cannot tell"
            shares = [float((answers == other)[given].mean()) for other in (best, worst)]
            lines.append([kind, with_v, len(part), int(given.sum()), *shares])
    return pd.DataFrame(lines, columns=["negatives", "V", "cells", "answers", "best", "worst"]).round(2)


def main() -> None:
    """Compute the parts that are missing, or put them together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=Path)
    parser.add_argument("--by-kind", type=Path)
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.by_kind is not None:
        print(by_kind(pd.read_parquet(asked.by_kind)).to_string(index=False))  # noqa: T201
    elif asked.parts is None:
        parser.error("give --parts or --by-kind")
    elif asked.merge:
        answered(together(asked.parts)).to_parquet(asked.out)
    else:
        measure(judged_on(), SEEDS, asked.parts)


if __name__ == "__main__":
    main()
