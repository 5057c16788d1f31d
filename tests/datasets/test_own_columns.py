"""Columns that identify or date a row, or that can be read in two ways: all are asked about in one message."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from own_files import puoc, refused
from pyarrow import parquet

from puoc.datasets.readers import DoubtfulColumns, How, RawTable, read_pair, read_table
from puoc.datasets.readers.no_measurements import of_numbers
from puoc.datasets.user.declare import declare
from puoc.datasets.user.leakage import audit

TRANSACTIONS = Path(__file__).with_name("transactions.csv.gz")  # made up: 3,000 payments, 120 confirmed frauds
N = 60

rng = np.random.default_rng(0)
SHUFFLED = rng.permutation(N) + 1
DATES = [f"2025-{1 + i % 12:02d}-{1 + i // 3:02d}" for i in range(N)]

#: Columns that are asked about, with the reason.
ASKED: dict[str, tuple[str, Any, str]] = {
    "counts": ("a", np.arange(N), "(rise|fall|count)"),
    "counts down": ("a", np.arange(N)[::-1], "(rise|fall|count)"),
    "rises by gaps": ("a", np.cumsum(rng.integers(1, 9, N)), "numbers that rise from row to row"),
    "rises with decimals": ("a", np.sort(rng.normal(size=N)), "numbers that rise from row to row"),
    "falls": ("a", -np.cumsum(rng.integers(1, 9, N)), "numbers that fall from row to row"),
    "shuffled ids": ("a", SHUFFLED, "a different whole number in each row"),
    "shuffled ids with gaps": ("a", 100_000 + 7 * SHUFFLED, "a different whole number in each row"),
    "ids with missing ones": ("a", [None if i % 9 == 0 else v for i, v in enumerate(SHUFFLED)], "a different whole"),
    "named id": ("tx_id", rng.integers(0, 9, N), "is named as an id"),
    "named Id": ("customerId", rng.integers(0, 9, N), "is named as an id"),
    "named ID before": ("IDCustomer", rng.integers(0, 9, N), "is named as an id"),
    "named in one word": ("userid", rng.integers(0, 9, N), "is named as an id"),
    "named by pandas": ("Unnamed: 0", rng.integers(0, 9, N), "is named as an id"),
    "texts named id": ("site_id", rng.choice(["a", "b"], N), "is named as an id"),
    "dates": ("a", DATES, "holds dates or times"),
    "few dates": ("a", rng.choice(DATES[:3], N), "holds dates or times"),
    "dates and times": ("a", [f"{day} 12:{i:02d}" for i, day in enumerate(DATES)], "holds dates or times"),
    "dates with a zone": ("a", [f"{day}T12:00:01.5+01:00" for day in DATES], "holds dates or times"),
    "European dates": ("a", [f"{1 + i % 28}.{1 + i % 12}.2024" for i in range(N)], "holds dates or times"),
    "American dates": ("a", [f"{1 + i % 12}/{1 + i % 28}/24 3:05 PM" for i in range(N)], "holds dates or times"),
    "names of months": ("a", [f"{1 + i % 28} Mar 2024" for i in range(N)], "holds dates or times"),
    "months first": ("a", [f"January {1 + i % 28}, 2024" for i in range(N)], "holds dates or times"),
    "some broken": ("a", ["unknown", *DATES[1:]], "holds dates or times"),
    "times": ("a", [f"{i % 24}:{i:02d}" for i in range(N)], "holds dates or times"),
    "whole numbers": ("a", [20_250_101 + i % 28 for i in SHUFFLED], "dates, written as YYYYMMDD"),
    "seconds": ("a", 1_700_000_000 + rng.integers(0, 20, N), "of the size of seconds since 1970"),
    "ids with copies": ("a", rng.permutation([*(9000 + 7 * np.arange(N - 3)), 9000, 9007, 9014]), "a different whole"),
    "rises with ties": ("a", np.sort([*np.arange(N - 4) / 8, 1, 2, 3, 4]), "numbers that rise from row to row"),
    "months": ("a", rng.choice([202401, 202402, 202411, 202312], N), "holds months, written as YYYYMM"),
    "half seconds": ("a", 1_700_000_000.5 + rng.integers(0, 20, N), "of the size of seconds since 1970"),
    "named date": ("created_date", rng.integers(0, 9, N), "is named as a date"),
}

#: Columns that are read without a question.
MEASURES: dict[str, tuple[str, Any]] = {
    "all different": ("amount", rng.normal(size=N)),
    "all different cents": ("amount", rng.permutation(N) + 0.25),
    "whole numbers that repeat": ("age", rng.integers(0, 30, N)),
    "rising with many repeats": ("step", np.arange(N) // 3),
    "a word that ends as id": ("humid", rng.integers(0, 9, N)),
    "paid": ("paid", rng.integers(0, 9, N)),
    "update": ("update_count", rng.integers(0, 9, N)),
    "years": ("year", rng.integers(1990, 2020, N)),
    "versions": ("version", rng.choice(["v1.2.3", "v1.2.4"], N)),
    "months as numbers": ("month", rng.integers(1, 12, N)),
    "counts that hardly repeat": ("posts", [*np.floor(np.exp(np.linspace(2, 12, N - 3))), 7, 8, 9]),
    "incomes": ("income", np.round(np.exp(rng.normal(10.5, 0.6, N)))),
    "whole numbers around 0": ("change", np.round(rng.normal(0, 2000, N))),
    "large counts": ("bytes", np.round(rng.gamma(2, 1e6, N))),
    "large with decimals": ("amount", 1e8 * rng.random(N)),
    "numbers of the size of months": ("amount", rng.integers(200_000, 209_999, N // 2).repeat(2)),
    "large repeated": ("bytes", rng.integers(0, 30, N) * 10**7),
}


def written(path: Path, rows: slice | None = None, **columns: Any) -> Path:
    frame = pd.DataFrame({"plain": rng.integers(0, 9, N), **columns})
    frame = frame if rows is None else frame[rows]
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(("name", "cells", "why"), ASKED.values(), ids=ASKED.keys())
def test_a_column_that_is_no_measurement_is_asked_about(
    name: str, cells: Any, why: str, suffix: str, tmp_path: Path
) -> None:
    data = written(tmp_path / f"d{suffix}", **{name: cells}, y=rng.permutation(N) % 2)
    halves = [written(tmp_path / f"{part}{suffix}", slice(part, None, 2), **{name: cells}) for part in (0, 1)]
    for ask in (
        lambda how: read_pair(data=data, how=how.model_copy(update={"label": "y"})),
        lambda how: read_pair(*halves, how),
        lambda how: read_pair(*halves, how, from_positives=True),
    ):
        with pytest.raises(DoubtfulColumns, match=why) as refusal:
            ask(How())
        assert refusal.value.answers == [("drop", name)]
        assert name in ask(How(drop=(name,))).preparing.left_out
        keeps = ("number", "category")["--category" in str(refusal.value)]
        assert any(c.name == name for c in ask(How.model_validate({keeps: (name,)})).preparing.columns)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(("name", "cells"), MEASURES.values(), ids=MEASURES.keys())
def test_a_measurement_is_not_asked_about(name: str, cells: Any, suffix: str, tmp_path: Path) -> None:
    path = written(tmp_path / f"d{suffix}", **{name: cells})
    assert name in [column.name for column in read_pair(path).preparing.columns]


def drawn(kind: str, n: int, draw: np.random.Generator) -> Any:
    """Whole numbers that hardly repeat: three measurements, and four kinds of ids."""
    return {
        "incomes": lambda: np.round(np.exp(draw.normal(10.5, 0.6, n))),
        "around 0": lambda: np.round(draw.normal(0, 2000, n)),
        "counts": lambda: np.round(draw.gamma(2, 1e6, n)),
        "dense": lambda: draw.permutation(n) + 1000.0,
        "with gaps": lambda: draw.choice(int(1.3 * n), n, replace=False).astype(float),
        "eight digits": lambda: draw.choice(90_000_000, n, replace=False) + 1e7,
        "two blocks": lambda: np.concatenate([draw.permutation(n)[: n // 2], draw.permutation(n)[: n // 2] + 9e4]),
    }[kind]()


@pytest.mark.parametrize("n", [30, 200, 2000])
def test_different_whole_numbers_are_ids_or_measurements_by_how_they_lie(n: int) -> None:
    draw = np.random.default_rng(n)
    asked = {kind: np.mean([bool(of_numbers("c", [drawn(kind, n, draw)])) for _ in range(50)]) for kind in KINDS}
    for kind in ("incomes", "around 0", "counts"):
        assert asked[kind] <= 0.06, kind
    for kind in ("dense", "with gaps", "eight digits", *(["two blocks"] if n > 50 else [])):
        assert asked[kind] >= 0.94, kind


KINDS = ("incomes", "around 0", "counts", "dense", "with gaps", "eight digits", "two blocks")


def test_dates_of_parquet_are_asked_about_and_copies_of_rows_hide_no_id(tmp_path: Path) -> None:
    when = written(tmp_path / "d.parquet", when=pd.to_datetime(DATES))
    with pytest.raises(DoubtfulColumns, match=r"holds dates or times \(timestamp"):
        read_pair(when)
    ids = np.arange(1, 401)
    ids[-2:] = ids[0]
    path = tmp_path / "copies.csv"
    pd.DataFrame({"n": rng.permutation(ids), "x": np.arange(400) % 7}).to_csv(path, index=False)
    with pytest.raises(DoubtfulColumns, match="a different whole number in each row"):
        read_pair(path)


def test_all_doubtful_columns_are_named_in_one_message_with_the_command_that_settles_them(tmp_path: Path) -> None:
    frame = pd.read_csv(TRANSACTIONS)
    path = tmp_path / "my rows.csv"
    frame.assign(odd=[10, "ten"] * 1500, share=["5%", "7%"] * 1500).to_csv(path)  # with an index without a name
    said = puoc("assess", "--data", path, "--label", "confirmed_fraud", "--html", tmp_path / "page.html")
    message = refused(said, "6 columns need a decision", "column 1 has no name")
    for name in ("tx_id", "date", "merchant", "odd"):
        assert f"column {name!r}" in message
    command = message.splitlines()[-1].rpartition(": ")[2]
    words = shlex.split(command)
    assert words[:2] == ["puoc", "assess"]
    assert words.count("--drop") + words.count("--category") + words.count("--missing") + ("--drop=" in words) == 6
    again = ["fit", "--method", "pu_svm", "--check", *words[2:]]
    del again[again.index("--html") : again.index("--html") + 2]
    code, read = puoc(*again)
    assert code == 0, read


def test_two_files_cut_from_one_numbered_export_are_asked_about_as_the_whole(tmp_path: Path) -> None:
    frame = pd.read_csv(TRANSACTIONS)[["tx_id", "amount", "confirmed_fraud"]]
    paths = [tmp_path / "p.csv", tmp_path / "u.csv"]
    for path, label in zip(paths, (1, 0), strict=True):
        frame[frame["confirmed_fraud"] == label].drop(columns="confirmed_fraud").to_csv(path, index=False)
    words = ("fit", "--method", "naive", "--positives", paths[0], "--unlabelled", paths[1], "--check")
    refused(
        puoc(*words), "column 'tx_id' ", "--number 'tx_id'", "as suggested: puoc fit --method naive", "--drop tx_id"
    )
    assert [column.name for column in read_pair(*paths, How(drop=("tx_id",))).preparing.columns] == ["amount"]
    with pytest.raises(ValueError, match=r"--number: .*no column 'tx'; it has 'tx_id', 'amount'"):
        read_pair(*paths, How(number=("tx",)))


@pytest.mark.slow
def test_the_interval_of_the_share_of_positives_holds_the_truth_without_the_id(tmp_path: Path) -> None:
    import json

    path = tmp_path / "t.csv"
    path.write_bytes(gzip.decompress(TRANSACTIONS.read_bytes()))
    asked = puoc("assess", "--data", path, "--label", "confirmed_fraud", "--html", tmp_path / "page.html")
    words = shlex.split(refused(asked).splitlines()[-1].rpartition(": ")[2])
    code, said = puoc(*words[1:], "--json")
    assert code == 0
    alpha = json.loads(said[said.index("{") :])["evidence"]["alpha"]
    assert alpha["low"] <= 0.041 <= alpha["high"]


@pytest.mark.parametrize("wide", [3, 80])
def test_doubled_names_and_nested_columns_are_left_out_by_the_option_that_is_named(wide: int, tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    numbers = pa.array(np.arange(5) % 3)
    columns = [*[numbers] * wide, pa.array([[1]] * 5), numbers, numbers, pa.array(list("xyxxy")).dictionary_encode()]
    names = [*(f"a.{i}" for i in range(wide)), "nested", "twice", "twice", "cät"]
    parquet.write_table(pa.Table.from_arrays(columns, names=names), path)
    with pytest.raises(DoubtfulColumns, match=r"(?s)'twice' stands 2 times.*'nested' holds list") as refusal:
        read_pair(path)
    dropped = tuple(value for _, value in refusal.value.answers)
    pair = read_pair(path, how=How(drop=dropped))
    assert sorted(pair.preparing.left_out) == ["nested", "twice"]
    assert pair.X_p.shape == (5, wide + 2)
    text = tmp_path / "odd.csv"
    text.write_text("a,a,b\n1,2,3\n2,3,4\n")
    assert [column.name for column in read_pair(text, how=How(drop=("a",))).preparing.columns] == ["b"]


def test_what_means_missing_elsewhere_is_a_value_where_a_column_is_named_as_a_category(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("land,b\n" + "NA,1\nUS,2\nDE,2\nNone,1\nNA,2\n,1\n" * 3)
    (land, _) = read_pair(path).profile
    assert (land.missing, land.distinct) == (12, 2)
    assert land.note == "'NA' or 'None' in 9 cells is read as missing; --category 'land' keeps such texts as categories"
    pair = read_pair(path, how=How(category=("land",)))
    assert pair.preparing.features[:5] == ("land=DE", "land=NA", "land=None", "land=US", "land is missing")
    assert pair.X_p[:6, :5].argmax(axis=1).tolist() == [1, 3, 0, 2, 1, 4]
    again = type(pair.preparing).model_validate_json(pair.preparing.model_dump_json())
    assert np.array_equal(again.apply(read_table(path)).X, pair.X_p)


def test_a_wide_profile_is_printed_short_and_names_command_no_terminal(tmp_path: Path) -> None:
    frame = pd.DataFrame(rng.normal(size=(8, 500)), columns=[f"g{i}" for i in range(500)])
    frame["\x1b[31mred\x1b[2J"] = [f"\x1b]0;title{i % 2}\x07" for i in range(8)]
    frame.to_parquet(tmp_path / "wide.parquet")
    code, said = puoc("fit", "--method", "oc_svm", "--positives", tmp_path / "wide.parquet", "--check")
    assert code == 0, said
    assert "461 further columns: " in said
    assert len(said.splitlines()) < 200
    assert not set(said) & set("\x1b\x07")
    said = puoc("fit", "--method", "oc_svm", "--positives", tmp_path / "\x1b[31mred.csv", "--check")
    assert "\x1b" not in refused(said, "there is no such file")


@pytest.mark.parametrize("command", [["fit", "--check"], ["fit", "--check", "--scaling", "standard"], ["assess"]])
@pytest.mark.parametrize(("size", "sign"), [(1.7e308, 1), (1.7e308, -1), (1e-300, 1)])
def test_a_column_of_the_largest_or_smallest_numbers_is_scaled_or_refused(
    command: list[str], size: float, sign: int, tmp_path: Path
) -> None:
    """The range of such numbers, or its square, was infinite, and ended in a traceback."""
    draws = rng.uniform(0.5, 1, (2, 60)) * size
    draws[:, ::2] *= sign
    for side, draw in zip("pu", draws, strict=True):
        pd.DataFrame({"a": rng.normal(size=60), "b": draw}).to_csv(tmp_path / f"{side}.csv", index=False)
    pair = ["--positives", tmp_path / "p.csv", "--unlabelled", tmp_path / "u.csv", "--number", "b"]
    method = ["--method", "knn"] if command[0] == "fit" else []
    code, said = puoc(*command, *method, *pair)
    refused_for_b = "column 'b' holds numbers from" in said
    assert code == (2 if refused_for_b else 0), said
    if sign < 0 or "standard" in command:
        assert refused_for_b == (size > 1)


def test_columns_of_numbers_are_not_written_as_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing numbers as texts took most of the time and memory of wide Parquet files."""
    columns = {f"g{i}": rng.normal(size=N) for i in range(80)} | {"n": rng.integers(0, 5, N)}
    path = written(tmp_path / "d.parquet", **columns, y=rng.permutation(N) % 2)
    asked: list[str] = []
    texts = RawTable.texts

    def spy(table: RawTable, column: str, *args: Any) -> pa.Array:
        asked.append(column)
        return texts(table, column, *args)

    monkeypatch.setattr(RawTable, "texts", spy)
    pair = read_pair(data=path, how=How(label="y"))
    assert audit(pair).leaks == []
    assert set(asked) == {"y"}
    whole = pd.read_parquet(path)
    for rows, label in ((pair.positives, 1), (pair.unlabelled, 0)):
        assert rows is not None
        assert rows.numbers.tolist() == (np.flatnonzero(whole["y"] == label) + 1).tolist()
        first = whole[whole["y"] == label]["g0"]
        assert np.allclose(rows.X[:, 1], (first - whole["g0"].min()) / np.ptp(whole["g0"]), atol=1e-6)


