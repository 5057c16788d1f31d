"""The whole job on a small question: ``dvc repro`` computes what is missing, once, and nothing else."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from project import File, Project, Repro

New = Callable[..., Project]

FAILING = '''"""A method that always fails."""

from typing import Any, Self

from puoc.methods.training.estimator import Compute, Estimator, PUSample, typed
from puoc.records import Array
from puoc.registry import method


@method("broken")
@typed
class Broken(Estimator):
    """Raises whatever it is given."""

    kind = "oc"
    inputs = frozenset({"image", "vector"})

    weight: float

    def fit_lanes(self, samples: list[PUSample], compute: Compute | None = None) -> list[Self]:
        raise RuntimeError(f"weight {self.weight} is more than it can bear")

    def decision_function(self, X: Array) -> Any:
        raise AssertionError("never reached")

    def state(self) -> dict[str, Array]:
        raise AssertionError("never reached")

    def restore(self, state: dict[str, Array], shape: tuple[int, ...]) -> Self:
        raise AssertionError("never reached")
'''


def new_records(project: Project, before: dict[str, File]) -> Counter[str]:
    """Methods of the records that are there now and were not before; none of the earlier ones was written again."""
    now = project.records()
    assert {name: now.get(name) for name in before} == before
    added = [json.loads((project.root / "ledger" / name).read_text()) for name in now if name not in before]
    return Counter(record["result"]["fit"]["method"] for record in added)


def stages(done: Repro) -> list[str]:
    return [stage for stage in done.stages if stage != "pending"]


def page(project: Project) -> str:
    return "\n".join(path.read_text() for path in sorted((project.root / "reports").rglob("*.html")))


def configured(project: Project) -> None:
    """Published configurations alone, so that nothing is tuned: half the fits."""
    text = (project.root / "params.yaml").read_text()
    start, end = text.index("tune:"), text.index("methods:\n  oc_svm")
    project.write("params.yaml", (text[:start] + "tune: {}\n\n" + text[end:]).replace("selected", "published"))


@pytest.mark.slow
def test_one_dvc_repro_on_a_fresh_copy_leaves_results_report_runs_and_records(finished: tuple[Project, Repro]) -> None:
    project, first = finished
    once = ["tune@pu_svm", "select", "run@one_vs_all", "compare", "report"]
    assert first.stages == ["plan", "fetch", "prepare", "pending", *once]
    rows = project.rows("one_vs_all")
    asked = {(m, f"pos={c}", s) for m in ("oc_svm", "pu_svm", "nnpu") for c in (0, 1) for s in (0, 1)}
    assert {(r.entry, r.cell, r.seed) for r in rows} == asked
    assert len(rows) == len(asked)
    assert {r.status for r in rows} == {"ok"}
    assert all(0 < r.auc <= 1 for r in rows)
    tuned = project.rows("pu_svm", "tune/val")
    assert len(tuned) == 3 * 2  # configurations x seeds
    columns = pq.read_schema(project.root / "results" / "tune" / "val" / "pu_svm.parquet").names
    assert not {"auc", "auc_train_pool"} & set(columns)
    fits = {r.fit_id for r in rows + tuned}
    assert {Path(name).stem for name in project.records()} == fits
    assert (project.root / "reports" / "index.html").stat().st_size > 1000
    with closing(sqlite3.connect(project.root / "mlruns" / "mlflow.db")) as store:
        statuses = Counter(status for (status,) in store.execute("select status from runs"))
        trials = store.execute("select count(*) from tags where key = 'kind' and value = 'trial'").fetchone()[0]
    assert set(statuses) == {"FINISHED"}
    assert trials == len(rows) + len(tuned)
    assert not list((project.root / "ledger").rglob("*.claim"))


@pytest.mark.slow
def test_the_first_run_has_no_warning(finished: tuple[Project, Repro]) -> None:
    assert "warning" not in finished[1].output.lower()


@pytest.mark.slow
def test_the_pipeline_leaves_no_file_that_git_would_pick_up_but_its_lock(finished: tuple[Project, Repro]) -> None:
    root = finished[0].root
    listed = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True)
    assert listed.stdout == "?? dvc.lock\n"


@pytest.mark.slow
def test_a_second_dvc_repro_runs_only_pending_and_computes_nothing(
    finished_copy: New, record_property: Callable[[str, object], None]
) -> None:
    project = finished_copy()
    made = project.tree("ledger", "results", "reports", "work/plan", "work/prepared")
    again = project.repro_passes()
    record_property("seconds of a dvc repro with nothing to do", round(again.seconds, 1))
    assert again.stages == ["pending"]
    assert project.tree("ledger", "results", "reports", "work/plan", "work/prepared") == made


@pytest.mark.slow
def test_a_changed_hyperparameter_recomputes_the_fits_of_its_method_alone(finished_copy: New) -> None:
    project = finished_copy()
    before = project.records()
    project.edit("params.yaml", "lr: 1.0e-2", "lr: 2e-2")
    done = project.repro_passes("run@one_vs_all")
    assert new_records(project, before) == {"nnpu": 4}
    assert "tune@pu_svm" not in done.stages
    assert "fetch" not in done.stages
    assert {json.loads(r.params)["lr"] for r in project.rows("one_vs_all") if r.entry == "nnpu"} == {0.02}


@pytest.mark.slow
def test_a_comment_in_a_method_recomputes_nothing(finished_copy: New) -> None:
    project = finished_copy()
    before, results = project.records(), project.tree("results")
    path = project.root / "src/puoc/methods/nnpu.py"
    path.write_text(
        "# Why not.\n" + path.read_text().replace("        return non_neg", "\n        # Yes.\n        return non_neg")
    )
    done = project.repro_passes()
    assert done.stages == ["plan", "pending"]
    assert project.records() == before
    assert project.tree("results") == results


@pytest.mark.slow
def test_a_changed_operator_in_a_method_recomputes_the_fits_of_that_method_alone(finished_copy: New) -> None:
    project = finished_copy()
    before = project.records()
    project.edit("src/puoc/methods/nnpu.py", "alpha, self.correction)", "alpha * 1.0, self.correction)")
    project.repro_passes("run@one_vs_all")
    assert new_records(project, before) == {"nnpu": 4}


@pytest.mark.slow
def test_a_changed_operator_in_the_risks_recomputes_the_families_that_reach_them(finished_copy: New) -> None:
    project = finished_copy()
    project.write("src/puoc/methods/apart.py", FAILING.replace('"broken"', '"apart"'))
    project.edit("params.yaml", "methods: [oc_svm, pu_svm, nnpu]", "methods: [oc_svm, pu_svm, nnpu, apart]")
    project.edit("params.yaml", "  oc_svm:\n", "  apart: {params: {weight: 1.0}}\n  oc_svm:\n")
    project.repro_passes("run@one_vs_all")
    before = project.records()
    old = "torch.where(negative >= 0, positive + negative, -negative)"
    project.edit("src/puoc/methods/training/risks.py", old, old.replace("-negative", "-1.0 * negative"))
    project.repro_passes("run@one_vs_all")
    # pu_svm and nnpu reach this risk, oc_svm beside pu_svm in svm.py does not; a sweep adds 3 configurations x 2 seeds
    added = new_records(project, before)
    assert added.pop("apart") == 4  # its second attempt, due whatever changed
    assert added == {"pu_svm": 4 + 6, "nnpu": 4}


@pytest.mark.slow
def test_a_misspelt_key_fails_dvc_repro_in_words_and_leaves_the_earlier_plan(finished_copy: New) -> None:
    project = finished_copy()
    before = project.tree("work", "results", "ledger", "reports")
    project.edit(
        "params.yaml",
        "n_pos_unl: 30\n    n_neg_unl: 30\n    seeds: 2\n    configs",
        "n_pos_unll: 30\n    n_neg_unl: 30\n    seeds: 2\n    configs",
    )
    words = "tables.one_vs_all.n_pos_unll: unknown key (did you mean 'n_pos_unl'?)"
    checked = project.puoc("plan", "--check")  # the installed command
    assert (checked.code, words in checked.output) == (2, True), checked.output
    done = project.repro()
    assert done.code != 0
    assert words in done.output
    assert done.stages == ["plan"]
    assert project.tree("work", "results", "ledger", "reports") == before


def with_a_broken_method(project: Project, methods: str) -> None:
    """Ask a table of these methods, of which ``broken`` raises whatever it is given."""
    project.write("src/puoc/methods/broken.py", FAILING)
    project.edit("params.yaml", "methods: [oc_svm, pu_svm, nnpu]", f"methods: {methods}")
    project.edit("params.yaml", "methods:\n  oc_svm", "methods:\n  broken: {params: {weight: 1.5}}\n  oc_svm")


@pytest.mark.slow
def test_a_method_that_always_fails_stops_no_other_and_is_tried_once_more(finished_copy: New) -> None:
    project = finished_copy()
    project.edit("params.yaml", "epochs: 3,", "epochs: 2,")  # nnpu, after it in the table, has fits to compute
    with_a_broken_method(project, "[oc_svm, broken, pu_svm, nnpu]")

    project.repro_passes()
    assert outcome(project) == {("broken", "failed", 1): 4, **{(m, "ok", 1): 4 for m in ("oc_svm", "pu_svm", "nnpu")}}
    text = page(project)
    assert "failed (4)" in text
    assert "RuntimeError: weight 1.5 is more than it can bear" in text
    status = project.puoc("status")
    assert status.code == 3
    assert "4 failed rows, 0 missing rows" in status.output
    assert "RuntimeError: weight 1.5" in status.output

    before = project.records()
    second = project.repro_passes()
    assert stages(second) == ["select", "run@one_vs_all", "compare", "report"]
    assert new_records(project, before) == {"broken": 4}
    assert outcome(project)["broken", "failed", 2] == 4

    assert project.repro_passes().stages == ["pending"]

    assert project.puoc("retry", "all").code == 0
    before = project.records()
    assert "run@one_vs_all" in project.repro_passes("run@one_vs_all").stages
    assert new_records(project, before) == {"broken": 4}
    assert outcome(project)["broken", "failed", 3] == 4


@pytest.mark.slow
def test_make_repro_ends_with_an_error_where_failed_rows_stand(finished_copy: New) -> None:
    project = finished_copy()
    with_a_broken_method(project, "[oc_svm, broken]")
    # .venv is the environment of these tests: it counts as installed, and must not be installed into
    project.write(".installed", "")
    words = ["make", "repro", "STAMP=.installed"]
    env = project.env | {"PIP_DRY_RUN": "1"}
    planned = subprocess.run([*words, "-n"], cwd=project.root, env=env, capture_output=True, text=True, check=True)
    assert "pip install" not in planned.stdout
    done = subprocess.run(words, cwd=project.root, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Error 3" in done.stderr
    assert "report:     reports/index.html" in done.stdout
    assert (project.root / "reports" / "index.html").exists()


def outcome(project: Project) -> Counter[tuple[str, str, int]]:
    return Counter((r.entry, r.status, r.attempts) for r in project.rows("one_vs_all"))


@pytest.mark.slow
def test_without_git_the_job_passes(new_project: New) -> None:
    project = new_project()
    configured(project)
    shutil.rmtree(project.root / ".git")
    assert project.call("dvc", "config", "--local", "core.no_scm", "true").code == 0  # as make install does
    project.repro_passes()
    assert {r.status for r in project.rows("one_vs_all")} == {"ok"}
    assert project.repro_passes().stages == ["pending"]


@pytest.mark.slow
def test_a_fresh_clone_with_the_committed_lock_does_the_whole_job(
    finished: tuple[Project, Repro], new_project: New
) -> None:
    project = new_project()
    shutil.copy(finished[0].root / "dvc.lock", project.root)
    project.repro_passes()
    assert project.answers() == finished[0].answers()
    assert (project.root / "reports" / "index.html").exists()


@pytest.mark.slow
def test_a_job_without_a_sweep_passes_and_a_removed_table_disappears_and_comes_back_for_free(
    new_prepared: New,
) -> None:
    project = new_prepared()
    configured(project)
    both = (project.root / "params.yaml").read_text()
    table = both[both.index("  one_vs_all:") : both.index("tune:")].rstrip() + "\n"
    second = table.replace("one_vs_all:", "second:", 1).replace("One class against all others", "Number two")
    both = both.replace(table, table + second.replace("pos: [0, 1]", "pos: [2]"))
    project.write("params.yaml", both)
    project.repro_passes()
    assert "Number two" in page(project)
    assert (project.root / "results" / "tables" / "second.parquet").exists()
    before = project.records()

    text = (project.root / "params.yaml").read_text()
    start = text.index("  second:")
    project.write("params.yaml", text[:start] + text[text.index("tune:") :])
    project.repro_passes()
    assert "Number two" not in page(project)
    compared = [path for path in (project.root / "results" / "compare").rglob("*") if path.is_file()]
    assert compared
    assert not [path for path in compared if b"second" in path.read_bytes()]

    project.write("params.yaml", both)
    project.repro_passes()
    assert "Number two" in page(project)
    assert project.records() == before

    for folder in ("work", "results", "reports"):  # as make clean does
        shutil.rmtree(project.root / folder)
    project.repro_passes()
    assert "Number two" in page(project)
    assert project.records() == before


@pytest.mark.slow
def test_switching_to_another_profile_and_back_computes_nothing_anew(finished_copy: New) -> None:
    project = finished_copy()
    before, answers = project.records(), project.answers()
    tiny = (project.root / "params.yaml").read_text()
    project.edit("params.yaml", "    pos: [0, 1]", "    pos: [3]")
    project.repro_passes("run@one_vs_all")
    assert sum(new_records(project, before).values()) == 6
    project.write("params.yaml", tiny)
    before = project.records()
    project.repro_passes()
    assert project.records() == before
    assert project.answers() == answers


@pytest.mark.slow
def test_a_sweep_of_ones_own_space_is_shown_by_the_next_dvc_repro(finished_copy: New) -> None:
    project = finished_copy()
    words = ("sweep", "--method", "pu_svm", "--scenario", "one_vs_all", "--space", "tiny")
    process = project.start("puoc", *words)
    output, _ = process.communicate(timeout=800)
    assert process.returncode == 0, output
    assert (project.root / "results" / "sweeps" / "val" / "pu_svm-one_vs_all-tiny-grid.parquet").exists()
    assert "pu_svm-one_vs_all-tiny-grid" not in page(project)
    assert stages(project.repro_passes()) == ["compare", "report"]
    assert "pu_svm-one_vs_all-tiny-grid" in page(project)
    assert stages(project.repro_passes()) == []
