"""Broken and odd files: each is read as it is meant, or asked back in one paragraph with exit code 2."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import pickle
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from own_files import check, customers, puoc, refused
from PIL import Image
from pyarrow import parquet

from puoc.datasets.readers import How, RawTable, read_pair, read_table
from puoc.datasets.readers.csv_dialect import layout_of

PLAIN = "a,b\n1.5,x\n2.5,y\n3.5,x\n"


def file(folder: Path, content: str | bytes, name: str = "p.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def cells(path: Path, how: How | None = None) -> dict[str, list[object]]:
    """A file's columns, as numbers where they are."""
    table = read_table(path, how)
    return {
        name: table.texts(name).to_pylist() if name == "b" else table.numbers(name).tolist() for name in table.columns
    }


READ = {
    "plain": PLAIN,
    "a byte order mark": "\ufeff" + PLAIN,
    "carriage returns and line feeds": PLAIN.replace("\n", "\r\n"),
    "carriage returns": PLAIN.replace("\n", "\r"),
    "semicolons": PLAIN.replace(",", ";"),
    "tabs": PLAIN.replace(",", "\t"),
    "bars": PLAIN.replace(",", "|"),
    "semicolons and decimal commas": PLAIN.replace(",", ";").replace(".", ","),
    "quoted decimal commas": 'a,b\n"1,5",x\n"2,5",y\n"3,5",x\n',
    "no line feed at the end": PLAIN.rstrip(),
    "blank lines": PLAIN.replace("\n", "\n\n"),
    "blank lines before": "\n\n" + PLAIN,
    "a line of blanks before": " \t\r\n" + PLAIN,
    "a byte order mark and a blank line": "\ufeff\n" + PLAIN,
    "blanks around cells": "a , b\n 1.5 ,x \n2.5, y\n3.5,x\n",
    "quotes around all": '"a","b"\n"1.5","x"\n"2.5","y"\n"3.5","x"\n',
    "exponents and signs": "a,b\n+15e-1,x\n2.5E0,y\n3.5,x\n",
    "UTF-16": PLAIN.encode("utf-16"),
}


@pytest.mark.parametrize("content", READ.values(), ids=READ.keys())
def test_a_file_is_read_as_it_is_meant(content: str | bytes, tmp_path: Path) -> None:
    path = file(tmp_path, content)
    assert cells(path) == {"a": [1.5, 2.5, 3.5], "b": ["x", "y", "x"]}
    code, said = check(path)
    assert code == 0, said
    assert [line.split()[:2] for line in said.splitlines()[1:3]] == [["a", "number"], ["b", "category"]]


def test_one_column_with_decimal_commas_is_one_column(tmp_path: Path) -> None:
    assert read_table(file(tmp_path, "x\n1,5\n2,5\n")).numbers("x").tolist() == [1.5, 2.5]


def test_a_quoted_cell_may_hold_separators_quotes_and_line_feeds(tmp_path: Path) -> None:
    table = read_table(file(tmp_path, 'a,b\n1,"x, ""y""\nz"\n2,w\n'))
    assert table.texts("b").to_pylist() == ['x, "y"\nz', "w"]


def test_names_that_are_not_ascii_reach_the_profile_and_the_features(tmp_path: Path) -> None:
    path = tmp_path / "kündigung.csv"
    customers(20, 1).to_csv(path, index=False)
    code, said = check(path)
    assert code == 0
    assert all(name in said for name in ("kündigung.csv", "größe", "âge", "Köln"))
    assert read_pair(path).preparing.features[:3] == ("größe", "âge", "stadt=Köln")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_parquet_and_csv_give_the_same_rows(suffix: str, tmp_path: Path) -> None:
    frame = customers(30, 1)
    frame.to_csv(tmp_path / "plain.csv", index=False, sep=";", decimal=",", encoding="utf-8-sig")
    (frame.to_csv if suffix == "csv" else frame.to_parquet)(tmp_path / f"p.{suffix}", index=False)
    one, other = read_pair(tmp_path / "plain.csv"), read_pair(tmp_path / f"p.{suffix}")
    assert one.preparing == other.preparing
    assert np.array_equal(one.X_p, other.X_p)


def test_a_frames_index_in_parquet_is_no_column(tmp_path: Path) -> None:
    customers(9, 1).set_index("âge").to_parquet(tmp_path / "named.parquet")
    customers(9, 1)[::2].to_parquet(tmp_path / "numbered.parquet")
    assert "âge" in read_table(tmp_path / "named.parquet").columns
    assert read_table(tmp_path / "numbered.parquet").columns == ("größe", "âge", "stadt", "aktiv")


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("p.csv", PLAIN)
    return buffer.getvalue()


