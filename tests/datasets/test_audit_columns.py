"""Columns that say which file a row is from: asked about before anything is fitted. Class differences are not."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benches import bench
from own_files import puoc, refused
from own_tables import ask, does

from puoc.datasets.audit.result import Audited
from puoc.datasets.readers import DoubtfulColumns, How, read_pair
from puoc.datasets.readers.training_files import Paths, audit_files

Frames = tuple[pd.DataFrame, pd.DataFrame]
N_P, N_U = 150, 200


def alike(seed: int) -> Frames:
    """U is all positive: P and U have one distribution."""
    rng = np.random.default_rng(seed)
    P, U = (pd.DataFrame(rng.normal(1, 1, (n, 4)).round(4), columns=list("abcd")) for n in (N_P, N_U))
    return P, U


def put(files: Frames, name: str, p: Any, u: Any) -> Frames:
    return files[0].assign(**{name: p}), files[1].assign(**{name: u})


def mostly(rng: np.random.Generator, n: int, share: float) -> np.ndarray:
    """Numbers that are filled in this share of the rows."""
    return np.where(rng.random(n) < share, rng.normal(size=n), np.nan)


rng = np.random.default_rng(5)
KINDS = np.array(["north", "south", "west"])

#: What a file does and no class: the column, its cells in P and in U, and what is said about it.
LEAKS: dict[str, tuple[Any, Any, str]] = {
    "label copy": (1, rng.integers(0, 2, N_U), "is '1' in all labelled positives and another value in"),
    "label copy in words": ("yes", rng.choice(["yes", "no"], N_U), "is 'yes' in all labelled positives and another"),
    "one value in each": (1, 0, "is '1' in all rows, and '0' in all of"),
    "filled 90": (mostly(rng, N_P, 0.9), np.nan, "is empty in all unlabelled rows and filled in"),
    "filled 50": (mostly(rng, N_P, 0.5), np.nan, "is empty in all unlabelled rows and filled in"),
    "filled in U": (np.nan, mostly(rng, N_U, 0.9), "is empty in all labelled positives and filled in"),
    "missing in U": (rng.normal(size=N_P), mostly(rng, N_U, 0.7), "of the unlabelled rows and in none of the labelled"),
    "filled rarely in U": (mostly(rng, N_P, 0.95), mostly(rng, N_U, 0.05), "whether it is filled nearly says"),
    "row number": (np.arange(N_P), N_P + np.arange(N_U), "count the rows"),
    "time": (rng.random(N_P), 1 + rng.random(N_U), "nearly says by its values which rows are labelled positives"),
    "drifting": (np.arange(N_P) + rng.normal(0, 3, N_P), np.arange(N_U) + rng.normal(0, 3, N_U), "order of the rows"),
    "unit": (rng.normal(170, 9, N_P).round(), rng.normal(1.7, 0.09, N_U).round(2), "by a factor of 100, as of m and"),
    "inches": (rng.normal(170, 9, N_P).round(1), rng.normal(67, 3.5, N_U).round(1), "by a factor of 2.54"),
    "rounded": (rng.normal(0, 1, N_P).round(1), rng.normal(0, 1, N_U).round(4), "is rounded to 1 digit after the"),
    "tens": (rng.integers(3, 99, N_P) * 10, rng.integers(30, 999, N_U), "is rounded to multiples of 10"),
    "spelling": (rng.choice(KINDS, N_P), np.char.upper(rng.choice(KINDS, N_U)), "is spelt differently in both files"),
    "one spelling": (
        rng.choice(KINDS, N_P),
        rng.choice(["North", "south", "west"], N_U),
        "'north' in the labelled positives is 'North' in the unlabelled rows",
    ),
    "other categories": (rng.choice(KINDS, N_P), rng.choice(["x", "y"], N_U), "has no category in common"),
    "mean": (np.where(rng.random(N_P) < 0.3, 0.0713, rng.normal(size=N_P).round(4)), rng.normal(size=N_U).round(4),
             "the value seems to be filled in"),
    "mean of whole numbers": (np.where(rng.random(N_P) < 0.3, 41.73, rng.integers(20, 60, N_P)),
                              rng.integers(20, 60, N_U), "the value seems to be filled in"),
    "mark": (np.where(rng.random(N_P) < 0.2, -999, rng.normal(size=N_P).round(4)), rng.normal(size=N_U).round(4),
             "as a mark for a missing value"),
}  # fmt: skip

#: What a class may do: the columns are shown or noted.
INNOCENT: dict[str, Callable[[], Frames]] = {
    "U is all positive": lambda: alike(1),
    "U of well-separated negatives": lambda: (alike(1)[0], alike(2)[1] + 6),
    "P all 0 and U many values": lambda: put((alike(1)[0], alike(2)[1] + 2), "rain", 0, rng.gamma(2, 2, N_U).round(2)),
    "two columns constant in P, as pixels are": lambda: put(
        put((alike(1)[0], alike(2)[1] + 1), "x1", 0, rng.integers(0, 2, N_U)), "x2", 0, rng.integers(0, 17, N_U)
    ),
    "zeros in P": lambda: put(alike(1), "paid", np.where(rng.random(N_P) < 0.4, 0, rng.normal(9, 2, N_P)).round(2),
                              rng.normal(9, 2, N_U).round(2)),
    "missing at random": lambda: put(alike(1), "age", mostly(rng, N_P, 0.8), mostly(rng, N_U, 0.8)),
    "missing more often in negatives": lambda: put(alike(1), "age", mostly(rng, N_P, 0.95), mostly(rng, N_U, 0.7)),
    "other sizes with as many digits": lambda: put((alike(1)[0], alike(2)[1] + 3), "area",
                                                   [float(f"{v:.4g}") for v in rng.normal(3, 0.5, N_P)],
                                                   [float(f"{v:.4g}") for v in rng.normal(290, 90, N_U)]),
    "a category that P lacks": lambda: put(alike(1), "region", rng.choice(KINDS[:2], N_P), rng.choice(KINDS, N_U)),
    "a rare category in U": lambda: put(alike(1), "kind", "a", np.where(np.arange(N_U) < 9, "b", "a")),
    "one column that says much": lambda: put(alike(1), "size", rng.normal(3, 1, N_P), rng.normal(0, 1, N_U)),
}  # fmt: skip


def written(files: Frames, folder: Path, suffix: str = ".csv") -> tuple[Path, Path]:
    paths = folder / f"p{suffix}", folder / f"u{suffix}"
    for path, frame in zip(paths, files, strict=True):
        frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    return paths


def audited(files: Frames, folder: Path, how: How | None = None) -> Audited:
    found, _ = audit_files(Paths(*written(files, folder)), how or How())
    assert found.audited is not None
    return found.audited


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(("p", "u", "why"), LEAKS.values(), ids=LEAKS.keys())
def test_a_column_that_only_a_file_gives_is_asked_about(p: Any, u: Any, why: str, suffix: str, tmp_path: Path) -> None:
    paths = written(put(alike(3), "z", p, u), tmp_path, suffix)
    with pytest.raises(DoubtfulColumns) as refusal:
        read_pair(*paths)
    assert why in str(refusal.value)
    assert refusal.value.answers == [("drop", "z")]
    pair = read_pair(*paths, How(drop=("z",)))
    assert "z" in pair.preparing.left_out
    assert not pair.remarks()


@pytest.mark.parametrize("name", ["filled 90", "time", "unit", "spelling", "label copy"])
def test_one_file_with_labels_is_asked_about_as_two_are(name: str, tmp_path: Path) -> None:
    p, u, why = LEAKS[name]
    P, U = put(alike(3), "z", p, u)
    path = tmp_path / "all.csv"
    pd.concat([P.assign(y=1), U.assign(y=0)]).sample(frac=1, random_state=0).to_csv(path, index=False)
    with pytest.raises(DoubtfulColumns, match=why.replace("(", r"\(")) as refusal:
        read_pair(data=path, how=How(label="y"))
    assert refusal.value.answers == [("drop", "z")]


@pytest.mark.parametrize("make", INNOCENT.values(), ids=INNOCENT.keys())
def test_what_a_class_may_do_is_not_asked_about(make: Callable[[], Frames], tmp_path: Path) -> None:
    assert not audited(make(), tmp_path).of("asked")


@pytest.mark.parametrize("seed", range(4))
def test_clean_files_of_one_distribution_are_not_even_noted(seed: int, tmp_path: Path) -> None:
    found = audited(alike(seed), tmp_path)
    assert {column.verdict for column in found.columns} == {"shown"}


def test_a_column_that_is_kept_is_noted_with_what_it_says(tmp_path: Path) -> None:
    files = put(alike(3), "z", *LEAKS["filled 90"][:2])
    found = audited(files, tmp_path, How(number=("z",)))
    assert not found.of("asked")
    pair = read_pair(tmp_path / "p.csv", tmp_path / "u.csv", How(number=("z",)))
    (note,) = [note for note in pair.remarks() if "'z'" in note]
    assert "is empty in all unlabelled rows" in note
    assert note in pair.column_notes()


def test_every_command_asks_in_one_message_with_the_command_that_settles_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    files = put(put(alike(3), "checked", *LEAKS["label copy"][:2]), "rev", *LEAKS["filled 90"][:2])
    p, u = (path.relative_to(tmp_path) for path in written(files, tmp_path / "own"))
    words = ("--positives", p, "--unlabelled", u)
    for command in (("assess",), ("fit", "--method", "pu_svm", "--out", "model")):
        message = refused(
            puoc(*command, *words), "2 columns need a decision", "AUC 0.9", "column 'checked' is '1' in all"
        )
        last = shlex.split(message.splitlines()[-1].rpartition(": ")[2])
        assert last == ["puoc", *map(str, (*command, *words)), "--drop", "checked", "--drop", "rev"]
        assert not (tmp_path / "model").exists()
        assert not (tmp_path / "assess.html").exists()
    code, said = puoc(*last[1:], "--check")
    assert code == 0, said
    code, said = ask(tmp_path, "{kind: table, positives: own/p.csv, unlabelled: own/u.csv}", "holdout: 0.2")
    assert code == 2
    assert "answer this: drop: ['checked', 'rev']" in said
    code, said = ask(
        tmp_path, "{kind: table, positives: own/p.csv, unlabelled: own/u.csv, drop: [checked, rev]}", "holdout: 0.2"
    )
    assert code == 0, said


def test_a_copy_of_the_label_in_the_test_file_is_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    rng = np.random.default_rng(0)
    P, U = put(alike(3), "mark", rng.integers(0, 2, N_P), rng.integers(0, 2, N_U))
    p, u = written((P, U), tmp_path / "own")
    y = np.arange(60) % 2
    test = alike(4)[0].iloc[:60].assign(y=y, mark=y)
    test.to_csv("own/t.csv", index=False)
    words = ("--positives", p, "--unlabelled", u, "--test", "own/t.csv", "--label", "y", "--check")
    refused(
        puoc("fit", "--method", "pu_svm", *words), "'mark' is '1' in all positive test rows and '0' in all negative"
    )
    refused(puoc("fit", "--method", "oc_svm", *words), "column 'mark'", "--drop mark")
    code, said = puoc("fit", "--method", "pu_svm", *words, "--drop", "mark")
    assert code == 0, said
    own = "{kind: table, positives: own/p.csv, unlabelled: own/u.csv, test: own/t.csv, label: y}"
    assert "drop: ['mark']" in ask(tmp_path, own)[1]
    test.assign(mark=rng.integers(0, 2, 60)).to_csv("own/t.csv", index=False)
    does("fit --method pu_svm --positives own/p.csv --unlabelled own/u.csv --test own/t.csv --label y --check")


def test_the_audit_lists_columns_in_doubt_first_and_writes_all_as_json(tmp_path: Path) -> None:
    files = put(put(alike(3), "rev", *LEAKS["filled 90"][:2]), "region", *LEAKS["spelling"][:2])
    p, u = written(files, tmp_path)
    code, said = puoc("audit", "--no-effect", "--positives", p, "--unlabelled", u, "--json", tmp_path / "audit.json")
    assert code == 0, said
    assert "to answer: --drop region --drop rev" in said or "to answer: --drop rev --drop region" in said
    found = json.loads((tmp_path / "audit.json").read_text())
    assert [column["verdict"] for column in found["columns"]] == ["asked", "asked", *["shown"] * 4]
    assert {doubt["column"] for doubt in found["doubts"]} == {"rev", "region"}
    numbers = next(column for column in found["columns"] if column["name"] == "a")
    assert sum(numbers["histogram"]["first"]) == pytest.approx(1)
    assert len(numbers["histogram"]["edges"]) == len(numbers["histogram"]["second"]) + 1
    assert Audited.model_validate({name: found[name] for name in Audited.model_fields}).of("asked")
    refused(puoc("audit", "--positives", p, "--unlabelled", u, "--json", tmp_path / "audit.json"), "audit.json")
    refused(puoc("audit", "--positives", p), "--unlabelled")


def test_ids_that_stand_on_two_sides_are_counted(tmp_path: Path) -> None:
    files = put(alike(3), "patient_id", np.arange(N_P) // 3, np.arange(N_U) // 2 + 40)
    p, u = written(files, tmp_path)
    files[0].iloc[:30].assign(y=np.arange(30) % 2).to_csv(tmp_path / "t.csv", index=False)
    files_of = ("--positives", p, "--unlabelled", u, "--test", tmp_path / "t.csv", "--label", "y")
    code, said = puoc("audit", "--no-effect", *files_of)
    assert code == 0, said
    plain = " ".join(said.split())
    assert "column 'patient_id': 10 of 50 values in the labelled positives are in the unlabelled rows too" in plain
    assert "10 of 50 values in the labelled positives are in the test rows too" in plain
    assert audited(files, tmp_path).columns[0].name == "patient_id"


def test_incoming_rows_in_another_unit_are_noted_and_not_asked_about(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    files = put(alike(3), "height", rng.normal(1.7, 0.09, N_P).round(2), rng.normal(1.7, 0.09, N_U).round(2))
    p, u = written(files, tmp_path)
    new = tmp_path / "new.csv"
    alike(4)[1].assign(height=rng.normal(170, 9, N_U).round()).to_csv(new, index=False)
    whole = tmp_path / "all.csv"
    pd.concat([files[0].assign(y=1), files[1].assign(y=0)]).to_csv(whole, index=False)
    for words in (("--positives", p, "--unlabelled", u), ("--data", whole, "--label", "y")):
        code, said = puoc("audit", "--no-effect", *words, "--incoming", new)
        assert code == 0, said
        assert "column 'height' differs between the files by a factor of 100" in " ".join(said.split())
        assert "no column is in doubt" in said


def test_the_share_of_named_leaks_and_of_false_alarms_on_a_few_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python bench/audit.py` has 200 pairs of each."""
    monkeypatch.delenv("PUOC_MIRROR", raising=False)  # tables of scikit-learn and made ones
    pairs = bench("audit")
    for i, (kind, leak) in enumerate(pairs.LEAKS.items()):
        table = i % 10  # the eleventh would be of numbers with few values, of which a limit is no sign
        files, column = leak(pairs.clean(table, np.random.default_rng([3, i]), (0.5,)), 1.0, np.random.default_rng(i))
        found = pairs.audited(files, tmp_path)
        assert column in (*found.asked, *found.noted, *found.other), kind
    clean = [pairs.audited(pairs.clean(i, np.random.default_rng([4, i])), tmp_path) for i in range(10)]
    assert not [found.asked for found in clean if found.asked]


@pytest.mark.slow
def test_without_the_column_that_is_named_the_answer_is_oc(tmp_path: Path) -> None:
    p, u = written(put(alike(0), "checked", *LEAKS["label copy"][:2]), tmp_path)
    words = ("assess", "--positives", p, "--unlabelled", u, "--json", "--html", tmp_path / "a.html")
    refused(puoc(*words), "'checked'", "--drop checked")
    found = {}
    for option in ("--drop", "--category"):
        code, said = puoc(*words, option, "checked")
        assert code == 0, said
        found[option] = json.loads(said[said.index("{") :])
    assert found["--drop"]["advice"] == "OC"
    assert found["--category"]["advice"] in ("PU-OC", "PU")
    assert found["--drop"]["evidence"]["alpha"]["high"] == 1
    assert found["--category"]["evidence"]["alpha"]["high"] < 0.7
