"""What other rules of `puoc assess` would give: a higher probability of new negatives in V, and stricter limits.

    python bench/assess_rules.py     # prints both tables, for the tables learned from (map) and those judged (judge)

The models are those of the package, so regrets on the map side are of data that the models have seen.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from puoc.analysis.reliability.leads import packaged_leads
from puoc.userdata.assess.evidence import Evidence
from puoc.userdata.assess.expected_auc import TIE, expected
from puoc.userdata.assess.reasons import LARGEST_LOSS, SURE, WORST
from puoc.userdata.assess.reference_methods import FAMILIES

TABLES: Final = Path(__file__).parents[1] / "docs" / "evidence" / "assess_tables.parquet"
ODDS: Final = (1, 2, 3, 4, 6, 10)  # factors on the odds of new negatives after the rows are seen
OF_BIASED: Final = (1.0, 0.08, 0.05, 0.02)  # limits of the chance to be worst, if labelling is biased
OF_ALL: Final = (0.05, 0.03, 0.02, 0.01)


def assessed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each assessment: AUCs, expected losses by kind, and what decides on an answer."""
    found = []
    for row in rows.to_dict("records"):
        seen = Evidence.model_validate_json(row["evidence"])
        all_cases = expected(seen, packaged_leads())
        for kind in ("none", "new") if row["V"] == "" else ("new",) if row["V"] == "new" else ("none",):
            auc = {family: row[f"{family} {kind}"] for family in FAMILIES}
            if any(np.isnan(value) for value in auc.values()):
                continue
            said = all_cases.by_kind["none" if kind == "none" else "new"] if row["V"] == "" else all_cases.all
            line: dict[str, Any] = {name: row[name] for name in ("side", "data", "V", "mechanism")}
            line |= {"reported": bool(seen.incoming and seen.incoming.new_negatives), "first": said.first}
            line |= {"regret": max(auc.values()) - auc[said.first]}
            line |= {"kind": kind, "new": all_cases.new, "none at all": seen.alpha.high >= 1}
            line |= {f"regret {family}": max(auc.values()) - auc[family] for family in FAMILIES}
            line |= {f"{case} {f}": one.loss[f] for case, one in all_cases.by_kind.items() for f in FAMILIES}
            line |= {"loss": said.loss[said.first], "worst": said.worst[said.first], "above": said.above}
            line |= {"biased worst": all_cases.by_labelling["biased"].worst[said.first]}
            found.append(line | {"is worst": auc[said.first] == min(auc.values())})
    return pd.DataFrame(found)


def by_odds(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean regret over data sets with V, by the factor on the odds of new negatives."""
    rows, lines = rows[rows["V"] != ""], []
    losses = {kind: rows[[f"{kind} {family}" for family in FAMILIES]].to_numpy() for kind in ("none", "new")}
    regret = rows[[f"regret {family}" for family in FAMILIES]].to_numpy()
    for odds in ODDS:
        new = (odds * rows["new"] / (odds * rows["new"] + 1 - rows["new"])).to_numpy()[:, None]
        expected_loss = (1 - new) * losses["none"] + new * losses["new"]
        expected_loss[:, 0] -= TIE * rows["none at all"].to_numpy()  # OC
        taken = rows.assign(regret=regret[np.arange(len(rows)), expected_loss.argmin(axis=1)])
        for labelling, part in (("all", taken), ("scar", taken[taken["mechanism"] == "scar"])):
            means = part.groupby(["side", "kind", "data"])["regret"].mean().groupby(["side", "kind"]).mean()
            lines.append({"odds times": odds, "labelling": labelling, **{" ".join(k): v for k, v in means.items()}})
    return pd.DataFrame(lines)


def by_limits(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of answers, and of those that are the worst family, by stricter limits."""
    rows = rows[(rows["loss"] <= LARGEST_LOSS) & (rows["worst"] < WORST) & (rows["above"] >= SURE)]
    lines = []
    for name, limits in (("biased worst", OF_BIASED), ("worst", OF_ALL)):
        for limit in limits:
            given = rows[rows[name] < limit].groupby("side")["is worst"]
            counts = {f"{side} {what}": value for what in ("count", "sum") for side, value in given.agg(what).items()}
            lines.append({"limit of": name, "below": limit, **counts})
    return pd.DataFrame(lines)


def advised(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how often each family is advised where V has new negatives, and how likely those are then taken."""
    of_new = rows[(rows["V"] == "new")].groupby(["side", "first"])
    named = {"draws": ("new", "size"), "reported": ("reported", "sum"), "new": ("new", "mean")}
    return of_new.agg(**named, regret=("regret", "mean")).reset_index()


def main() -> None:
    """Print the tables."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rows = assessed(pd.read_parquet(TABLES))
    print(advised(rows).round(3).to_string(index=False))  # noqa: T201
    print(by_odds(rows).round(3).to_string(index=False), by_limits(rows).to_string(index=False), sep="\n")  # noqa: T201


if __name__ == "__main__":
    main()