ASKED_BACK = {
    "empty": ("", ["p.csv: the file is empty", "expected a line of column names"]),
    "blank": ("\n \n", ["p.csv: the file is empty"]),
    "header only": ("a,b\n", ["no row below the names of the columns", "'a,b'"]),
    "a zip in place of a CSV": (zipped(), ["a zip archive", "unpack it"]),
    "a pickle": (b"\x80\x04\x95..", ["a pickle", "puoc reads no pickle"]),
    "a web page": ("<!DOCTYPE html>\n<html>", ["a web page", "'<!DOCTYPE html>'"]),
    "binary": (b"a,b\n\0\1,2\n", ["binary content"]),
    "Parquet cut short": (b"PAR1\0\0", ["begins as a Parquet file but is none"]),
    "another encoding": ("größe,b\n1,2\n2,3\n".encode("latin-1"), ["not utf-8 text", "gr\\xf6", "--encoding cp1252"]),
    "another encoding further down": (
        b"a,b\n" + b"1,x\n" * 80_000 + "2,ö\n".encode("latin-1"),
        ["--encoding", "'a,b'"],
    ),
    "a column twice": ("a,b,a\n1,2,3\n4,5,6\n", ["'a' stands 2 times (columns 1, 3)", "'a,b,a'"]),
    "a column without a name": (",a\n0,1\n1,2\n", ["column 1 has no name", "--drop ''"]),
    "columns without names": (",a,\n0,1,2\n1,2,3\n", ["'' has no name, 2 times (columns 1, 3)", "--drop ''"]),
    "no header": ("1,2\n3,4\n", ["the first line holds numbers alone, '1,2'", "--no-header"]),
    "no header, of texts and numbers": (
        "x,1.5,u\ny,2.5,v\nz,,w\nz,3,w\n",
        ["'x,1.5,u', holds the number '1.5', and the lines below hold numbers there", "--no-header", "--header"],
    ),
    "two separators": ("a;b,c;d\n1;2,3;4\n5;6,7;8\n", ["comma and semicolon", "'a;b,c;d'", "--separator"]),
    "blanks between columns": ("a b\n1 2\n3 4\n", ["separated by blanks", "'a b'", "--separator ' '"]),
    "a row too short": ("a,b\n1,2\n3\n", ["Row #3: Expected 2 columns, got 1", "Mend the row"]),
    "an open quote": ('a,b\n"x,2\n1,3\n', ["the quotation mark that opens a cell in line 2 is never closed"]),
    "mixed types": (
        "a,b\n1,2\nx,3\n2,1\n",
        ["p.csv, row 2: column 'a' holds 'x', no number", "2 of its 3 values", "--missing 'x'", "--category 'a'"],
    ),
    "an infinite value": ("a,b\n1,2\ninf,3\n", ["p.csv, row 2: column 'a' holds 'inf'", "--missing inf", "--drop 'a'"]),
    "a number too large": ("a,b\n1,2\n1e999,3\n", ["row 2: column 'a' holds '1e999', too large"]),
    "both decimal signs": ("a;b\n1,5;2.5\n2,5;3.5\n", ["'1,5' has a decimal comma and '2.5'", "--decimal"]),
    "comma or thousands": ("a;b\n1,234;2\n2,345;3\n", ["decimal comma or a separator of thousands", "--decimal ,"]),
    "JSON in one line": ('[{"a": 1, "b": 2}, {"a": 3, "b": 4}]', ["JSON in place of a table", "read_json"]),
    "JSON in lines": ('{"a": 1}\n{"a": 2}\n', ["JSON in place of a table"]),
    "indented JSON": ('[\n {\n  "a": 1\n }\n]\n', ["JSON in place of a table"]),
    "an accent without UTF-8": (b"a,b\n1,2\ncaf\xe9,3\n", [r"(line 3: 'caf\xe9,3')"]),
    "thousands": ("a;b\n1.234,5;2\n2.345,5;3\n", ["'1.234,5' has separators of thousands"]),
    "a constant column alone": ("a\n7\n7\n", ["no column is left to learn from 2 rows", "the same value in all rows"]),
    "one row": ("a,b\n1,2\n", ["no column is left to learn from 1 row:"]),
    "a column of words": (
        "word,x\n" + "".join(f"n{i},{i % 9}\n" for i in range(60)),
        ["'word' has 60 different texts in 60 rows", "--category 'word'", "--drop 'word'", "--text 'word'"],
    ),
    "a column of names": (
        "id,x\n" + "".join(f"n{i},{i % 9}\n" for i in range(60)),
        ["column 'id' is named as an id", "--category 'id'", "--drop 'id'"],
    ),
}


