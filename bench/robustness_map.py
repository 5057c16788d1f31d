"""AUC of a method of each family over alpha x |U| x shift, from which the regions of `puoc assess` are learned.

    python bench/robustness_map.py --parts PARTS                    # computes what is missing
    python bench/robustness_map.py --parts PARTS --merge            # writes the packaged table and its evidence
    python bench/robustness_map.py --parts PARTS --left-out FILE    # answers on each dataset by models of the others

A cell is a situation with known truth; its models are scored on withheld positives against withheld negatives, of the
kinds that U has (`none`) and of new ones (`new`). A change of alpha alone does not change an AUC. Cells that a dataset
has too few rows for are left out. The data of bench/judged.py are others.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from assess_model import estimated, known
from judged import answered
from populations import learned_on, measure, together

from puoc.userdata.assess.reference_methods import FAMILIES

SEEDS = (0, 1)
TABLE = Path("src/puoc/analysis/reliability/robustness.csv")
EVIDENCE = Path("docs/evidence/robustness_map.parquet")
BASE = "PU-OC"  # the family that the others are compared with


def aggregate_regions(rows: pd.DataFrame) -> pd.DataFrame:
    """Compute one row per region, from one row per situation with the families' AUCs (columns OC, PU-OC, PU)."""
    rows = rows.assign(worst=rows[BASE] < rows[["OC", "PU"]].min(axis=1) - 1e-9)
    regions = []
    for (shift, n_u, alpha), part in rows.groupby(["shift", "n_u", "alpha"], sort=True):
        row = {"shift": shift, "n_u": n_u, "alpha": alpha, "n": len(part), "base_worst": part["worst"].mean()}
        for family in FAMILIES:
            lead = part[family] - part[BASE]
            row |= {f"{family}_auc": part[family].mean(), f"{family}_lead": lead.mean()}
            row |= {f"{family}_spread": lead.std(ddof=1) if len(part) > 1 else np.nan}
        regions.append(row)
    return pd.DataFrame(regions)


def table_of(rows: pd.DataFrame) -> pd.DataFrame:
    """The map of these cells; a moved alpha changes no AUC."""
    return aggregate_regions(rows[rows["shift"] != "prior"])


def left_out(rows: pd.DataFrame) -> pd.DataFrame:
    """The cells of each dataset answered by models of the leads that were estimated without it."""
    tables = pd.read_parquet("docs/evidence/assess_tables.parquet")
    tables = tables[tables["side"] == "map"]
    parts = []
    for name, part in rows.groupby("data", sort=False):
        parts.append(answered(part, estimated(known(tables, rows[rows["data"] != name]))))
    return pd.concat(parts)


def main() -> None:
    """Compute the parts that are missing, or put them together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=Path, required=True)
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--left-out", type=Path, metavar="PARQUET")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.merge:
        rows = together(asked.parts)
        rows.to_parquet(EVIDENCE)
        table_of(rows).to_csv(TABLE, index=False, float_format="%.4f", lineterminator="\n")
    elif asked.left_out:
        left_out(together(asked.parts)).to_parquet(asked.left_out)
    else:
        measure(learned_on(), SEEDS, asked.parts)


if __name__ == "__main__":
    main()
