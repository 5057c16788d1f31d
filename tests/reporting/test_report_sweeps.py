"""Sweeps in the report: every configuration stands on the surface, and each choice has its value, error and regret."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pandas as pd
import pytest
from plans import sweep_plan
from typer.testing import CliRunner

from puoc.analysis.selection.choice_file import SelectedConfig
from puoc.analysis.selection.surface import NOT_PLANNED, ROLES, SurfaceRow, SweepRow, summarise_sweep, sweeps
from puoc.cli.app import app
from puoc.reporting.page.sweeps import sweep_views
from puoc.run.select import choose
from puoc.store.result_rows import ResultRow, ValidationRow

SEEDS = 4


def tuned(
    configs: list[dict[str, Any]], vals: list[list[float | None]], tests: list[list[float | None]]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of a sweep with one cell; the first configuration is the published one."""
    val, test = [], []
    for at, params in enumerate(configs):
        for seed in range(SEEDS):
            key = {"config_id": f"c{at:03}", "cell": "pos=4", "seed": seed, "trial_id": f"c{at:03}-{seed}"}
            about = {"params": json.dumps(params), "is_published": at == 0, "kind": "pu"}
            status = "ok" if vals[at][seed] is not None else "failed"
            val.append(key | about | {"status": status, "auc_val_pu": vals[at][seed]})
            test.append(key | {"auc": tests[at][seed]})
    return pd.DataFrame(val), pd.DataFrame(test)


def made(val: pd.DataFrame, test: pd.DataFrame) -> tuple[SweepRow, list[SurfaceRow]]:
    listed = val.astype(object).where(val.notna(), None).to_dict("records")
    names = [field.name for field in fields(ValidationRow)]
    rows = [ValidationRow(**{name: row.get(name, "") for name in names}) for row in listed]
    row = SweepRow(tune="pu_svm", method="pu_svm", scenario="one_vs_all", dataset="digits", space="grid", note="")
    return summarise_sweep(row, val, test, SelectedConfig.model_validate(choose(rows)._asdict()))


def drawn(n: int, seed: int = 0) -> list[list[float | None]]:
    return np.random.default_rng(seed).uniform(0.5, 1, (n, SEEDS)).tolist()


def test_each_choice_has_value_error_and_regret_paired_by_seed() -> None:
    configs = [{"lam": lam} for lam in (0.1, 0.2, 0.3)]
    vals = [[0.6, 0.7, 0.6, 0.7], [0.8, 0.9, 0.8, 0.9], [0.7, 0.7, 0.7, 0.7]]
    tests = [[0.9, 0.8, 0.9, 0.8], [0.7, 0.7, 0.8, 0.8], [0.6, 0.6, 0.6, 0.6]]
    row, surface = made(*tuned(configs, vals, tests))
    assert [row.roles[role].config_id for role in ROLES] == ["c001", "c000", "c001", "c001", "c000"]
    differences = np.subtract(tests[0], tests[1])
    assert row.chosen.regret == pytest.approx(differences.mean())
    assert row.chosen.regret_se == pytest.approx(differences.std(ddof=1) / 2)
    assert row.published.regret == 0
    assert row.gain == pytest.approx(0.2)
    assert row.gain_se == pytest.approx(0, abs=1e-12)
    assert row.chosen.val_se == pytest.approx(np.std(vals[1], ddof=1) / 2)
    assert [config.test for config in surface] == pytest.approx([np.mean(of) for of in tests])


def test_a_configuration_with_a_hole_is_shown_and_is_neither_best_nor_chosen() -> None:
    configs = [{"lam": lam} for lam in (0.1, 0.2, 0.3)]
    vals, tests = [[0.6] * 4, [None, 0.99, 0.99, 0.99], [0.5] * 4], [[0.6] * 4, [None, 0.99, 0.99, 0.99], [0.7] * 4]
    row, surface = made(*tuned(configs, vals, tests))
    assert (row.n_configs, row.n_complete) == (3, 2)
    assert (row.by_value.config_id, row.best_on_test.config_id) == ("c000", "c002")
    assert [config.n_val for config in surface] == [4, 3, 4]