@pytest.mark.parametrize(("content", "expected"), ASKED_BACK.values(), ids=ASKED_BACK.keys())
def test_a_file_that_cannot_be_read_in_one_way_is_asked_back(
    content: str | bytes, expected: list[str], tmp_path: Path
) -> None:
    path = file(tmp_path, content)
    refused(check(path), "p.csv", *expected)
    assert sorted(tmp_path.iterdir()) == [path]


ANSWERED = {
    "encoding": ("größe,b\n1,2\n2,3\n".encode("latin-1"), ["--encoding", "latin-1"]),
    "no header": ("1,2\n3,4\n", ["--no-header"]),
    "header of numbers": ("1,2\n3,4\n4,5\n", ["--header"]),
    "header of years": ("land,2019,2020\nA,3,4\nB,4,5\n", ["--header"]),
    "no header, of texts and numbers": ("x,1.5\ny,2.5\nx,3\n", ["--no-header"]),
    "separator": ("a;b,c;d\n1;2,3;4\n5;6,7;8\n", ["--separator", ";"]),
    "blanks": ("a b\n1 2\n3 4\n", ["--separator", " "]),
    "decimal comma": ("a;b\n1,234;2\n2,345;3\n", ["--decimal", ","]),
    "missing": ("a,b\n1,2\nx,3\n2,1\n", ["--missing", "x"]),
    "category": ("a,b\n1,2\nx,3\n2,1\n", ["--category", "a"]),
    "drop": ("a,b\n1,2\nx,3\n2,1\n", ["--drop", "a"]),
    "drop the index": (",a\n0,1\n1,2\n", ["--drop", ""]),
    "an infinite value is none": ("a,b\n1,2\ninf,3\n4,4\n", ["--missing", "inf"]),
}


@pytest.mark.parametrize(("content", "answer"), ANSWERED.values(), ids=ANSWERED.keys())
def test_what_is_asked_back_can_be_answered(content: str | bytes, answer: list[str], tmp_path: Path) -> None:
    code, said = check(file(tmp_path, content), *answer)
    assert code == 0, said


def test_missing_values_have_a_column_and_the_median_and_are_told(tmp_path: Path) -> None:
    path = file(tmp_path, "a,b\n1,x\nNaN,y\n,x\n3,\n8,x\nNA,N/A\n")
    pair = read_pair(path)
    assert pair.preparing.features == ("a", "a is missing", "b=x", "b=y", "b is missing")
    assert pair.X_p[:, 1].tolist() == [0, 1, 1, 0, 0, 1]
    assert np.allclose(pair.X_p[:, 0], (np.array([1, 3, 3, 3, 8, 3]) - 1) / 7)
    assert pair.X_p[:, 2:].tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]]
    code, said = check(path)
    assert code == 0
    assert "missing values: 3 in 'a', " in said
    assert "missing values of a, b: filled with the median or no category; a column marks them" in said


def test_constant_and_empty_columns_are_left_out_and_the_profile_says_so(tmp_path: Path) -> None:
    path = file(tmp_path, "a,k,e\n1,7,\n2,7,\n3,7,NA\n")
    pair = read_pair(path, path)  # a one-class method uses them: see test_unseen.py
    assert pair.preparing.features == ("a",)
    assert {column.name: column.note for column in pair.profile if column.read_as == "left out"} == {
        "k": "the same value in all rows",
        "e": "all values are missing",
    }


def test_one_unlabelled_row_can_be_scored_but_one_positive_teaches_nothing(tmp_path: Path) -> None:
    path = file(tmp_path, PLAIN)
    assert read_pair(path).read(file(tmp_path, "a,b\n9,x\n", "v.csv")).X.shape == (1, 3)


def test_rows_keep_their_numbers_in_the_file(tmp_path: Path) -> None:
    path = file(tmp_path, "a,y\n1,1\n2,0\n3,1\n4,1\n5,0\n")
    pair = read_pair(data=path, how=How(label="y"))
    assert pair.positives.numbers.tolist() == [1, 3, 4]
    assert pair.unlabelled is not None
    assert pair.unlabelled.numbers.tolist() == [2, 5]
    held = read_pair(data=path, how=How(label="y"), withhold=0.34, seed=3)
    assert held.held is not None
    assert sorted([*held.positives.numbers, *held.held.numbers]) == [1, 3, 4]
    mixed = file(tmp_path, "a,y\n1,1\n2,0\n3,1\n4,1\nx,0\n")
    with pytest.raises(ValueError, match="row 5: column 'a' holds 'x'"):
        read_pair(data=mixed, how=How(label="y"))


