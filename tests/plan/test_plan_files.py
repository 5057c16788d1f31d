"""The plan's files: whatever became of one, the commands that read it name it, and say how it is written again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from project import REPOSITORY
from typer.testing import CliRunner

from puoc.cli.app import app
from puoc.plan.bind import bind
from puoc.plan.make_plan import make_plan
from puoc.plan.params import read_params
from puoc.store.plan_files import (
    planned_sweep,
    planned_tables,
    read_compute,
    read_configs,
    read_data,
    read_sweep,
    read_table,
    read_weights,
)
from puoc.store.plans import SweepPlan, TablePlan

TABLE, SWEEP = "work/plan/tables/one_vs_all.json", "work/plan/tune/pu_svm.json"
COMPUTE, DATA, WEIGHTS = (f"work/plan/{name}.json" for name in ("compute", "data", "weights"))
PUBLISHED, SELECTED = (f"work/configs/{part}/one_vs_all.json" for part in ("published", "selected"))

#: Every file with its readers.
READERS: dict[str, list[Callable[[], Any]]] = {
    TABLE: [lambda: read_table(Path(TABLE)), lambda: planned_tables(Path())],
    SWEEP: [lambda: read_sweep(Path(SWEEP)), lambda: planned_sweep(Path(), "pu_svm")],
    COMPUTE: [lambda: read_compute(Path())],
    DATA: [lambda: read_data(Path())],
    WEIGHTS: [lambda: read_weights(Path())],
    PUBLISHED: [lambda: read_configs(Path(PUBLISHED))],
}
#: Commands that need what the file says.
COMMANDS = {
    TABLE: ["prepare", "compare", "run one_vs_all"],
    SWEEP: ["prepare", "compare", "tune pu_svm", "study --method pu_svm"],
    COMPUTE: ["tune pu_svm", "sweep --method pu_svm"],
    DATA: ["fetch", "prepare"],
    WEIGHTS: ["fetch"],
    SELECTED: ["run one_vs_all", "compare"],
}
#: Of no file of the plan.
ODD = {
    "an empty file": b"",
    "half a file": b'{"table": "one_vs',
    "no text": b"\xff\xfe\x00",
    "thousands of brackets": b"[" * 100_000,
    "a list": b"[]",
    "nothing": b"null",
    "a number": b"3",
    "a text": b'"text"',
    "a list of mappings": b"[{}]",
    "a mapping of a number": b'{"digits": 3}',
    "a mapping of lists": b'{"digits": [], "one_vs_all": [], "pu_svm": []}',
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny profile, planned and prepared."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(REPOSITORY / "profiles" / "tiny.yaml", "params.yaml")
    shutil.copytree(REPOSITORY / "tuning" / "spaces", "tuning/spaces")
    make_plan(read_params(Path("params.yaml"), tmp_path)).write(tmp_path)
    Path(WEIGHTS).write_text('{"small": {"network": "resnet18", "weights": "f37072fd"}}')
    return tmp_path


def plan_in(name: str) -> TablePlan | SweepPlan:
    """The plan in a file."""
    return read_table(Path(name)) if name == TABLE else read_sweep(Path(name))


def ended(words: str) -> tuple[int, str]:
    """Exit code and words of a command that must not end in a traceback."""
    done = CliRunner().invoke(app, words.split())
    assert done.exception is None or isinstance(done.exception, SystemExit), f"{words}: {done.exception!r}"
    return done.exit_code, done.output


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", READERS)
def test_what_the_plan_wrote_is_read(name: str) -> None:
    for read in READERS[name]:
        read()
    if "work/plan/t" in name:
        assert plan_in(name).to_json() == json.loads(Path(name).read_text())


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", READERS)
def test_a_file_of_another_form_is_told_with_what_stands_there(name: str, odd: str) -> None:
    path = Path(name)
    path.write_bytes(ODD[odd])
    for read in READERS[name]:
        with pytest.raises(ValueError, match="expected it as puoc plan writes it; run puoc plan") as raised:
            read()
        assert str(path) in str(raised.value)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_end_with_2_and_name_the_file_and_what_writes_it_again(name: str) -> None:
    assert ended("prepare")[0] == 0
    shutil.copytree("work/configs/published", "work/configs/selected")
    for content in ("[]", '{"one_vs_all": 3, "pu_svm": []}', "{"):
        Path(name).write_text(content)
        for words in COMMANDS[name]:
            code, said = ended(words)
            assert code == 2, f"{words}: {said}"
            assert name in said, f"{words}: {said}"
            assert ("run puoc select" if name == SELECTED else "run puoc plan") in said
        for words in ("pending", "status", "retry all"):
            assert ended(words)[0] in (0, 2)


def changes(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every place of a JSON value, with things of another kind to stand there."""
    others = [one for one in (None, 3.5, "text", [], {}) if not isinstance(one, type(value))]
    yield from ((at, one) for one in others if at)
    inside = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, inner in inside:
        if key not in ("params", "curve", "files"):  # hyperparameters are what their method says
            yield from changes(inner, (*at, key))


