"""The table of docs/grids.md, from the rows of the profile's sweeps; imported by generate.py.

python docs/grid_tables.py FOLDER    # from the results of a project that ran the profile to docs/evidence
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Hashable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd
from told_alpha import entry_name, told_alpha

from puoc.analysis.selection.choice_file import SelectedConfig
from puoc.analysis.selection.surface import SweepRow, summarise_sweep
from puoc.run.select import choose
from puoc.store.result_rows import ValidationRow

EVIDENCE = Path(__file__).parent / "evidence" / "grids.parquet"
_KEPT = ["config_id", "params", "is_published", "kind", "cell", "seed", "status", "auc_val_pu", "auc", "fit_seconds"]
_ROLES = {"published": "published", "by_rank": "best ranks", "best_on_test": "best on test"}


def grid_choices() -> list[list[str]]:
    """What each sweep would have chosen, with the criterion's error, and what that costs by test AUC."""
    rows = pd.read_parquet(EVIDENCE)
    head = ["sweep", "configurations", "seeds", "best value less published", "chosen", "AUC of it"]
    lines = [[*head, *_ROLES.values(), "regret of the choice", "regret of the published"]]
    for tune, part in rows.groupby("tune", sort=False):
        listed = [_validation_row(row) for row in part.astype(object).where(part.notna(), None).to_dict("records")]
        sweep = SweepRow(tune=str(tune), method="", scenario="", dataset="", note="")
        choice = SelectedConfig.model_validate(choose(listed)._asdict())
        found, surface = summarise_sweep(sweep, part, part, choice)
        base = json.loads(found.published.params)
        own = {k: v for k, v in json.loads(found.chosen.params).items() if base.get(k) != v}
        chosen = ", ".join(f"{name} {value}" for name, value in own.items()) or "the published"
        tests = [_mean(found.roles[role].test, found.roles[role].test_se) for role in ("chosen", *_ROLES)]
        regrets = [_mean(role.regret, role.regret_se) for role in (found.chosen, found.published)]
        complete = f"{found.n_complete} of {len(surface)}"
        gain = f"{found.gain:+.3f} ± {found.gain_se:.3f}"
        name = entry_name(str(tune), told_alpha("grids"))
        lines.append([name, complete, str(found.n_seeds), gain, chosen, *tests, *regrets])
    return lines


def _validation_row(row: dict[Hashable, Any]) -> ValidationRow:
    """Return a committed row as a row of a sweep; columns that a choice does not need are empty."""
    return ValidationRow(**{field.name: row.get(field.name, "") for field in fields(ValidationRow)})


def _mean(value: float, error: float) -> str:
    return f"{value:.3f} ± {error:.3f}"


def keep(project: Path) -> None:
    """Bring the rows of a project's sweeps together, as they are, with what a choice and its cost need."""
    found = []
    rows = sorted((project / "results" / "tune" / "val").glob("*.parquet"))
    if not rows:
        raise ValueError(
            f"{project}: no results/tune/val/*.parquet there; expected a project that ran profiles/grids.yaml"
        )
    for path in rows:
        val, test = pd.read_parquet(path), pd.read_parquet(project / "results" / "tune" / "test" / path.name)
        both = val.merge(test[["config_id", "cell", "seed", "auc"]], on=["config_id", "cell", "seed"], validate="1:1")
        found.append(both[_KEPT].assign(tune=path.stem))
    pd.concat(found, ignore_index=True).to_parquet(EVIDENCE, index=False, compression="zstd")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a project that ran profiles/grids.yaml")
    try:
        keep(parser.parse_args().folder)
    except (ValueError, OSError) as error:
        parser.error(str(error))