def test_columns_that_differ_between_the_files_are_named(tmp_path: Path) -> None:
    p, u = file(tmp_path, "a,b\n1,2\n2,3\n"), file(tmp_path, "a,c\n1,2\n2,3\n", "u.csv")
    message = refused(puoc("fit", "--method", "naive", "--positives", p, "--unlabelled", u, "--check"))
    assert "u.csv: no column 'b', which " in message
    assert "p.csv: no column 'c', which " in message
    same = file(tmp_path, "b,a\n2,1\n4,3\n", "v.csv")
    pair = read_pair(p, same)
    assert pair.X_u is not None
    assert pair.preparing.features == ("a", "b")
    assert np.allclose(pair.X_u, [[0, 0], [1, 1]])


def test_a_column_that_tells_the_files_apart_is_doubted(tmp_path: Path) -> None:
    p = file(tmp_path, "a,s,n,m\n" + "".join(f"{i * i},new{i % 2},{i * i},\n" for i in range(9)))
    u = file(tmp_path, "a,s,n,m\n" + "".join(f"{i * i},old{i % 2},{i * i + 100},{i % 3}\n" for i in range(9)), "u.csv")
    notes = {column.name: column.note for column in read_pair(p, u).profile}
    assert notes["a"] == ""
    assert all("separates labelled from unlabelled rows by itself" in notes[name] for name in ("s", "n", "m"))


def test_a_column_with_one_value_in_each_file_is_refused(tmp_path: Path) -> None:
    p = file(tmp_path, "a,y\n1,1\n2,1\n")
    u = file(tmp_path, "a,y\n3,0\n4,0\n", "u.csv")
    words = ("fit", "--method", "naive", "--positives", p, "--unlabelled", u, "--check")
    refused(puoc(*words), "column 'y' is '1' in all rows, and '0' in all of ", "--drop 'y', also if it is the label")
    for answer in ("--drop", "--category"):
        assert puoc(*words, answer, "y")[0] == 0


def test_names_are_the_same_in_composed_and_decomposed_letters(tmp_path: Path) -> None:
    p = file(tmp_path, "gro\u0308\u00dfe\n1\n2\n")
    u = file(tmp_path, "gr\u00f6\u00dfe\n3\n4\n", "u.csv")
    assert read_pair(p, u).preparing.features == ("gr\u00f6\u00dfe",)


LABELS = {
    "-1 and +1": ("-1", "+1"),
    "-1 and 1": ("-1", "1"),
    "0 and 1": ("0", "1"),
    "false and true": ("false", "true"),
    "False and True": ("False", "True"),
    "neg and pos": ("neg", "pos"),
    "NEGATIVE and POSITIVE": ("NEGATIVE", "POSITIVE"),
    "U and P": ("U", "P"),
    "no and yes": ("no", "yes"),
    "unlabelled and labelled": ("unlabelled", "labelled"),
    "nothing and 1": ("", "1"),
    "0.0 and 1.0": ("0.0", "1.0"),
}


def labelled(negative: str, positive: str) -> str:
    return "x,y\n" + "".join(f"{i},{positive if i % 3 == 0 else negative}\n" for i in range(9))


@pytest.mark.parametrize(("negative", "positive"), LABELS.values(), ids=LABELS.keys())
def test_labels_that_are_usual_are_read_right(negative: str, positive: str, tmp_path: Path) -> None:
    path = file(tmp_path, labelled(negative, positive))
    pair = read_pair(data=path, how=How(label="y"))
    assert pair.positives.numbers.tolist() == [1, 4, 7]
    assert "(3 rows) read as positive" in pair.notes[0]
    code, said = puoc("fit", "--method", "naive", "--data", path, "--label", "y", "--check")
    assert code == 0
    assert "y" not in [line.split()[0] for line in said.splitlines()[1:3]]


UNKNOWN_LABELS = {
    "1 and 2": (labelled("1", "2"), ["'2' in 3 rows, '1' in 6 rows", "which one means positive?", "'x,y'"]),
    "spam and ham": (labelled("spam", "ham"), ["which one means positive? Use --positive VALUE"]),
    "three values": (labelled("0", "1") + "9,2\n", ["'2' in 1 row", "which one means positive?"]),
    "one value": (labelled("1", "1"), ["'1' in 9 rows; expected two values"]),
}


