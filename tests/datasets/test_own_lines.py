"""Quotation marks and empty lines of a table: what they swallow or shift is refused or told."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from own_files import check, puoc, refused
from pyarrow import csv as arrow

from puoc.datasets.readers import How, read_pair, read_table
from puoc.datasets.readers.csv_lines import Lines
from puoc.datasets.readers.tables import stream_table

MANY = "".join(f"{i},{i % 7}\n" for i in range(100_000))  # more than what is looked at first
ROWS = "".join(f"{i % 11},{i % 7}\n" for i in range(30))


def file(folder: Path, content: str, name: str = "p.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode())
    return path


def model(folder: Path) -> Path:
    made = folder / "model"
    said = puoc("fit", "--method", "oc_svm", "--positives", file(folder, "a,b\n" + ROWS, "t.csv"), "--out", made)
    assert said[0] == 0, said[1]
    return made


UNCLOSED = {
    "at once": ('a,b\n1,"x\n' + ROWS, 2, 1 << 16),
    "at the end": ("a,b\n" + ROWS + '3,"x', 32, 1 << 16),
    "at the beginning of a large file": ('a,b\n1,"x\n' + MANY, 2, 1 << 16),
    "in the middle of a large file": ("a,b\n" + MANY + '1,"x\n' + MANY, 100_002, 1 << 16),
    "below cells that are closed": ('a,b\n"1","""2"\n3,"4\n5"\n6,"x\n' + ROWS, 5, 1 << 16),
    "followed by more than a cell may hold": ('a,b\n1,"x\n' + MANY * 40, 2, 1 << 16),
}


@pytest.mark.parametrize(("content", "line", "at_once"), UNCLOSED.values(), ids=UNCLOSED.keys())
def test_a_file_that_ends_within_a_cell_is_refused(content: str, line: int, at_once: int, tmp_path: Path) -> None:
    path = file(tmp_path, content)
    with pytest.raises(ValueError, match=f"p.csv: the quotation mark that opens a cell in line {line} is never closed"):
        list(stream_table(path, at_once=at_once))


def test_fit_and_score_of_a_file_that_ends_within_a_cell_write_nothing(tmp_path: Path) -> None:
    made, path = model(tmp_path), file(tmp_path, "a,b\n" + ROWS + '3,"unclosed\n' + ROWS)
    score = ("score", "--model", made, path, "--out", tmp_path / "scores.csv")
    fit = ("fit", "--positives", path, "--method", "oc_svm", "--out", tmp_path / "other")
    for words in (score, fit):
        refused(puoc(*words), "in line 32 is never closed", "it begins '\"unclosed'")
        assert not Path(words[-1]).exists()


def test_cells_of_several_lines_are_read_and_told(tmp_path: Path) -> None:
    path = file(tmp_path, 'a,b\n1,"a dog\na cat"\n2,dogs\n3,"one\ntwo\nthree"\n4,cats\n')
    told = "line breaks within 2 cells in quotation marks, the first from line 2 on, the longest from line 5 on, of 3"
    table = read_table(path)
    assert table.texts("b").to_pylist() == ["a dog\na cat", "dogs", "one\ntwo\nthree", "cats"]
    assert told in table.notes[0]
    code, said = check(path)
    assert code == 0
    assert f"{path}: {told}" in " ".join(said.split())
    pair = read_pair(path, None, How(text="b"), withhold=0.5)
    assert pair.held is not None
    assert sum(told in note for rows in (pair.positives, pair.held) for note in rows.notes) == 1


def test_rows_that_two_stray_marks_swallow_are_told_by_fit_and_score(tmp_path: Path) -> None:
    made = model(tmp_path)
    path = file(tmp_path, 'a,b,c\n1,2,"x\n' + ROWS.replace("\n", ",z\n") + '3,4,y"\n5,6,z\n')
    code, said = puoc("score", "--model", made, path)
    assert code == 0
    assert "2 rows scored" in said
    assert "line breaks within 1 cells in quotation marks, the first from line 2 on" in said
    assert "of 32 lines; a stray quotation mark?" in said


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_empty_lines_of_one_column_are_rows_without_a_value(line_end: str, tmp_path: Path) -> None:
    made = tmp_path / "model"
    train = file(tmp_path, "a\n" + "".join(f"{i * i % 17}\n" for i in range(30)), "t.csv")
    assert puoc("fit", "--method", "oc_svm", "--positives", train, "--out", made)[0] == 0
    path = file(tmp_path, "a\n1\n\n3\n4\n\n\n".replace("\n", line_end))
    code, said = puoc("score", "--model", made, path)
    assert code == 0
    assert "4 rows scored" in said
    assert "1 missing values in 'a'" in said
    assert read_table(path).row_numbers().tolist() == [1, 2, 3, 4]
    texts = read_pair(file(tmp_path, "m\na dog\n\nthe cat\n", "m.csv"), None, How(text="m")).positives
    assert texts.raw.texts == ["a dog", "", "the cat"]


def test_empty_lines_among_several_columns_are_told(tmp_path: Path) -> None:
    made = model(tmp_path)
    path = file(tmp_path, "\n\na,b\n1,2\n\n\n3,4\n5,6\n\n\n")
    code, said = puoc("score", "--model", made, path)
    assert code == 0
    assert "2 empty lines passed over, and rows are numbered without them" in said
    assert "3 rows scored" in said
    assert read_table(file(tmp_path, "\n\na,b\n1,2\n3,4\n\n", "t.csv")).notes == ()


CELLS = st.lists(st.lists(st.text('ab",\n\r é', max_size=5), min_size=2, max_size=2), min_size=1, max_size=8)
ANY = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def read_through(path: Path, encoding: str, separator: str, n: int) -> tuple[Lines, str]:
    lines, parts = Lines(path, encoding, separator), []
    while part := lines.read(n):
        assert len(part) <= n
        parts.append(part)
    lines.close()
    return lines, b"".join(parts).decode()


@ANY
@given(
    rows=CELLS,
    line_end=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    n=st.sampled_from([12, 13, 64, 1 << 20]),
)
def test_lines_are_counted_as_they_were_written(rows, line_end, encoding, n, tmp_path: Path) -> None:
    path = tmp_path / "any.csv"
    with path.open("w", encoding=encoding, newline="") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator=line_end).writerows([*rows, ["x", "y"]])
    lines, read = read_through(path, encoding, ",", n)
    lines.check_closed()
    with path.open(encoding=encoding, newline="") as stream:
        assert read == stream.read().removesuffix(line_end) + "\n"
    breaks = sum(len((cell + ".").splitlines()) - 1 for row in rows for cell in row)
    assert (lines.breaks, lines.ends) == (breaks, len(rows) + 1 + breaks)
    assert bool(lines.warnings(len(rows) + 1, 0)) == bool(breaks)


@ANY
@given(content=st.text('a",\n', max_size=30), n=st.sampled_from([12, 13, 1 << 20]))
def test_marks_are_taken_as_the_parser_takes_them(content: str, n: int, tmp_path: Path) -> None:
    path = file(tmp_path, content + "\nx")
    parsing = arrow.ParseOptions(delimiter="\t", newlines_in_values=True, ignore_empty_lines=False)
    rows = arrow.read_csv(path, arrow.ReadOptions(column_names=["c"], use_threads=False), parsing).num_rows
    lines, _ = read_through(path, "utf-8", "\t", n)
    try:
        lines.check_closed()
    except ValueError:
        return  # the parser takes the rest for a cell
    assert lines.ends - lines.breaks == rows
