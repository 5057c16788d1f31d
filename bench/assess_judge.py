"""Judge `puoc assess` on the tables of docs/evidence/assess_tables.parquet that its models were not estimated on.

    python bench/assess_judge.py                          # prints the tables of docs/reliability.md
    python bench/assess_judge.py --out docs/evidence/assess_judged.parquet      # and writes the answers

A row is an assessment: without V for negatives as in U and for new ones (the lines of the answer), and with each V. The
regret of a policy is the AUC of the best of the three families on the test rows minus that of its own. *earlier* is the
advice of the rule before (a map of ten tasks; docs/evidence/assess_earlier.parquet), on the same evidence. The draws of
docs/evidence/assess_fresh.parquet were made after model and rule; they are of the same tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from assess_model import as_tables

from puoc.userdata.assess.decision import decide
from puoc.userdata.assess.evidence import Evidence
from puoc.userdata.assess.reference_methods import FAMILIES

TABLES: Final = Path("docs/evidence/assess_tables.parquet")
FRESH: Final = Path("docs/evidence/assess_fresh.parquet")
JUDGED: Final = Path("docs/evidence/judged.parquet")
EARLIER: Final = Path("docs/evidence/assess_earlier.parquet")
_RIVALS: Final = ("P against U", "P against V", "logistic or OC", "logistic")
POLICIES: Final = ("assess", "earlier", "earlier line", *FAMILIES, *_RIVALS)
ENOUGH: Final = 0.6  # withheld AUC of P against U of a logistic regression from which a rival takes PU, else OC


def answers(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the regrets of all policies for each assessment."""
    for row in rows.to_dict("records"):
        seen = Evidence.model_validate_json(row["evidence"])
        found = decide(seen)
        of_kind = {one.kind: one for one in found.by_kind}
        for kind in ("none", "new") if row["V"] == "" else ("new",) if row["V"] == "new" else ("none",):
            auc = {family: row[f"{family} {kind}"] for family in FAMILIES}
            if any(np.isnan(value) for value in auc.values()):
                continue
            said = of_kind[kind] if row["V"] == "" else found  # without V, the line of this kind
            most, least = max(auc.values()), min(auc.values())
            about = {name: row[name] for name in ("data", "number", "alpha", "n_u", "mechanism", "strength", "noise")}
            about |= {"V": row["V"], "kind": kind, "answer": said.answer, "first": said.first}
            about |= {"loss": said.loss, "above": said.probability, "better": auc[said.first] > auc[said.second]}
            about |= {"is_best": auc[said.first] == most, "is_worst": auc[said.first] == least}
            about |= {"earlier answer": row.get("earlier_answer" if row["V"] else f"earlier_answer_{kind}")}
            about |= {"alpha_low": seen.alpha.low, "alpha_high": seen.alpha.high}
            yield about | {name: most - value for name, value in policies(row, seen, kind, said.first, auc).items()}


def policies(row: dict[str, Any], seen: Evidence, kind: str, first: str, auc: dict[Any, float]) -> dict[str, float]:
    """Return the AUC that each policy gets."""
    best = {"P against U": max(seen.gained, key=lambda one: one.auc).family}
    if seen.incoming is not None:
        best["P against V"] = max(seen.incoming.gained, key=lambda one: one.auc).family
    found = {"assess": auc[first], **auc, **{name: auc[family] for name, family in best.items()}}
    if isinstance(row.get("earlier"), str):
        found["earlier"] = auc[row["earlier"]]
        found["earlier line"] = auc[row["earlier" if row["V"] else f"earlier_{kind}"]]
    if not np.isnan(row.get("logistic u", np.nan)):
        found["logistic or OC"] = auc["PU" if row["logistic u"] >= ENOUGH else "OC"]
        found["logistic"] = row[f"logistic {kind}"]
    return found


def regrets(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each group and policy the mean regret over data sets, and how far it is above that of assess.

    The interval is that of the mean over data sets (t distribution).
    """
    from scipy.stats import t

    lines = []
    for name, group in rows.groupby("group", sort=False):
        by_data = group.groupby("data")[[one for one in POLICIES if one in group]].mean()
        for policy in by_data.columns:
            values = by_data[policy].dropna()
            if values.empty:
                continue
            saving = (by_data[policy] - by_data["assess"]).dropna()
            reach = t.ppf(0.975, len(saving) - 1) * saving.std(ddof=1) / np.sqrt(len(saving))
            line = {"group": name, "policy": policy, "n": len(group), "data sets": len(values), "regret": values.mean()}
            lines.append(line | {"above": saving.mean(), "low": saving.mean() - reach, "high": saving.mean() + reach})
    return pd.DataFrame(lines)


def reliable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how often there is an answer, and how often it is the best and the worst family."""
    given = rows[rows["answer"] != "cannot tell"]
    found = given.groupby("group", sort=False).agg(
        answers=("answer", "size"), best=("is_best", "mean"), worst=("is_worst", "mean"), regret=("assess", "mean")
    )
    found.insert(0, "n", rows.groupby("group").size())
    return found.reset_index()


def earlier_reliable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the same of the rule before, as far as it was asked."""
    of = [one for one in ("earlier line",) if one in rows]
    least = rows[list(FAMILIES)].max(axis=1)
    given = rows["earlier answer"].notna() & (rows["earlier answer"] != "cannot tell")
    values = rows.assign(is_best=rows[of[0]] == 0, is_worst=rows[of[0]] == least)[given]
    return values.groupby("group", sort=False).agg(
        answers=("group", "size"), best=("is_best", "mean"), worst=("is_worst", "mean"), regret=(of[0], "mean")
    )


def grouped(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the group they are shown in."""
    names = {"none": "negatives as in U", "new": "new negatives"}
    v = np.where(rows["V"] == "", "without V, ", "with V, ")
    return rows.assign(group=v + rows["kind"].map(names).to_numpy()).sort_values("group", kind="stable")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    keys, earlier = ["data", "number", "n_u", "alpha", "V"], pd.read_parquet(EARLIER)
    tables = pd.read_parquet(TABLES).merge(earlier, "left", keys)
    judged = grouped(pd.DataFrame(answers(tables[tables["side"] == "judge"])))
    cells = as_tables(pd.read_parquet(JUDGED)).merge(earlier, "left", keys)
    older = grouped(pd.DataFrame(answers(cells)))
    later = pd.read_parquet(FRESH)
    fresh = grouped(pd.DataFrame(answers(later[later["side"] == "judge"])))
    if asked.out:
        named = {"tables": judged, "cells": older, "fresh": fresh}
        pd.concat([part.assign(of=name) for name, part in named.items()]).to_parquet(asked.out)
    for title, part in (("tables", judged), ("seven data sets", older), ("fresh draws of the tables", fresh)):
        before = [earlier_reliable(part).reset_index()] if "earlier line" in part else []
        for shown in (regrets(part), reliable(part), *before):
            print(title, shown.round(3).to_string(index=False), sep="\n")  # noqa: T201
    for column in ("mechanism", "noise"):
        part = judged.assign(group=judged[column].astype(str) + np.where(judged["V"] == "", ", without V", ", with V"))
        print(regrets(part).pivot(index="group", columns="policy", values="regret").round(3).to_string())  # noqa: T201
        print(reliable(part).round(3).to_string(index=False))  # noqa: T201


if __name__ == "__main__":
    main()