@pytest.mark.parametrize(("content", "expected"), UNKNOWN_LABELS.values(), ids=UNKNOWN_LABELS.keys())
def test_labels_that_are_not_are_asked_back(content: str, expected: list[str], tmp_path: Path) -> None:
    path = file(tmp_path, content)
    words = ("fit", "--method", "naive", "--data", path, "--label", "y", "--check")
    refused(puoc(*words), "p.csv: the label 'y' has", *expected)
    if len(set(content.split())) > 11:
        positive = content.splitlines()[1].split(",")[1]
        assert puoc(*words, "--positive", positive)[0] == 0
    refused(puoc(*words, "--positive", "maybe"), "expected two values" if "one value" in expected[0] else "'y' has")


def test_a_label_column_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    path = file(tmp_path, PLAIN)
    refused(puoc("fit", "--method", "naive", "--data", path, "--label", "y", "--check"), "no column 'y'", "'a', 'b'")
    refused(puoc("fit", "--method", "naive", "--data", path, "--check"), "--label NAME", "'a,b'")


@pytest.mark.parametrize("name", ["--label", "--text"])
def test_a_missing_column_of_a_file_whose_first_line_is_a_row_names_no_header(name: str, tmp_path: Path) -> None:
    lines = [f"{'spam' if i % 3 else 'ham'}\tcall me at {i} or {i + 1} today\n" for i in range(60)]
    path = file(tmp_path, "".join(lines), "SMSSpam")
    words = ("fit", "--method", "pu_svm", "--data", path, "--positive", "spam", "--check")
    first = ("--label", "1") if name == "--label" else ("--label", "ham", "--text", "1")
    hint = refused(puoc(*words, *first), "no column '1'", "seems to be a row", "--no-header", "column1, column2")
    assert "column1" in hint
    assert puoc(*words, "--no-header", "--label", "column1", "--text", "column2")[0] == 0
    other = file(tmp_path, "kind\tmessage\n" + "".join(lines), "named")
    assert "--no-header" not in puoc("fit", "--method", "pu_svm", "--data", other, "--label", "1", "--check")[1]


def test_a_block_of_a_file_names_rows_as_the_whole_file_does(tmp_path: Path) -> None:
    from puoc.datasets.readers.tables import stream_table

    path = file(tmp_path, "a\n" + "".join(f"{i}\n" for i in range(10)))
    parts = list(stream_table(path, at_once=4))
    assert [len(part) for part in parts] == [4, 4, 2]
    assert [part.row_numbers().tolist() for part in parts] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    whole = read_table(path)
    assert isinstance(whole, RawTable)
    assert whole.numbers("a").tolist() == list(range(10))


WORDS = st.text("abcäßж ,;|\t\"'#x\u4e2d", min_size=1, max_size=6).map(str.strip).filter(bool).map("k{}".format)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    rows=st.lists(st.tuples(st.decimals(-999, 999, places=2), st.sampled_from(range(4))), min_size=2, max_size=12),
    words=st.lists(WORDS, min_size=4, max_size=4, unique=True),
    separator=st.sampled_from(",;|\t"),
    decimal=st.sampled_from(".,"),
    line_end=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_whatever_program_wrote_a_table_its_cells_are_read(
    rows, words, separator, decimal, line_end, encoding, quoting, tmp_path: Path
) -> None:
    path = tmp_path / "any.csv"
    with path.open("w", encoding=encoding, newline="") as stream:
        writer = csv.writer(stream, delimiter=separator, lineterminator=line_end, quoting=quoting)
        writer.writerow(["größe", "wort"])
        writer.writerows([str(number).replace(".", decimal), words[word]] for number, word in rows)
    table = read_table(path, How(separator=separator))
    assert table.numbers("größe").tolist() == [float(number) for number, _ in rows]
    assert table.texts("wort").to_pylist() == [words[word] for _, word in rows]
    with suppress(ValueError):  # a word may hold another separator as often as there are columns
        found = read_table(path)
        assert found.numbers("größe").tolist() == table.numbers("größe").tolist()