def put(value: Any, at: tuple[Any, ...], one: Any) -> Any:
    """A copy with one thing in that place."""
    found = deepcopy(value)
    inner = found
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = one
    return found


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", [TABLE, SWEEP])
def test_a_value_of_another_kind_anywhere_is_told_or_does_no_harm(name: str) -> None:
    whole, told = json.loads(Path(name).read_text()), 0
    configs = read_configs(Path(PUBLISHED)) if name == TABLE else None
    for at, one in changes(whole):
        Path(name).write_text(json.dumps(put(whole, at, one)))
        try:
            list(bind(plan_in(name), configs))
            protocol = [plan.twin_pairs() for plan in planned_tables(Path()) if plan.redraws]
        except ValueError as error:
            assert name in str(error)  # noqa: PT017 - either may happen
            told += 1
        else:
            assert isinstance(protocol, list)
    assert told > 50


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", [TABLE, SWEEP, COMPUTE])
def test_each_key_is_missed_by_its_name(name: str) -> None:
    whole = json.loads(Path(name).read_text())
    optional = ("title", "shared_rows", "published", "own")
    for key in (key for key in whole if key not in optional):
        Path(name).write_text(json.dumps({of: value for of, value in whole.items() if of != key}))
        with pytest.raises(ValueError, match=f"{Path(name).name}: {key}: the key is missing; .* run puoc plan"):
            READERS[name][0]()
    for key in next(iter(whole.get("entries", {}).values()), {}):
        changed = deepcopy(whole)
        entry = next(iter(changed["entries"]))
        del changed["entries"][entry][key]
        Path(name).write_text(json.dumps(changed))
        with pytest.raises(ValueError, match=rf"entries\.{entry}\.{key}: the key is missing"):
            READERS[name][0]()


@pytest.mark.usefixtures("here")
def test_files_of_a_plan_that_do_not_fit_each_other_are_told() -> None:
    plan = json.loads(Path(TABLE).read_text())
    Path(TABLE).write_text(json.dumps(plan | {"dataset": "mnist5k"}))
    code, said = ended("prepare")
    assert (code, said.split(";")[0]) == (2, f"{TABLE}: got 'mnist5k'")
    Path(DATA).write_text('{"digitz": {}}')
    code, said = ended("fetch")
    assert code == 2
    assert f"{DATA}: got the dataset 'digitz', which is unknown" in said


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("content", ["[]", '{"f": []}', "{"])
def test_a_damaged_file_of_pending_is_told(content: str) -> None:
    assert ended("pending")[0] == 0
    path = Path("work/pending/tune/pu_svm.json")
    path.write_text(content)
    code, said = ended("pending")
    assert code == 2
    assert str(path) in said
    assert "delete it, and puoc pending writes it again" in said
