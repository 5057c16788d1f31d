"""dvc repro sees that own data changed, also behind a link, and git sees none of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import New
from own_tables import PARAMS, PLAIN, people, tables


@pytest.mark.slow
def test_dvc_runs_a_table_again_when_its_own_data_changed_and_else_not(new_project: New, tmp_path: Path) -> None:
    project = new_project()
    tables(project.root)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project.root / "own" / "u.csv").rename(elsewhere / "u.csv")
    (project.root / "own" / "u.csv").symlink_to(elsewhere / "u.csv")
    project.write("params.yaml", PARAMS.replace("DATA", PLAIN).replace("MORE", ", holdout: 0.25"))
    first = project.repro_passes()
    assert {"plan", "prepare", "run@table", "report"} <= set(first.stages)
    assert project.repro_passes().stages == ["pending"]
    before = project.rows("table")
    for name, rows in (("p", people(33, 9, 1.5)), ("u", people(50, 8, 0))):
        rows.to_csv(project.root / "own" / f"{name}.csv", index=False)
        done = project.repro_passes("run@table")
        assert {"plan", "prepare", "run@table"} <= set(done.stages), name
        assert (project.root / "own" / f"{name}.csv").is_symlink() == (name == "u")
        after = project.rows("table")
        assert not {row.fit_id for row in before} & {row.fit_id for row in after}
        before = after
    assert {(row.n_pos_lab, row.n_unl) for row in before} == {(33, 50)}
    listed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=project.root, capture_output=True, text=True, check=True
    )
    assert set(listed.stdout.splitlines()) == {"?? dvc.lock", " M params.yaml"}