def test_pandas_and_we_agree_on_a_plain_file(tmp_path: Path) -> None:
    frame = customers(50, 5)
    frame.to_csv(tmp_path / "p.csv", index=False)
    table = read_table(tmp_path / "p.csv")
    assert np.array_equal(table.numbers("größe"), frame["größe"])
    assert table.texts("stadt").to_pylist() == frame["stadt"].to_list()
    assert pd.Series(table.texts("aktiv").to_pylist()).eq("true").to_list() == frame["aktiv"].to_list()


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "Int16", "bool", "str"])
@pytest.mark.parametrize("as_category", [False, True])
def test_what_means_missing_means_it_in_every_type_of_column(kind: str, as_category: bool, tmp_path: Path) -> None:
    values, mark = ([1, 0, 1, 0, 1], "0") if kind == "bool" else ([1, 99, 3, 99, 5], "99")
    frame = pd.DataFrame({"a": pd.array(values, dtype=kind), "n": range(5)})
    marks = ("FALSE",) if kind == "bool" else (f"{mark}.0", mark)
    frame.to_parquet(tmp_path / "p.parquet")
    frame.to_csv(tmp_path / "p.csv", index=False)
    category = ("a",) if as_category else ()
    for name in ("p.parquet", "p.csv"):
        pair = read_pair(tmp_path / name, None, How(missing=marks, category=category))
        assert pair.profile[0].missing == 2
        column = pair.preparing.features.index("a is missing")
        assert pair.X_p[:, column].tolist() == [0, 1, 0, 1, 0]


def test_whole_numbers_of_any_size_are_read_alike_from_text_and_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [2**53 + 1, 2**62 + 3, 5]})
    frame.to_parquet(tmp_path / "p.parquet")
    frame.to_csv(tmp_path / "p.csv", index=False)
    found = [read_table(tmp_path / name).numbers("a").tolist() for name in ("p.csv", "p.parquet")]
    assert found[0] == found[1] == [float(2**53 + 1), float(2**62 + 3), 5.0]
    assert np.array_equal(read_pair(tmp_path / "p.parquet").X_p, read_pair(tmp_path / "p.csv").X_p)


@pytest.mark.parametrize("header", [True, False])
def test_rows_below_blank_lines_and_a_first_line_are_all_there(header: bool, tmp_path: Path) -> None:
    path = file(tmp_path, "\n \n" + ("1,x\n" if header else "") + "2,y\n\n3,z\n")
    table = read_table(path, How(header=header))
    name = "1" if header else "column1"
    assert table.columns[0] == name
    assert table.numbers(name).tolist() == [2, 3]
    assert table.row(0) == 1


def test_a_first_line_of_names_with_a_number_above_texts_is_a_header(tmp_path: Path) -> None:
    assert read_table(file(tmp_path, "a,1\n2,x\n3,4\n5,y\n")).columns == ("a", "1")


@pytest.mark.parametrize("encoding", ["rot13", "hex", "zlib", "nope"])
@pytest.mark.parametrize("name", ["p.csv", "p.txt"])
def test_what_is_no_encoding_of_texts_is_refused(encoding: str, name: str, tmp_path: Path) -> None:
    path = file(tmp_path, PLAIN, name)
    refused(check(path, "--encoding", encoding), f"unknown encoding {encoding!r}; expected one such as utf-8")


FORMS = {"table": "p.csv", "texts": "p.txt", "images": "p"}


@pytest.mark.parametrize("one", FORMS)
@pytest.mark.parametrize("other", FORMS)
def test_files_of_different_kinds_are_refused_in_words(one: str, other: str, tmp_path: Path) -> None:
    file(tmp_path, PLAIN)
    file(tmp_path, "a dog\nthe cat\n", "p.txt")
    (tmp_path / "p").mkdir()
    for i in range(2):
        Image.new("L", (9, 9), i).save(tmp_path / "p" / f"{i}.png")
    P, U = (tmp_path / FORMS[kind] for kind in (one, other))
    if one == other:
        assert read_pair(P, U).preparing.kind == one
        return
    words = ("fit", "--method", "naive", "--positives", P, "--unlabelled", U, "--check")
    refused(puoc(*words), f"{U} is read as {other}, and {P} as {one}", "use --kind")
    with pytest.raises(ValueError, match=f"is read as {other}, and the training rows as {one}"):
        read_pair(P).read(U)


