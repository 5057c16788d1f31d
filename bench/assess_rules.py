"""What other rules of `puoc assess` would give: a higher probability of new negatives in V, and other limits.

    python bench/assess_rules.py     # prints the tables, for the tables learned from (map) and those judged (judge)

The odds of new negatives are varied with the models of the package, so regrets on the map side are of data that the
models have seen. The limits of an answer were chosen on the map side, by models that were estimated without the origin
of the table (``left_out``), and with the draws of docs/evidence/assess_fresh.parquet besides.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from assess_model import estimated, known

from puoc.analysis.reliability.leads import Labelling, LeadModel, packaged_leads
from puoc.analysis.reliability.robustness_map import ShiftKind
from puoc.userdata.assess.evidence import Evidence
from puoc.userdata.assess.expected_auc import TIE, expected
from puoc.userdata.assess.reasons import LARGEST_LOSS, SURE
from puoc.userdata.assess.reference_methods import FAMILIES

EVIDENCE: Final = Path(__file__).parents[1] / "docs" / "evidence"
ODDS: Final = (1, 2, 3, 4, 6, 10)  # factors on the odds of new negatives after the rows are seen
LIMITS: Final = (0.05, 0.02, 0.01)  # of the chance to be the worst family
FOLDS: Final = 6

Models = dict[Labelling, LeadModel]


def assessed(rows: pd.DataFrame, models: Models) -> pd.DataFrame:
    """Return a row for each assessment: AUCs, expected losses by kind, and what decides on an answer."""
    found = []
    for row in rows.to_dict("records"):
        seen = Evidence.model_validate_json(row["evidence"])
        all_cases = expected(seen, models)
        for kind in ("none", "new") if row["V"] == "" else ("new",) if row["V"] == "new" else ("none",):
            auc = {family: row[f"{family} {kind}"] for family in FAMILIES}
            if any(np.isnan(value) for value in auc.values()):
                continue
            one_kind: ShiftKind = "none" if kind == "none" else "new"
            said = all_cases.by_kind[one_kind] if row["V"] == "" else all_cases.all
            apart = all_cases.by_both[one_kind] if row["V"] == "" else all_cases.by_labelling
            line: dict[str, Any] = {name: row[name] for name in ("side", "data", "number", "V", "mechanism")}
            line |= {"reported": bool(seen.incoming and seen.incoming.new_negatives), "first": said.first}
            line |= {"regret": max(auc.values()) - auc[said.first]}
            line |= {"kind": kind, "new": all_cases.new, "none at all": seen.alpha.high >= 1}
            line |= {f"regret {family}": max(auc.values()) - auc[family] for family in FAMILIES}
            line |= {f"{case} {f}": one.loss[f] for case, one in all_cases.by_kind.items() for f in FAMILIES}
            line |= {"loss": said.loss[said.first], "worst": said.worst[said.first], "above": said.above}
            line |= {f"{name} worst": one.worst[said.first] for name, one in apart.items()}
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


def left_out(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the assessments of the map side, each by models without the tables of its origin."""
    tasks = known(rows[:0], pd.read_parquet(EVIDENCE / "robustness_map.parquet"))
    origins, found = sorted(rows["origin"].unique()), []
    for fold in range(FOLDS):
        held = rows["origin"].isin(origins[fold::FOLDS])
        found.append(assessed(rows[held], estimated(pd.concat([rows[~held], tasks], ignore_index=True))))
    return pd.concat(found, ignore_index=True)


def by_limits(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of answers, and of those that are the worst family, by the limit of that chance."""
    rows = rows[(rows["loss"] <= LARGEST_LOSS) & (rows["above"] >= SURE)]
    rules = {
        "labelling mixed": rows["worst"],
        "either labelling": rows[["random worst", "biased worst"]].max(axis=1),
    }
    lines = []
    for name, chance in rules.items():
        for limit in LIMITS:
            given = rows[chance < limit].groupby("part")["is worst"].agg(["count", "sum"])
            lines.append({"chance": name, "below": limit, **{part: f"{w} of {n}" for part, (n, w) in given.iterrows()}})
    return pd.DataFrame(lines)


def advised(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how often each family is advised where V has new negatives, and how likely those are then taken."""
    of_new = rows[(rows["V"] == "new")].groupby(["side", "first"])
    named = {"draws": ("new", "size"), "reported": ("reported", "sum"), "new": ("new", "mean")}
    return of_new.agg(**named, regret=("regret", "mean")).reset_index()


def main() -> None:
    """Print the tables."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    tables, fresh = (pd.read_parquet(EVIDENCE / f"assess_{name}.parquet") for name in ("tables", "fresh"))
    rows = assessed(tables, packaged_leads())
    print(advised(rows).round(3).to_string(index=False))  # noqa: T201
    print(by_odds(rows).round(3).to_string(index=False))  # noqa: T201
    later = assessed(fresh[fresh["side"] == "judge"], packaged_leads())
    both = pd.concat([tables, fresh], ignore_index=True)
    parts = {"learned": left_out(both[both["side"] == "map"]), "judged": rows[rows["side"] == "judge"], "fresh": later}
    print(by_limits(pd.concat([part.assign(part=name) for name, part in parts.items()])).to_string(index=False))  # noqa: T201


if __name__ == "__main__":
    main()
