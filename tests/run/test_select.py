"""Choosing a configuration: what the criterion measures, when the published one stays, what is never read."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import erf, sqrt
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from project import REPOSITORY

from puoc.analysis.selection.surface import sweeps
from puoc.analysis.statistics.auc import auc
from puoc.datasets.prepare.arrays import prepare
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params
from puoc.run.select import choose, in_words, select
from puoc.run.stages import run_part
from puoc.store.checked_parquet import read_rows, write_rows
from puoc.store.result_rows import TEST_COLUMNS, TestRow, ValidationRow

PUBLISHED, OTHER, THIRD = "a" * 8, "b" * 8, "c" * 8


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("shift", [-0.5, 0.0, 1.5])
def test_the_criterion_is_half_alpha_plus_the_auc_times_the_share_of_negatives(alpha: float, shift: float) -> None:
    gen, n_p, n_u = np.random.default_rng(7), 20, 30
    n_pos = round(alpha * n_u)
    values = []
    for _ in range(3000):
        held_p, unl_pos, unl_neg = (gen.normal(shift * (n > 0), 1, abs(n)) for n in (n_p, n_pos, -(n_u - n_pos)))
        values.append(auc(held_p, np.concatenate([unl_pos, unl_neg]), "withheld rows"))
    true_auc = (1 + erf(shift / 2)) / 2  # P(x > y) for unit normals whose means differ by shift
    expected = n_pos / n_u / 2 + (1 - n_pos / n_u) * true_auc
    assert abs(np.mean(values) - expected) < 4 * np.std(values) / sqrt(len(values))


def rows(values: Mapping[str, Sequence[float | None]], kind: str = "pu") -> list[ValidationRow]:
    """Validation rows: one cell, a seed a value; None is a failed fit. The published configuration is ``a``."""
    return [
        ValidationRow(
            entry="pu_svm",
            config_id=config,
            cell="pos=0",
            seed=seed,
            fit_id=f"{config}{seed}",
            trial_id=f"{config}{seed}",
            status="failed" if value is None else "ok",
            reason=None,
            attempts=1,
            scoring_digest="s",
            auc_val_pu=value,
            is_published=config == PUBLISHED,
            params=json.dumps({"lam": config}),
            kind=kind,
        )
        for config, of_config in values.items()
        for seed, value in enumerate(of_config)
    ]


def test_a_gain_of_more_than_one_standard_error_is_chosen_and_one_of_less_is_not() -> None:
    published = [0.70, 0.72, 0.74]
    noise = [-0.03, 0.0, 0.03]  # standard error .03 / sqrt(3) = .0173
    for gain, wins in ((0.018, True), (0.017, False)):
        better = [p + gain + n for p, n in zip(published, noise, strict=True)]
        choice = choose(rows({PUBLISHED: published, OTHER: better}))
        assert choice.is_published is not wins
        assert choice.config_id == (OTHER if wins else PUBLISHED)
        assert json.loads(choice.params) == {"lam": choice.config_id}
        assert choice.source.startswith("default: none of 2 of 2" if choice.is_published else "selected among 2 of 2")
        assert choice.val_se == pytest.approx(0.03 / sqrt(3))


def test_of_equals_the_published_one_is_chosen_whatever_the_ids_and_the_order() -> None:
    same = [0.7, 0.8, 0.9]
    for seed in range(5):
        asked = rows({OTHER: same, PUBLISHED: same, THIRD: same})
        random.Random(seed).shuffle(asked)
        choice = choose(asked)
        assert choice.config_id == PUBLISHED
        among = "3 of 3 configurations by AUC of withheld P against withheld U (0.8000)"
        assert choice.source == f"default: the best of {among}"


def test_a_second_criterion_by_ranks_stands_beside_and_decides_nothing() -> None:
    steady, leap = [0.71, 0.72, 0.73], [0.69, 0.69, 0.99]  # better everywhere by little; by much in one place
    choice = choose(rows({PUBLISHED: [0.70, 0.70, 0.70], OTHER: steady, THIRD: leap}))
    assert (choice.by_rank, choice.by_rank_agrees) == (OTHER, False)
    assert choice.val == pytest.approx(0.70)  # the leap does not beat its own standard error
    agreed = choose(rows({PUBLISHED: [0.70, 0.70, 0.70], OTHER: steady}))
    assert (agreed.by_rank, agreed.by_rank_agrees, agreed.config_id) == (OTHER, True, OTHER)
    equal = choose(rows({OTHER: [0.7, 0.8], PUBLISHED: [0.7, 0.8]}))
    assert (equal.by_rank, equal.by_rank_agrees) == (PUBLISHED, True)


def test_one_value_shows_no_error_so_the_published_one_stays() -> None:
    choice = choose(rows({PUBLISHED: [0.5], OTHER: [0.99]}))
    assert choice.is_published
    assert "(n = 1)" in choice.source


def test_a_configuration_that_failed_once_is_not_chosen_however_well_it_does_elsewhere() -> None:
    asked: dict[str, list[float | None]] = {
        PUBLISHED: [0.7, 0.7, 0.71],
        OTHER: [0.99, None, 0.99],
        THIRD: [0.8, 0.8, 0.82],
    }
    choice = choose(rows(asked))
    assert choice.config_id == THIRD
    assert "2 of 3 configurations" in choice.source


def test_where_the_published_one_failed_it_stays_and_the_row_says_so() -> None:
    choice = choose(rows({PUBLISHED: [0.7, None], OTHER: [0.9, 0.91]}))
    assert choice.is_published
    assert "1 of 2 validation values" in choice.source
    assert choice.val is None


def test_the_choice_for_a_one_class_method_says_that_it_used_the_unlabelled_rows() -> None:
    choice = choose(rows({PUBLISHED: [0.5, 0.51], OTHER: [0.9, 0.92]}, kind="oc"))
    assert choice.source.startswith("selected_with_unlabelled among")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny profile after its sweep."""
    root = tmp_path_factory.mktemp("swept")
    make_plan(read_params(REPOSITORY / "profiles" / "tiny.yaml", REPOSITORY)).write(root)
    prepare("digits", root / "data", root / "work" / "prepared")
    assert run_part(root, "tune", "pu_svm") == {"ok": 6, "failed": 0, "known": 0}
    return root