@pytest.mark.parametrize("deep", ["linked", "deep/linked"])
def test_pictures_behind_a_link_in_a_folder_are_not_left_out_in_silence(deep: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "p" / "deep").mkdir(parents=True)
    for folder, n in (("p", 3), ("elsewhere", 2)):
        for i in range(n):
            Image.new("L", (9, 9), 10 * n + i).save(tmp_path / folder / f"{i}.png")
    (tmp_path / "p" / ".trash").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "p" / "one.png").symlink_to(tmp_path / "elsewhere" / "0.png")
    assert len(read_pair(tmp_path / "p").positives) == 4
    (tmp_path / "all").symlink_to(tmp_path / "p")  # a link that is named is meant
    assert len(read_pair(tmp_path / "all").positives) == 4
    (tmp_path / "p" / deep).symlink_to(tmp_path / "elsewhere")
    refused(check(tmp_path / "p"), f"{tmp_path / 'p' / deep}: a link to a folder, whose pictures would be left out")


@pytest.mark.parametrize("way", ["--data", "--test", "--positives"])
def test_a_column_of_texts_that_is_not_there_is_named_with_those_that_are(way: str, tmp_path: Path) -> None:
    path = file(tmp_path, "said,y\na dog,1\nthe cat,0\n")
    train = file(tmp_path, "nope,y\na dog,1\nthe cat,0\n", "train.csv") if way == "--test" else None
    words = (way, path, *(("--data", train) if train else ()), *(() if way == "--positives" else ("--label", "y")))
    refused(
        puoc("fit", "--method", "oc_svm", *words, "--text", "nope", "--check"), f"{path}: no column 'nope'", "'said'"
    )


@pytest.mark.parametrize("first", ["land,2019", "2018,2019"])
def test_a_first_line_with_the_columns_that_are_wanted_is_not_asked_back(first: str, tmp_path: Path) -> None:
    from puoc.datasets.readers.tables import stream_table

    path = file(tmp_path, first + "\n3,4\n5,6\n")
    (part,) = stream_table(path, columns=["2019"])
    assert part.numbers("2019").tolist() == [4, 6]
    with pytest.raises(ValueError, match="--no-header"):
        list(stream_table(path, columns=["2020"]))


@pytest.mark.parametrize("form", ["{}%", "${}", "({})", "\u2212{}", "{}'000", "{}\u00a0000", "{} EUR", "1.{}26,0.335"])
def test_numbers_with_signs_around_them_are_asked_back_or_categories_by_word(tmp_path: Path, form: str) -> None:
    numbers = [form.replace("{}", str(i % 7 + 1)) for i in range(40)]
    p = file(tmp_path, "a;b\n" + "".join(f"{value};{i % 9}\n" for i, value in enumerate(numbers)))
    words = (p, "--separator", ";")
    if "EUR" in form:  # a word: few enough to be categories
        assert check(*words)[0] == 0
        return
    refused(check(*words), "column 'a' holds", "a number with other signs", "--category 'a'", "--drop 'a'")
    assert check(*words, "--category", "a")[0] == 0


def test_texts_that_hardly_repeat_are_no_categories(tmp_path: Path) -> None:
    def written(different: int) -> Path:
        return file(tmp_path, "a,b\n" + "".join(f"x{i % different},{i % 9}\n" for i in range(20)))

    assert check(written(10))[0] == 0
    refused(check(written(11)), "column 'a' has 11 different texts in 20 rows", "--category 'a'", "--text 'a'")
    assert check(written(11), "--category", "a")[0] == 0


def test_a_word_to_a_spreadsheet_is_no_name(tmp_path: Path) -> None:
    p = file(tmp_path, "sep=;\na;b\n1,5;2\n2,5;3\n")
    refused(check(p), "the first line 'sep=;' is an instruction for a spreadsheet", "delete that line")


def test_a_number_beyond_single_precision_is_refused_with_its_row_before_anything_is_written(tmp_path: Path) -> None:
    p = file(tmp_path, "a,b\n" + "".join(f"{i % 7},{i * i % 19}\n" for i in range(20)))
    made = puoc("fit", "--method", "oc_svm", "--encoder", "flatten", "--positives", p, "--out", tmp_path / "model")
    assert made[0] == 0, made[1]
    large = file(tmp_path, "a,b\n1,2\n3,1e300\n", "large.csv")
    said = puoc("score", "--model", tmp_path / "model", large)
    refused(said, "large.csv, row 2: column 'b' holds a number too large for single precision")
    assert 'score"' not in said[1]


@pytest.mark.parametrize("mark", ["utf-16", "utf-8-sig"])
def test_texts_of_a_file_with_a_mark_are_read(mark: str, tmp_path: Path) -> None:
    path = file(tmp_path, "a dög\n\nthe cat\n".encode(mark), "p.txt")
    rows = read_pair(path).positives
    assert rows.raw.texts == ["a dög", "", "the cat"]
    assert check(path)[0] == 0