SVM = [
    *({"kernel": "linear", "nu": nu} for nu in (0.5, 0.1, 0.9)),
    *({"kernel": "rbf", "gamma": gamma, "nu": nu} for gamma, nu in product((0.01, 0.1, 1.0), (0.1, 0.5, 0.9))),
]
FULL = [dict(zip("abcde", values, strict=True)) for values in product((1, 2), (3, 4, 5), (6, 7), (1e-3, 1e-2), (8, 9))]
OTHER = [{"lam": 0.01, "lr": 5e-3}, *({"lam": lam, "lr": lr} for lam, lr in product((0.01, 0.1), (1e-3, 1e-4)))]


@pytest.mark.parametrize(
    ("configs", "size", "apart"),
    [(SVM, (4, 3), 0), (FULL, (6, 8), 0), (OTHER, (2, 2), 1), ([{"lam": lam} for lam in range(1, 13)], (1, 12), 0)],
    ids=["conditional", "full", "published is no point", "one parameter"],
)
def test_every_configuration_of_a_grid_stands_on_its_surface_once(
    configs: list[dict[str, Any]], size: tuple[int, int], apart: int
) -> None:
    row, surface = made(*tuned(configs, drawn(len(configs)), drawn(len(configs), 1)))
    (view,) = sweep_views([row], surface)
    assert view.grid is not None
    rows = view.grid.rows
    shown = [cell.config_id for _, cells in rows for cell in cells if cell is not None]
    assert sorted(shown) == [f"c{at:03}" for at in range(apart, len(configs))]
    assert sorted((len(rows), len(view.grid.columns))) == sorted(size)
    assert [role.words for role in view.roles][:2] == ["chosen", "default"]
    shades = {cell.val: cell.shade for _, cells in rows for cell in cells if cell is not None}
    assert [shades[val] for val in sorted(shades)] == sorted(shades.values())


def test_a_sweep_that_was_not_run_says_so_and_one_that_was_not_chosen_of_too(tmp_path: Path) -> None:
    plan = sweep_plan("nnpu", "s", "d", "grid").to_json()
    path = tmp_path / "work" / "plan" / "tune" / "nnpu.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(plan))
    summary, surface = sweeps(tmp_path)
    assert ([row.note for row in summary], surface) == (["not run"], [])
    assert sweep_views(summary, surface)[0].roles == []
    for part, rows in zip(("val", "test"), tuned([{"a": 1}, {"a": 2}], drawn(2), drawn(2)), strict=True):
        (tmp_path / "results" / "tune" / part).mkdir(parents=True)
        rows.to_parquet(tmp_path / "results" / "tune" / part / "nnpu.parquet")
    summary, surface = sweeps(tmp_path)
    assert re.match("not chosen yet", summary[0].note)
    assert summary[0].chosen.config_id is None
    assert len(surface) == 2


def _empty(column: str) -> object:
    """A value for a column that the test does not look at: none where it may be empty."""
    kinds = get_args(get_type_hints(ResultRow)[column]) or (get_type_hints(ResultRow)[column],)
    return None if type(None) in kinds else kinds[0]()


def test_a_sweep_that_is_not_planned_is_told_by_status_and_stands_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("tables", "tune"):
        (tmp_path / "work" / "plan" / part).mkdir(parents=True)
    named = {"method": "pu_svm", "scenario": "one_vs_all", "dataset": "digits"}
    named |= {"entry": "pu_svm", "fit_id": "f", "trial_id": "t", "reason": "", "attempts": 1, "scoring_digest": "s"}
    for folder, name in (("tune", "former"), ("sweeps", "pu_svm-one_vs_all-grid-grid")):
        for part, rows in zip(("val", "test"), tuned([{"a": 1}, {"a": 2}], drawn(2), drawn(2)), strict=True):
            (tmp_path / "results" / folder / part).mkdir(parents=True)
            empty = {field.name: _empty(field.name) for field in fields(ResultRow) if field.name not in {*rows, *named}}
            rows.assign(**named, **empty).to_parquet(tmp_path / "results" / folder / part / f"{name}.parquet")
    summary, surface = sweeps(tmp_path)
    assert [row.tune for row in summary] == ["former", "pu_svm-one_vs_all-grid-grid"]
    assert {row.note for row in summary} == {NOT_PLANNED}
    for view in sweep_views(summary, surface):
        assert [role.words for role in view.roles] == ["default", "best value", "best on test (reference)"]
        assert view.grid is not None
    (tmp_path / "work" / "plan" / "compute.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(app, ["status"])
    line = "sweeps that are not planned, but in MLflow and the report: former, pu_svm-one_vs_all-grid-grid"
    assert line in told.output