@pytest.fixture
def tuned(swept: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(swept, tmp_path / "project"))


def test_the_choice_reads_no_test_column(tuned: Path) -> None:
    val, test = (tuned / "results" / "tune" / part / "pu_svm.parquet" for part in ("val", "test"))
    assert not set(TEST_COLUMNS) & set(pq.read_schema(val).names)
    chosen = tuned / "work" / "configs" / "selected" / "one_vs_all.json"
    assert select(tuned) == [chosen]
    before = chosen.read_bytes()
    assert set(json.loads(before)) == {"oc_svm", "pu_svm", "nnpu"}

    turned = [replace(row, auc=1 - row.auc, auc_train_pool=0.5) for row in read_rows(test, TestRow)]
    write_rows(test, turned, TestRow)
    select(tuned)
    assert chosen.read_bytes() == before

    shutil.rmtree(test.parent)
    select(tuned)
    assert chosen.read_bytes() == before


def test_what_a_sweep_comes_to_is_written_without_a_table_and_goes_with_its_plan(tuned: Path) -> None:
    (tuned / "work" / "plan" / "tables" / "one_vs_all.json").unlink()
    assert select(tuned) == []
    written = tuned / "work" / "configs" / "selected" / "sweeps" / "pu_svm.json"
    choice = json.loads(written.read_text())
    assert choice == choose(read_rows(tuned / "results" / "tune" / "val" / "pu_svm.parquet", ValidationRow))._asdict()
    (summary,) = sweeps(tuned)[0]
    assert (summary.chosen.config_id, summary.by_rank.config_id) == (choice["config_id"], choice["by_rank"])
    assert (summary.n_complete, summary.note) == (3, "")
    (tuned / "work" / "plan" / "tune" / "pu_svm.json").unlink()
    select(tuned)
    assert not written.exists()


def test_a_sweep_that_was_not_run_is_named(tuned: Path) -> None:
    (tuned / "results" / "tune" / "val" / "pu_svm.parquet").unlink()
    with pytest.raises(ValueError, match=r"pu_svm\.parquet does not exist; .* run dvc repro tune@pu_svm"):
        select(tuned)


def test_rows_of_an_earlier_plan_are_not_chosen_from(tuned: Path) -> None:
    path = tuned / "work" / "plan" / "tune" / "pu_svm.json"
    plan = json.loads(path.read_text())
    path.write_text(json.dumps(plan | {"seeds": [0, 1, 2]}))
    with pytest.raises(ValueError, match="got rows of an earlier plan; run dvc repro tune@pu_svm"):
        select(tuned)
    assert not (tuned / "work" / "configs" / "selected").exists()


def test_a_choice_in_words_names_what_the_configurations_differ_in() -> None:
    by_config = {PUBLISHED: [0.5, 0.6, 0.5], OTHER: [0.8, 0.9, 0.8]}
    alike = {"solver": "exact", "kernel": "linear"}
    found = [
        replace(row, params=json.dumps(alike | {"lam": 0.1 * (row.config_id == OTHER)})) for row in rows(by_config)
    ]
    words = in_words(choose(found), (row.params for row in found))
    assert words.startswith(
        "lam=0.1 (selected among 2 of 2 configurations by AUC of withheld P against withheld U: 0.8"
    )
    one = found[:3]
    assert in_words(choose(one), (row.params for row in one)).startswith(
        "solver=exact, kernel=linear, lam=0.0 (default"
    )