def test_an_entry_of_params_is_asked_with_its_keys(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    written(tmp_path / "own" / "d.csv", tx_id=SHUFFLED, when=DATES, z=np.arange(N), y=rng.permutation(N) % 2)
    entry = {"kind": "table", "label": "y", "drop": ["z"]}
    with pytest.raises(ValueError, match="2 columns need a decision") as refusal:
        declare("mine", {"data": "own/d.csv"}, entry, from_positives=False, allow_overlap=False, root=tmp_path)
    message = str(refusal.value)
    assert "These keys of the entry answer this: drop: ['z', 'tx_id', 'when']" in message
    assert "--" not in message
    entry["drop"] = ["z", "tx_id"]
    entry["category"] = ["when"]
    declared = declare("mine", {"data": "own/d.csv"}, entry, from_positives=False, allow_overlap=False, root=tmp_path)
    assert declared.counts["train"][2] == 0


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(("number", "beside"), [(False, {}), (True, {}), (True, {"id": range(N)})])
def test_a_table_of_messages_is_answered_with_text(number: bool, beside: Any, suffix: str, tmp_path: Path) -> None:
    messages = [f"please call me back at {i} today" for i in range(N)]
    if number:
        messages[7] = "123"
    frame = pd.DataFrame({"label": ["ham", "spam"] * (N // 2), "message": messages, **beside})
    path = tmp_path / f"sms{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    said = puoc("assess", "--data", path, "--label", "label", "--positive", "spam")
    message = refused(said, f"column 'message' has {N} different texts", "'please call me back at 0 today'")
    assert "--missing" not in message
    words = shlex.split(message.splitlines()[-1].rpartition(": ")[2])
    assert words[-2:] == (["--drop", "id"] if beside else ["--text", "message"])
    assert words.count("--text") == 1
    code, read = puoc("fit", "--method", "pu_svm", "--check", *words[2:])
    assert code == 0, read
    assert f"{N // 2} labelled positives" in read


def test_texts_beside_a_measurement_are_left_out_by_the_suggested_command(tmp_path: Path) -> None:
    path = written(tmp_path / "d.csv", message=[f"please call me back at {i} today" for i in range(N)])
    with pytest.raises(DoubtfulColumns, match="To learn from these texts alone, use --text 'message'") as refusal:
        read_pair(path)
    assert refusal.value.answers == [("drop", "message")]