@pytest.mark.parametrize("as_category", [False, True])
def test_numbers_of_half_precision_are_read(as_category: bool, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.array([1.5, np.nan, 3, 4], dtype="float16"), "b": [1, 2, 4, 9]})
    frame.to_parquet(tmp_path / "p.parquet")
    frame.to_csv(tmp_path / "p.csv", index=False)
    how = How(category=("a",)) if as_category else How()
    pairs = [read_pair(tmp_path / name, None, how) for name in ("p.csv", "p.parquet")]
    assert np.array_equal(pairs[0].X_p, pairs[1].X_p)
    assert np.array_equal(pairs[0].X_p, pairs[0].preparing.from_frame(frame).X)


def test_values_that_are_no_texts_are_refused_with_file_and_column(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    odd = {
        "binary": pa.array([b"\xff\xfe", b"a"] * 5),
        "timestamp": pa.array(range(10), pa.timestamp("s", tz="Mars/Olympus")),
    }
    for kind, cells in odd.items():
        parquet.write_table(pa.table({"n": list(range(5)) * 2, "odd": cells}), path)
        refused(check(path), f"{path}: column 'odd' holds {kind}", "expected numbers, texts or truth values")
        assert check(path, "--drop", "odd")[0] == 0


def test_numbers_with_leading_zeros_are_doubted(tmp_path: Path) -> None:
    rows = "".join(f"0{1000 + i * i % 9},{i * i % 19},{0.5 * (i % 4)}\n" for i in range(20))
    path = file(tmp_path, "zip,a,b\n" + rows)
    notes = {column.name: column.note for column in read_pair(path).profile}
    assert notes == {"zip": "written with leading zeros: codes, better read as categories?", "a": "", "b": ""}
    assert read_pair(path, None, How(category=("zip",))).profile[0].note == ""


@pytest.mark.parametrize("name", ["pipe", "pipe.txt"])
def test_a_pipe_is_refused_in_words(name: str, tmp_path: Path) -> None:
    pipe = tmp_path / name
    os.mkfifo(pipe)
    refused(check(pipe), f"{pipe}: got a pipe or a device; expected a file")


def tarred() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        member = tarfile.TarInfo("p.csv")
        member.size = len(PLAIN)
        archive.addfile(member, io.BytesIO(PLAIN.encode()))
    return content.getvalue()


OTHER_FORMS = {
    "a bzip2 archive": bz2.compress(PLAIN.encode()),
    "an xz archive": lzma.compress(PLAIN.encode()),
    "a zstd archive": bytes(pa.compress(PLAIN.encode(), "zstd")),
    "a gzip archive": gzip.compress(PLAIN.encode()),
    "a tar archive": tarred(),
    "a Feather or Arrow file": b"ARROW1\0\0...",
    "an array of NumPy": b"\x93NUMPY\x01\0",
    "a pickle": pickle.dumps([1], protocol=4),
    "a picture": b"\x89PNG\r\n\x1a\n",
}


@pytest.mark.parametrize(("what", "content"), OTHER_FORMS.items(), ids=OTHER_FORMS.keys())
@pytest.mark.parametrize("name", ["p.csv", "p.txt"])
def test_a_file_of_another_form_is_named_as_what_it_is(what: str, content: bytes, name: str, tmp_path: Path) -> None:
    message = refused(check(file(tmp_path, content, name)), f"{name}: {what} in place of ")
    assert "--encoding" not in message


@pytest.mark.parametrize("separator", ["|", ",", "\t", ";"])
def test_a_text_file_that_looks_like_a_table_gets_a_warning(separator: str, tmp_path: Path) -> None:
    lines = [f"{i}.12{separator}0.{i}5" for i in range(60)]
    code, said = check(file(tmp_path, "\n".join(lines), "p.txt"))
    assert code == 0, said
    assert said.count("nearly all lines have 2 cells") == 1
    assert "ends in .csv" in said
    plain = file(tmp_path, "\n".join(f"well, it was {i} or so" for i in range(60)), "q.txt")
    assert "cells" not in check(plain)[1]


def test_a_long_cell_leaves_the_limit_of_other_readers_as_it_was(tmp_path: Path) -> None:
    """A reader of a dataset finds a quote without an end by this limit, which is one for the whole process."""
    before = csv.field_size_limit()
    (tmp_path / "long.csv").write_text(f"text,n\n{'a' * (before + 1)},1\nb,2\n")
    assert layout_of(tmp_path / "long.csv", How()).separator == ","
    assert csv.field_size_limit() == before
