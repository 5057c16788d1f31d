"""Which entries of committed rows get the true share of positives in U, so that the tables of generate.py say it."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path

import pandas as pd
from evidence_plans import EVIDENCE, PROFILES, profile_sections

from puoc.store.plans import EntryPlan

TOLD = "told alpha"


@cache
def told_alpha(name: str) -> frozenset[str]:
    """Return the entries of a file of ``docs/evidence`` that are told alpha.

    Rows have the kind of the class prior, or else its value. Rows with neither are of the profile of their name.
    """
    rows = pd.read_parquet(EVIDENCE / f"{name}.parquet")
    if "prior" in rows:
        return frozenset(rows.loc[rows["prior"] == "true", "entry"])
    if "prior_alpha" in rows:  # an estimate is never equal to alpha in each row
        given = rows.dropna(subset="prior_alpha")
        equal = (given["prior_alpha"] == given["alpha"]).groupby(given["entry"]).all()
        return frozenset(equal.index[equal])
    return _of_profile(name)


def told_in_plan(entries: Collection[EntryPlan]) -> frozenset[str]:
    """Return the planned entries that are told alpha."""
    return frozenset(entry.entry for entry in entries if entry.told_alpha)


def entry_name(entry: str, told: Collection[str]) -> str:
    """Return the name of an entry in a table, with a note if it is told alpha."""
    return f"`{entry}` ({TOLD})" if entry in told else f"`{entry}`"


def _of_profile(name: str) -> frozenset[str]:
    path: Path = PROFILES / f"{name}.yaml"
    if not path.exists():
        raise ValueError(f"{name}.parquet: got rows without a class prior and no {path.name}; expected one of them")
    _, methods = profile_sections(name)
    return frozenset(entry for entry, method in methods.items() if method.get("prior") is True)
