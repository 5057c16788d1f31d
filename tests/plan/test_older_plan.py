"""A plan that is older than params.yaml or own data is not computed as if it were the present one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from own_tables import TESTED, ask, does, tables
from planned import Data
from shift_project import PARAMS, PLANNED
from typer.testing import CliRunner

from puoc.cli.app import app
from puoc.datasets.user import file_stamps as own_stamps
from puoc.datasets.user.dataset import fingerprint

SWEPT = """
tune:
  nnpu: {scenario: named_shift, dataset: digits, pos: [3], shifts: [{neg: [1]}], n_pos_lab: 20, n_pos_unl: 20,
    n_neg_unl: 20, seeds: 1, holdout: 0.2, space: few, search: grid}
"""
COMPUTING = ["prepare", "select", "run shift", "tune nnpu", "sweep --method nnpu --dry-run"]
TELLING = ["status", "compare", "report --no-track", "pending"]
Edit = Callable[[Path], object]


@pytest.fixture
def root(tmp_path: Path, prepared_data: Data, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project planned by the command, with its data."""
    root = PLANNED.at(tmp_path, prepared_data)
    (root / "params.yaml").write_text(PARAMS.replace("tune: {}", SWEPT))
    space = root / "tuning" / "spaces" / "nnpu.yaml"
    space.parent.mkdir(parents=True, exist_ok=True)
    space.write_text("published: {}\nfew: {lr: [1.0e-3, 1.0e-2]}\n")
    monkeypatch.chdir(root)
    monkeypatch.delenv("DVC_STAGE", raising=False)
    assert said("plan")[0] == 0
    return root


def said(words: str) -> tuple[int, str]:
    """Exit code and words of a command."""
    done = CliRunner().invoke(app, words.split())
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def _seeds(root: Path) -> None:
    params = root / "params.yaml"
    params.write_text(params.read_text().replace("seeds: 2", "seeds: 3"))


def _broken(root: Path) -> None:
    (root / "params.yaml").write_text("tables: [")


def _gone(root: Path) -> None:
    (root / "params.yaml").unlink()


def _space(root: Path) -> None:
    (root / "tuning" / "spaces" / "nnpu.yaml").write_text("published: {}\nfew: {lr: [1.0e-3]}\n")


@pytest.mark.parametrize("words", COMPUTING)
@pytest.mark.parametrize(
    ("edit", "name"),
    [(_seeds, "params.yaml"), (_broken, "params.yaml"), (_gone, "params.yaml"), (_space, "tuning/spaces/nnpu.yaml")],
)
def test_what_computes_refuses_it(edit: Edit, name: str, words: str, root: Path) -> None:
    edit(root)
    code, told = said(words)
    assert code == 2
    assert f"{name} changed since the plan in work/plan was made; run puoc plan" in told
    assert not (root / "ledger").exists()
    assert not (root / "results").exists()


@pytest.mark.parametrize("words", TELLING)
def test_what_tells_says_so(words: str, root: Path) -> None:
    assert "changed since" not in said(words)[1]
    _seeds(root)
    code, told = said(words)
    assert code == 0
    assert (
        "params.yaml changed since the plan in work/plan was made: the output below belongs to the older plan" in told
    )


@pytest.mark.slow
def test_a_comment_changes_nothing_and_below_dvc_the_plan_is_dvcs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    params = root / "params.yaml"
    params.write_text(f"# another comment\n{params.read_text()}")
    assert said("run shift")[0] == 0
    _seeds(root)
    assert said("run shift")[0] == 2
    monkeypatch.setenv("DVC_STAGE", "run@shift")
    assert said("run shift")[0] == 0
    monkeypatch.delenv("DVC_STAGE")
    assert said("plan")[0] == 0
    assert said("run shift")[0] == 0


def test_the_plan_of_another_file_is_compared_with_that(root: Path) -> None:
    other = root / "other.yaml"
    other.write_text((root / "params.yaml").read_text())
    assert said("plan --params other.yaml")[0] == 0
    _seeds(root)
    assert said("run shift")[0] == 0
    other.unlink()
    code, told = said("run shift")
    assert code == 2
    assert "other.yaml changed since" in told


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"params": 1}', "{"])
def test_a_damaged_note_of_what_a_plan_was_made_of_is_named(content: str, root: Path) -> None:
    note = root / "work" / "plan" / "source.json"
    note.write_text(content)
    code, told = said("status")
    assert code == 2
    assert "source.json" in told
    assert "run puoc plan" in told
    assert said("plan")[0] == said("status")[0] == 0


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A planned project about own data, with their arrays."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_STAGE", raising=False)
    tables(tmp_path)
    assert ask(tmp_path, TESTED)[0] == 0
    does("prepare")
    return tmp_path


def _fewer(root: Path) -> str:
    path = root / "own" / "u.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-20]))
    return "own/u.csv"


def _swapped(root: Path) -> str:
    path = root / "own" / "t.csv"
    before, content = path.stat(), path.read_text()
    path.write_text(content.replace(",1\n", ",x\n").replace(",0\n", ",1\n").replace(",x\n", ",0\n"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # of one size and one time with what was planned
    assert path.stat().st_size == before.st_size
    return "own/t.csv"


def _without(root: Path) -> str:
    (root / "own" / "p.csv").unlink()
    return "own/p.csv"


@pytest.mark.parametrize("edit", [_fewer, _swapped, _without])
def test_own_data_that_changed_are_not_computed_from_as_they_were(edit: Callable[[Path], str], own: Path) -> None:
    assert "changed since" not in said("status")[1]
    name = edit(own)
    for words in ("run table", "select", "prepare"):
        code, told = said(words)
        assert code == 2, told
        assert f"{name} changed since the plan in work/plan was made; run puoc plan" in told
    assert not (own / "ledger").exists()
    code, told = said("status")
    assert code == 0
    assert f"{name} changed since the plan in work/plan was made: the output below belongs to the older plan" in told
    if edit is not _without:
        assert said("plan")[0] == 0
        assert "changed since" not in said("status")[1]


def test_own_data_are_read_again_only_where_they_were_touched(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def watched(path: Path) -> str:
        read.append(path.name)
        return fingerprint(path)

    monkeypatch.setattr(own_stamps, "fingerprint", watched)
    kept = own / "work" / "own_stamps.json"
    kept.unlink()  # as in a copy of the project
    assert said("status")[0] == 0
    assert sorted(read) == ["p.csv", "t.csv", "u.csv"]
    read.clear()
    assert said("status")[0] == 0
    assert read == []
    path = own / "own" / "p.csv"
    content = path.read_bytes()
    path.write_bytes(content)
    assert "changed since" not in said("status")[1]
    assert read == ["p.csv"]
    read.clear()
    for damaged in ("", "[]", '{"own/p.csv": 1}', '{"own/p.csv": [1, 2, 3]}'):
        kept.write_text(damaged)
        assert "changed since" not in said("status")[1]
    assert len(read) == 12


def test_a_file_that_is_written_while_it_is_read_is_not_taken_for_what_it_was(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(path: Path) -> str:
        found = fingerprint(path)
        if path.name == "p.csv":
            path.write_text(path.read_text() + "1,1\n")
        return found

    (own / "work" / "own_stamps.json").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(own_stamps, "fingerprint", late)
        said("status")
    assert "own/p.csv changed since" in said("status")[1]
