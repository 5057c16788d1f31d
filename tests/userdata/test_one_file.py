"""Both parts of one labelled file: what messages call them, and what is said of rows that were learned from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from own_files import invoke

CHECK = ("fit", "--method", "naive_forest", "--number", "posts", "--label", "bot", "--positive", "yes", "--check")


@pytest.fixture
def accounts(tmp_path: Path) -> Path:
    """A table of labelled and unlabelled rows: positives repeat each other, and one column is far smaller in them."""
    rng = np.random.default_rng(0)
    positives = pd.DataFrame({"posts": rng.normal(20.0, 2.0, 40), "age": rng.normal(3.0, 1.0, 40)}).round(2)
    others = pd.DataFrame({"posts": rng.normal(9000.0, 900.0, 400), "age": rng.normal(2.0, 1.0, 400)}).round(2)
    for rows in (positives, others):
        for number, column in enumerate(rows):
            rows.loc[number::9, column] = np.nan
    positives = pd.concat([positives, positives[:20]])
    rows = pd.concat([positives.assign(bot="yes"), others.assign(bot="")])
    rows.sample(frac=1, random_state=0).to_csv(tmp_path / "all.csv", index=False)
    return tmp_path / "all.csv"


def test_messages_tell_the_labelled_rows_of_a_file_from_the_others(accounts: Path) -> None:
    done = invoke(*CHECK, "--data", accounts)
    assert done.exit_code == 0, done.output
    said = done.output.splitlines()
    labelled, unlabelled = f"{accounts} (labelled)", f"{accounts} (unlabelled)"
    assert f"{labelled}: 60 labelled positives" in said
    assert f"{unlabelled}: 400 unlabelled rows" in said
    [copies] = [line for line in said if "repeat another one" in line]
    assert f" rows of {labelled} repeat another one" in copies  # of many copies in P, and none in U


def test_missing_values_of_a_part_are_one_line(accounts: Path) -> None:
    lines = [line for line in invoke(*CHECK, "--data", accounts).output.splitlines() if "missing values: " in line]
    assert len(lines) == 2, lines
    assert all(" in 'posts'" in line and " in 'age'" in line for line in lines)


def test_rows_that_were_learned_from_are_not_said_to_differ_from_training(accounts: Path) -> None:
    both = invoke(*CHECK, "--data", accounts)
    assert "those of training" not in both.output
    alone = invoke(*CHECK, "--method", "oc_svm", "--data", accounts)  # it learns from P alone, and U is news
    assert "times those of training: another unit?" in alone.output


def test_a_date_is_asked_about_with_what_to_do_to_learn_from_it(accounts: Path) -> None:
    rows = pd.read_csv(accounts)
    rows["created"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.random.default_rng(1).permutation(len(rows)), "D")
    rows["tx_id"] = np.random.default_rng(2).permutation(90_000)[: len(rows)] + 10_000
    rows.to_csv(accounts, index=False)
    asked = invoke(*CHECK, "--data", accounts).output.splitlines()
    [date] = [line for line in asked if "column 'created' " in line]
    assert "as a number, such as an age in days" in date
    [number] = [line for line in asked if "column 'tx_id' " in line]
    assert "age in days" not in number
