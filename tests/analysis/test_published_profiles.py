"""The profile of the paper's experiments beside its tables: every number is asked, by the settings that it prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from project import REPOSITORY

from puoc.analysis.paper.claims import claims
from puoc.analysis.paper.deviations import reservations
from puoc.analysis.paper.matching import published_cells
from puoc.analysis.paper.published import CAPTIONS, UNPRINTED, numbers
from puoc.plan.bind import bind
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params
from puoc.scenarios import sample_and_test
from puoc.store.plan_files import planned_tables, read_configs
from puoc.store.plans import TablePlan


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("paper")
    make_plan(read_params(REPOSITORY / "profiles/paper.yaml")).write(root)
    return root


def asked_rows(root: Path, plan: TablePlan) -> pd.DataFrame:
    """What a run would record of its questions, for two seeds."""
    configs = read_configs(root / f"work/configs/published/{plan.table}.json")
    rows: list[dict[str, Any]] = []
    for one in bind(plan, configs):
        if one.seed < 2:
            sample, _ = sample_and_test(one.cell, one.seed, plan.dataset, "0")
            sizes = {name: getattr(sample, name) for name in ("n_pos_lab", "n_pos_unl", "n_neg_unl")}
            fit = one.trial.fit
            told = {"pos": json.dumps(sample.pos), "params": json.dumps(fit.params), "numerics": fit.numerics}
            rows.append({"entry": one.entry, "cell": one.cell.name, "seed": one.seed} | told | sizes)
            rows[-1] |= {"prior": fit.prior.kind if fit.prior else None, "config_source": one.config.source}
    return pd.DataFrame(rows)


def test_every_number_but_a_copied_row_is_asked(planned: Path) -> None:
    found = published_cells(planned_tables(planned))
    asked = {(one.published, one.method, one.column) for one in found}
    table = numbers()
    printed = set(zip(table["published"], table["method"], table["column"], strict=True))
    assert {method for _, method, _ in printed - asked} == {"hrn_star"}
    assert {one.published for one in found} == {*table["published"], *CAPTIONS, *UNPRINTED}


def test_what_differs_from_the_paper_is_what_the_data_cannot_give(planned: Path) -> None:
    plans = [plan for plan in planned_tables(planned) if plan.published]
    rows = {plan.table: asked_rows(planned, plan) for plan in plans}
    held = reservations(plans, dict(rows))
    assert {(one.table, held[one].differs_in) for one in held if held[one].differs_in} == {
        ("abnormal", "479 labelled positives (576)"),
        ("elpv", "479 labelled positives (576)"),
        ("sequences_op_spam", "166 labelled positives (170)"),
        ("sequences_sms_spam", "597 unlabelled negatives (609)"),
        ("twitter", "792 unlabelled negatives (818)"),
        ("twitter_accounts", "792 unlabelled negatives (818)"),
    }


def test_a_changed_hyperparameter_of_one_class_is_seen(planned: Path) -> None:
    plan = next(plan for plan in planned_tables(planned) if plan.published == "ova")
    rows = asked_rows(planned, plan)
    of_cell = (rows["entry"] == "drocc") & (rows["cell"] == "pos=5")
    rows.loc[of_cell, "params"] = [text.replace('"lr": 0.005', '"lr": 0.001') for text in rows.loc[of_cell, "params"]]
    held = reservations([plan], {plan.table: rows})
    assert {(one.column, held[one].differs_in) for one in held if held[one].differs_in} == {
        ("pos=5", "lr 0.001 (5e-3)"),
        ("avg", "lr 0.001 (5e-3)"),
    }


def test_every_claim_can_be_computed_from_what_is_asked(planned: Path) -> None:
    plans = planned_tables(planned)
    results = {}
    for plan in plans:
        if plan.published:
            asked = [(entry.entry, cell, seed) for entry in plan.entries for cell in plan.cell_names for seed in (0, 1)]
            rows = pd.DataFrame(asked, columns=["entry", "cell", "seed"])
            results[plan.table] = rows.assign(status="ok", auc=0.5)
    held = dict.fromkeys(published_cells(plans), next(iter(reservations(plans, {}).values())))
    for claim in claims(plans, [], results, held):
        by_tests = claim.rule in ("significant", "not_below")
        assert claim.n_not_run == (claim.n_parts if by_tests else 0)
