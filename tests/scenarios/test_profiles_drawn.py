"""Every cell of the paper's tables can be drawn from the real data: exact, and apart from the test rows by content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from project import REPOSITORY

from puoc.datasets import DATASETS
from puoc.datasets.prepare.arrays import Prepared, prepare
from puoc.plan.params import Table, read_params
from puoc.scenarios import check_disjoint, draw, sample_and_test
from puoc.scenarios import test_rows as rows_of_test

TABLES = read_params(REPOSITORY / "profiles" / "paper.yaml", REPOSITORY).tables
SHARED = {"twitter_users": "cresci2017", "twitter_tweets": "cresci2017"}  # datasets of one part of the mirror
ABSENT = "abnormal1001"  # registration
SEEDS = (0, 11)


@pytest.mark.slow
@pytest.mark.parametrize("dataset", sorted({table.spec.dataset for table in TABLES.values()} - {ABSENT}))
def test_every_cell_of_every_table_can_be_drawn(dataset: str, mirror: Callable[[str], Path], tmp_path: Path) -> None:
    source = mirror(SHARED.get(dataset, dataset)) if DATASETS[dataset].files else None
    prepare(dataset, tmp_path / "data", tmp_path / "prepared", mirror=source)
    prepared = Prepared.open(tmp_path / "prepared" / dataset)
    for table in (table for table in TABLES.values() if table.spec.dataset == dataset):
        _check(table, prepared)


def _check(table: Table, prepared: Prepared) -> None:
    for cell in table.cells:
        for seed in SEEDS:
            sample, test = sample_and_test(cell, seed, prepared.name, prepared.digest)
            drawn = draw(prepared, sample, seed)
            rows, y = rows_of_test(prepared, test, seed)
            check_disjoint(prepared, drawn, rows)
            assert (len(drawn.p), int(drawn.y_u.sum()), int((~drawn.y_u).sum())) == (
                cell.n_pos_lab,
                cell.n_pos_unl,
                cell.n_neg_unl,
            )
            assert set(prepared.y[drawn.p]) == set(sample.pos)
            assert set(prepared.y[drawn.u]) <= {*sample.pos, *(sample.neg or ())}
            assert set(prepared.y[rows]) == {*test.pos, *test.neg}
            assert y.any()
            assert not y.all()
