"""The ledger: what is recorded, under which name, how often it may be tried, and how it is carried elsewhere."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import time
from multiprocessing.synchronize import Semaphore
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from safetensors.numpy import save
from typer.testing import CliRunner

from puoc.cli.app import app
from puoc.records import Fit, FitResult, Prior, Sample, TestSet, Trial, TrialResult, content_id
from puoc.store import ledger_archive as archive
from puoc.store import ledger_upkeep as upkeep
from puoc.store.atomic import create, create_many, read_json, write_bytes
from puoc.store.ledger import Ledger
from puoc.store.ledger_records import Scored

FORK = multiprocessing.get_context("fork")
SAMPLE = Sample(dataset="digits", data_digest="d", pos=(3,), n_pos_lab=50, neg=(8,), n_pos_unl=20, n_neg_unl=30)
OLD = time.time() - 2 * 86400


def fit(seed: int = 0, **params: object) -> Fit:
    prior = Prior(kind="true")
    return Fit(method="nnpu", params=params, sample=SAMPLE, seed=seed, prior=prior, code_digest="c", draw_digest="r")


def ok(asked: Fit, **fields: object) -> FitResult:
    return FitResult(fit=asked, status="ok", curve={"loss": (0.7, 0.5)}, **fields)


def failed(asked: Fit) -> FitResult:
    return FitResult(fit=asked, status="failed", reason="RuntimeError: diverged")


def scored(asked: Fit, neg: int = 8, shift: float = 0.0) -> Scored:
    test = TestSet(pos=(3,), neg=(neg,))
    trial = Trial(fit=asked, test=test)
    result = TrialResult(trial_id=trial.id, fit_id=asked.id, test=test, auc=0.75, n_pos=2, n_neg=2, scoring_digest="s")
    return Scored(result, np.array([3.0, 1.0, 2.0, 0.0]) + shift)


def model(value: float = 1.0) -> bytes:
    return save({"w": np.full(3, value, dtype=np.float32)})


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


@pytest.fixture
def varied(ledger: Ledger) -> Ledger:
    """One fit of every fate: ok with a later trial, ok at the second attempt, skipped, failed, quarantined."""
    ledger.put(ok(fit(0)), [scored(fit(0))], model())
    ledger.add_trial(scored(fit(0), neg=9))
    ledger.put(failed(fit(1)))
    ledger.put(ok(fit(1)), [scored(fit(1))], model(2.0))
    ledger.put(FitResult(fit=fit(2), status="skipped", reason="nnpu takes vector rows"))
    ledger.put(failed(fit(3)))
    for _ in range(2):
        ledger.put(failed(fit(4)))
    return ledger


def names(ledger: Ledger) -> set[str]:
    return {path.name for path in ledger.root.rglob("*") if path.is_file()}


def files(ledger: Ledger) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in ledger.root.rglob("*") if path.is_file()}


# identity

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@given(st.dictionaries(st.text(), values, max_size=6), st.randoms())
def test_an_id_does_not_depend_on_the_order_of_keys(params, random):
    shuffled = list(params.items())
    random.shuffle(shuffled)
    assert fit(params=dict(shuffled)).id == fit(params=params).id
    assert content_id(dict(shuffled)) == content_id(params)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_fits_have_equal_ids_exactly_when_they_ask_the_same(a, b):
    assert (fit(a).id == fit(b).id) == (a == b)


def test_an_id_survives_json():
    asked = fit(lr=1e-3, sizes=[1, 2])
    assert Fit.model_validate(json.loads(json.dumps(asked.canonical()))).id == asked.id


def test_one_and_one_point_zero_differ_only_where_no_type_makes_them_equal():
    assert fit(radius=1).id != fit(radius=1.0).id  # params are normalised by the method's class, not here
    share = SAMPLE.model_copy(update={"holdout": 0.0})
    assert Sample.model_validate(SAMPLE.canonical() | {"holdout": 0}).id == share.id


def test_an_absent_optional_field_does_not_change_an_id():
    assert "encoder" not in fit().canonical()
    assert Fit.model_validate(fit().canonical() | {"encoder": None}).id == fit().id


def test_an_unknown_field_is_refused():
    with pytest.raises(ValidationError, match="radiuss"):
        Fit.model_validate(fit().canonical() | {"radiuss": 1})


# recording


def test_what_is_put_is_what_is_got(ledger):
    assert ledger.put(ok(fit(), alpha=0.4), [scored(fit())], model())
    entry = ledger.get(fit().id)
    assert entry.result.fit == fit()
    assert (entry.result.alpha, entry.result.curve, entry.result.attempts) == (0.4, {"loss": (0.7, 0.5)}, 1)
    (trial,) = entry.trials.values()
    np.testing.assert_array_equal(ledger.scores(trial), [3.0, 1.0, 2.0, 0.0])
    assert ledger.model_path(entry.result).read_bytes() == model()


def test_the_first_record_stands(ledger):
    assert ledger.put(ok(fit(), alpha=0.1))
    before = files(ledger)
    assert not ledger.put(ok(fit(), alpha=0.9), [scored(fit())], model())
    assert not ledger.put(failed(fit()))
    assert files(ledger) == before


def test_a_failure_after_the_final_record_needs_no_retry(ledger):
    ledger.put(ok(fit()))
    ledger.put(failed(fit()))
    assert (ledger.attempts(fit().id), ledger.retries(fit().id)) == (1, 0)


def test_a_later_trial_is_recorded_once_and_seen_with_the_others(ledger):
    ledger.put(ok(fit()), [scored(fit())])
    later = scored(fit(), neg=9)
    assert not ledger.has(fit().id, later.result.trial_id)
    assert ledger.add_trial(later)
    assert ledger.has(fit().id, later.result.trial_id)
    before = files(ledger)
    assert not ledger.add_trial(scored(fit(), neg=9, shift=1.0))
    assert not ledger.add_trial(scored(fit(), shift=1.0))  # in the fit's own record already
    assert files(ledger) == before
    assert len(ledger.get(fit().id).trials) == 2


def test_a_trial_without_its_fit_is_refused(ledger):
    with pytest.raises(ValueError, match="no record of its fit"):
        ledger.add_trial(scored(fit()))


def test_a_skipped_fit_answers_every_trial(ledger):
    ledger.put(FitResult(fit=fit(), status="skipped", reason="needs images"))
    assert ledger.has(fit().id, scored(fit()).result.trial_id)
    assert not ledger.may_try(fit().id)


def test_a_number_that_is_not_finite_is_refused_with_the_record_named(ledger):
    with pytest.raises(ValueError, match=f"{fit().id}.json: NaN or an infinite number"):
        ledger.put(FitResult(fit=fit(), status="ok", curve={"loss": (float("nan"),)}))
    assert ledger.get(fit().id) is None


def test_attempts_are_numbered_and_never_overwritten(ledger):
    for number in range(1, 12):  # two digits: the last is the greatest number, not the last name
        assert ledger.put(failed(fit()))
        assert ledger.attempts(fit().id) == ledger.get(fit().id).result.attempts == number
    assert len(files(ledger)) == 11
    ledger.put(ok(fit()))
    assert ledger.get(fit().id).result.attempts == ledger.attempts(fit().id) == 12


def test_a_fit_is_tried_twice_and_once_more_with_leave(ledger):
    def state() -> tuple[int, bool, int]:
        return ledger.attempts(fit().id), ledger.may_try(fit().id), ledger.retries(fit().id)

    assert state() == (0, True, 0)
    ledger.put(failed(fit()))
    assert state() == (1, True, 1)  # the retry is due
    ledger.put(failed(fit()))
    assert state() == (2, False, 1)  # it was made: the number stays
    ledger.allow_retry(fit().id)
    assert state() == (2, True, 2)
    ledger.put(failed(fit()))
    assert state() == (3, False, 2)
    ledger.allow_retry(fit().id)
    ledger.put(ok(fit()))
    assert state() == (4, False, 3)


def test_a_retry_that_succeeds_leaves_the_number_of_retries_as_it_was(ledger):
    ledger.put(failed(fit()))
    due = ledger.retries(fit().id)
    ledger.put(ok(fit()))
    assert ledger.retries(fit().id) == due == 1


def test_a_fit_that_succeeds_at_once_has_no_retries(ledger):
    ledger.put(ok(fit()))
    assert ledger.retries(fit().id) == 0


def test_ids_names_every_fit_once(ledger):
    wanted = [fit(seed) for seed in range(300)]
    for asked in wanted:
        if asked.seed % 3 == 0:
            ledger.put(failed(asked))
        if asked.seed % 2 == 0:
            ledger.put(ok(asked), [scored(asked)])
    found = list(ledger.ids())
    assert sorted(found) == sorted(asked.id for asked in wanted if asked.seed % 3 == 0 or asked.seed % 2 == 0)


def test_an_empty_ledger_answers_without_a_folder(ledger):
    assert (list(ledger.ids()), ledger.get(fit().id), ledger.holder(fit().id)) == ([], None, None)
    assert upkeep.verify(ledger) == []
    assert not ledger.root.exists()


@pytest.mark.parametrize("content", [b'{"result": {"fi', b"", b"\xff\xfe\xfa", b"[]", b'{"trials": {}}'])
def test_a_damaged_record_is_an_error_that_names_the_file(ledger, content):
    ledger.put(ok(fit()))
    path = ledger.root / fit().id[:2] / f"{fit().id}.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"{fit().id}\.json: not a record.*delete it"):
        ledger.get(fit().id)


# several processes


def _put_at(ledger: Ledger, start: float, alpha: float, answers: multiprocessing.Queue) -> None:
    time.sleep(max(0.0, start - time.time()))
    answers.put((alpha, ledger.put(ok(fit(), alpha=alpha), [scored(fit(), shift=alpha)], model(alpha))))


@pytest.mark.parametrize("n", [2, 4])
def test_of_processes_that_put_the_same_fit_at_once_exactly_one_wins(tmp_path, n):
    for round_ in range(5):
        ledger, answers, start = Ledger(tmp_path / str(round_)), FORK.Queue(), time.time() + 0.1
        writers = [FORK.Process(target=_put_at, args=(ledger, start, 0.1 * (i + 1), answers)) for i in range(n)]
        for writer in writers:
            writer.start()
        won = [alpha for alpha, stands in (answers.get(timeout=240) for _ in writers) if stands]
        for writer in writers:
            writer.join()
        entry = ledger.get(fit().id)
        assert won == [entry.result.alpha]
        assert ledger.model_path(entry.result).read_bytes() == model(won[0])
        assert upkeep.verify(ledger) == []
        assert not [name for name in names(ledger) if name.startswith(".")]


def _write_many(ledger: Ledger, n: int, wanted: Semaphore) -> None:
    for seed in range(n):
        wanted.acquire(timeout=240)
        ledger.put(ok(fit(seed), device="x" * 200_000), [scored(fit(seed))])


def test_a_reader_never_sees_half_a_record(ledger):
    n, wanted = 40, FORK.Semaphore(0)
    writer = FORK.Process(target=_write_many, args=(ledger, n, wanted))
    writer.start()
    for seed in range(n):
        wanted.release()
        while (entry := ledger.get(fit(seed).id)) is None:  # looks while it is being written
            assert writer.is_alive() or ledger.get(fit(seed).id) is not None
        assert len(entry.result.device) == 200_000
        assert ledger.scores(*entry.trials.values()).shape == (4,)
    writer.join()
    assert writer.exitcode == 0
    assert len(list(ledger.ids())) == n


def _put_without_space(ledger: Ledger, answers: multiprocessing.Queue) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # writing more than that fails as on a full disk
    try:
        ledger.put(ok(fit(), device="x" * 5000))
    except OSError as error:
        answers.put(str(error))


def test_a_record_that_finds_no_space_leaves_nothing_behind(ledger):
    answers = FORK.Queue()
    writer = FORK.Process(target=_put_without_space, args=(ledger, answers))
    writer.start()
    assert "File too large" in answers.get(timeout=240)
    writer.join()
    assert names(ledger) == set()
    assert ledger.put(ok(fit()))


def test_a_ledger_that_cannot_be_written_is_an_os_error_that_names_the_place(ledger):
    ledger.root.parent.mkdir(exist_ok=True)
    ledger.root.write_text("a file where the folder should be")
    for write in (lambda: ledger.put(ok(fit())), lambda: ledger.claim(fit().id), lambda: ledger.allow_retry(fit().id)):
        with pytest.raises(OSError, match=str(ledger.root)):
            write()


# files


def test_creating_writes_once_and_replacing_writes_what_changed(tmp_path):
    path = tmp_path / "a" / "b.json"
    assert create(path, b"1")
    assert not create(path, b"2")
    assert path.read_bytes() == b"1"
    assert not write_bytes(path, b"1")
    assert write_bytes(path, b"3")
    assert [p.name for p in path.parent.iterdir()] == ["b.json"]
    with pytest.raises(ValueError, match=r"c\.json: not JSON"):
        read_json((tmp_path / "c.json", (tmp_path / "c.json").write_text('{"a": '))[0])


# care


def test_count_tells_the_fates_apart(varied):
    held = varied.claim(fit(9).id)
    assert upkeep.count(varied) == {"ok": 2, "failed": 1, "skipped": 1, "quarantined": 1, "claimed": 1}
    held.release()
    varied.allow_retry(fit(4).id)
    assert upkeep.count(varied) == {"ok": 2, "failed": 2, "skipped": 1, "quarantined": 0, "claimed": 0}


def _final(ledger: Ledger, seed: int = 0) -> Path:
    return ledger.root / fit(seed).id[:2] / f"{fit(seed).id}.json"


def _rename(path: Path) -> None:
    path.rename(path.with_name(path.name.replace(path.name[:24], f"{fit(7).id}")))


def _edit(path: Path, key: str, value: object) -> None:
    record = json.loads(path.read_bytes())
    record["result"][key] = value
    path.write_text(json.dumps(record))


def _beside(ledger: Ledger, ending: str) -> Path:
    return next(ledger.root.rglob(f"{fit(0).id}.*.{ending}"))


DAMAGE = {
    "is cut short": (lambda led: os.truncate(_final(led), 100), "not a record"),
    "has another fit's name": (lambda led: _rename(_final(led, 2)), "expected the fit in its name"),
    "was edited": (lambda led: _edit(_final(led), "fit", fit(0, lr=2).canonical()), "expected the fit in its name"),
    "changed its status": (lambda led: _edit(_final(led, 2), "status", "failed"), "got the status failed"),
    "is of another attempt": (
        lambda led: _edit(_final(led, 3).with_suffix(".failed-1.json"), "attempts", 2),
        "got attempt 2",
    ),
    "names a file elsewhere": (lambda led: _edit(_final(led), "model", "../../x"), "it names the file"),
    "lost its scores": (lambda led: _beside(led, "npy").unlink(), "cannot be read"),
    "has cut scores": (lambda led: os.truncate(_beside(led, "npy"), 130), "its content has the name"),
    "lost its model": (lambda led: _beside(led, "safetensors").unlink(), "this model is missing, 1 in all"),
    "has a changed model": (
        lambda led: _beside(led, "safetensors").write_bytes(model(9.0)),
        "its content has the name",
    ),
    "has a copy beside it": (lambda led: _final(led).with_suffix(".json.bak").write_text(""), "not the name"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_verify_finds_a_record_that(varied, damage):
    assert upkeep.verify(varied) == []
    harm, sentence = DAMAGE[damage]
    harm(varied)
    faults = upkeep.verify(varied)
    assert any(sentence in fault for fault in faults), faults
    assert all("\n" not in fault for fault in faults)


def test_verify_finds_a_model_that_is_no_safetensors_file(ledger):
    ledger.put(ok(fit()), model=b"no model at all")
    (fault,) = upkeep.verify(ledger)
    assert "not a safetensors file" in fault


def test_verify_finds_scores_that_are_not_one_per_test_row(ledger):
    ledger.put(ok(fit()), [scored(fit())._replace(scores=np.zeros(3))])
    (fault,) = upkeep.verify(ledger)
    assert "scores of shape (3,); expected (4,)" in fault


def test_an_exported_ledger_comes_back_to_the_letter_but_for_its_models(varied, tmp_path):
    varied.allow_retry(fit(4).id)
    archive.export(varied, tmp_path / "out" / "ledger.parquet")
    other = Ledger(tmp_path / "other")
    records = [name for name in files(varied) if not name.endswith((".npy", ".safetensors"))]
    assert archive.import_(other, tmp_path / "out" / "ledger.parquet") == (len(records), 0)
    assert files(other) == {n: c for n, c in files(varied).items() if not n.endswith(".safetensors")}
    assert upkeep.count(other) == upkeep.count(varied)
    assert [other.get(i) for i in other.ids()] == [varied.get(i) for i in varied.ids()]
    assert other.model_path(other.get(fit(0).id).result) is None
    assert archive.import_(other, tmp_path / "out" / "ledger.parquet") == (0, len(records))
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["ledger.parquet"]


def test_an_export_can_be_looked_around_in(varied, tmp_path):
    archive.export(varied, tmp_path / "l.parquet")
    frame = pq.read_table(tmp_path / "l.parquet").to_pandas()
    first = frame[frame.name == f"{fit(0).id}.json"].iloc[0]
    assert (first.fit_id, first.status, first.method, first.dataset, first.seed) == (
        fit(0).id,
        "ok",
        "nnpu",
        "digits",
        0,
    )
    assert dict(first.auc) == {scored(fit(0)).result.trial_id: 0.75}


def test_an_import_changes_nothing_that_is_there(varied, tmp_path):
    archive.export(varied, tmp_path / "l.parquet")
    other = Ledger(tmp_path / "other")
    other.put(ok(fit(3), alpha=0.9))  # failed in the file, so its attempt comes too late
    other.put(ok(fit(0), alpha=0.9), [scored(fit(0), shift=5.0)])
    before = files(other)
    new, known = archive.import_(other, tmp_path / "l.parquet")
    assert before.items() <= files(other).items()
    assert (new, known) == (6, 2)
    assert other.retries(fit(3).id) == 0
    assert upkeep.verify(other) == [f for f in upkeep.verify(other) if "model is missing" in f]


def _tampered(path: Path, column: str, change) -> None:
    table = pq.read_table(path)
    rows = table.to_pylist()
    for row in rows:
        row[column] = change(row[column])
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)


@pytest.mark.parametrize(
    ("column", "change", "sentence"),
    [
        ("record", lambda text: text.replace('"seed": 1', '"seed": 77'), "expected the fit in its name"),
        ("record", lambda text: text[:50], "not a record"),
        ("name", lambda name: f"../../{name}", "not the name of a record"),
        ("scores", lambda scores: [], "expected those that the record names"),
        ("scores", lambda scores: [(name, b"x" + content) for name, content in scores], "its content has the name"),
    ],
)
def test_an_import_that_does_not_match_its_names_is_refused_whole(varied, tmp_path, column, change, sentence):
    archive.export(varied, tmp_path / "l.parquet")
    _tampered(tmp_path / "l.parquet", column, change)
    other = Ledger(tmp_path / "other")
    with pytest.raises(ValueError, match=sentence):
        archive.import_(other, tmp_path / "l.parquet")
    assert not other.root.exists()


def test_a_file_that_is_no_export_is_refused(ledger, tmp_path):
    (tmp_path / "text").write_text("no parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    for name, sentence in [("text", "not a parquet file"), ("other.parquet", "columns"), ("absent", "cannot be read")]:
        with pytest.raises(ValueError, match=sentence):
            archive.import_(ledger, tmp_path / name)


def test_a_ledger_without_its_scores_is_not_exported(varied, tmp_path):
    _beside(varied, "npy").unlink()
    with pytest.raises(ValueError, match="scores are missing"):
        archive.export(varied, tmp_path / "l.parquet")
    assert not list(tmp_path.glob("*l.parquet*"))


def test_compact_removes_what_is_old_and_not_referred_to_and_nothing_else(varied):
    before = files(varied)
    folder = _final(varied).parent
    orphan = folder / f"{fit(0).id}.{'0' * 16}.safetensors"
    temporary, young = folder / f".{fit(0).id}.json.01234567", folder / f".{fit(0).id}.json.89abcdef"
    for path in (orphan, temporary, young):
        path.write_bytes(b"x")
    for path in [*folder.iterdir()]:
        if path != young:
            os.utime(path, (OLD, OLD))
    assert upkeep.compact(varied) == 2
    assert files(varied) == before | {young.name: b"x"}


def test_compact_leaves_the_files_of_a_fit_that_is_being_computed(varied):
    orphan = _final(varied).with_suffix(f".{'0' * 16}.npy")
    orphan.write_bytes(b"x")
    os.utime(orphan, (OLD, OLD))
    held = varied.claim(fit(0).id)
    assert upkeep.compact(varied) == 0
    assert held.path.exists()
    held.release()
    assert upkeep.compact(varied) == 1


def test_compact_removes_the_claim_of_a_dead_process(varied):
    child = FORK.Process(target=varied.claim, args=(fit(0).id,))
    child.start()
    child.join()
    assert varied.holder(fit(0).id) is not None
    assert upkeep.compact(varied) == 1
    assert varied.holder(fit(0).id) is None


def test_scores_that_are_used_again_are_young_again(ledger):
    """A put that died before its record leaves scores; the next attempt gives the same and must keep them."""
    ledger.put(ok(fit()), [scored(fit())])
    _final(ledger).unlink()
    kept = _beside(ledger, "npy")
    os.utime(kept, (OLD, OLD))
    ledger.put(ok(fit()), [scored(fit())])
    assert kept.stat().st_mtime > OLD + 80000


@pytest.mark.parametrize(
    "words", [("export", "folder.parquet"), ("export", "nowhere/x/y.parquet"), ("import", "folder.parquet")]
)
def test_a_place_that_cannot_be_used_is_told_in_words(words, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "nowhere").write_text("a file")
    done = CliRunner().invoke(app, ["ledger", *words])
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code in (1, 2)
    assert words[1].split("/")[0] in done.output


@pytest.mark.parametrize("name", ["records.csv", "records.parquet.gz"])
def test_an_export_under_a_name_of_another_form_is_refused(name, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["ledger", "export", name])
    assert done.exit_code == 2, done.output
    assert f"{name}: got {Path(name).suffix}; expected .parquet" in done.output
    assert not Path(name).exists()


def test_many_files_are_written_together_and_what_stands_is_kept(tmp_path: Path) -> None:
    names = [tmp_path / str(number % 2) / str(number) for number in range(6)]
    assert create(names[3], b"first")
    assert create_many([(name, name.name.encode()) for name in names]) == [True, True, True, False, True, True]
    assert [name.read_bytes() for name in names] == [b"0", b"1", b"2", b"first", b"4", b"5"]
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(names)
    with pytest.raises(OSError, match="7"):
        create_many([(tmp_path / "0" / "6", b""), (names[0] / "7", b"")])  # a file is no folder
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(names)
