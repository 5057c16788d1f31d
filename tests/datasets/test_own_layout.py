"""What the first lines of a table say: numbers of the columns that are used, and lines of any length."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_files import check, puoc, refused

from puoc.datasets.readers import How, read_table
from puoc.datasets.readers.columns import profile_of
from puoc.datasets.readers.preprocess import fit_table
from puoc.datasets.readers.tables import stream_table

ADDRESSES = "".join(f"192.168.{100 + i % 3}.{100 + i},{i % 11},{i * i % 7}.5\n" for i in range(30))


def file(folder: Path, content: str, name: str = "p.csv") -> Path:
    path = folder / name
    path.write_text(content)
    return path


def test_an_address_is_no_number_with_separators_of_thousands(tmp_path: Path) -> None:
    path = file(tmp_path, "ip,a,b\n" + ADDRESSES)
    assert check(path, "--drop", "ip")[0] == 0
    assert check(path, "--category", "ip")[0] == 0
    refused(check(path), "column 'ip' holds '192.168.100.100', a number with other signs", "--drop 'ip'")


def test_columns_that_are_not_used_say_nothing_about_numbers(tmp_path: Path) -> None:
    train = file(tmp_path, "a,b\n" + "".join(f"{i % 11},{i * i % 7}.5\n" for i in range(30)), "t.csv")
    assert puoc("fit", "--method", "oc_svm", "--positives", train, "--out", tmp_path / "model")[0] == 0
    path = file(tmp_path, "a,b,odd\n" + "".join(f"{i},{i}.5,1.234.567\n" for i in range(9)))
    code, said = puoc("score", "--model", tmp_path / "model", path)
    assert code == 0, said
    assert "9 rows scored" in said
    assert check(path, "--drop", "odd")[0] == 0
    assert check(file(tmp_path, "a,odd\n" + "1,1.234.567 dogs\n2,1.234.567\n3,cats\n"), "--text", "odd")[0] == 0
    refused(check(path), "'1.234.567' has separators of thousands", "--decimal .")
    assert check(path, "--decimal", ".", "--category", "odd")[0] == 0


@pytest.mark.parametrize("k", [2000, 25_000])
@pytest.mark.parametrize("decimal", [".", ","])
def test_names_of_any_number_of_columns_are_read(k: int, decimal: str, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(4, k)).round(2)
    names = [f"gene_{j:07d}" for j in range(k)]
    lines = [";".join(f"{value:.2f}".replace(".", decimal) for value in row) for row in X]
    path = file(tmp_path, "\n".join([";".join(names), *lines, ""]))
    table = read_table(path)
    assert list(table.columns) == names
    assert table.decimal == decimal
    assert table.numbers(names[-1]).tolist() == X[:, -1].tolist()


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("puoc.datasets.readers.csv_dialect._MAX_HEAD", 1 << 20)
    refused(check(file(tmp_path, "a," * (3 << 19))), "no line ends in the first 2 MiB; expected a line of column names")


def test_a_long_text_among_the_first_rows_is_read(tmp_path: Path) -> None:
    long = "long word " * 14_000
    path = file(tmp_path, f"id,msg\n1,{long}\n" + "".join(f"{i},a dog {i}\n" for i in range(40_000)))
    (first, *_) = stream_table(path, How(), ["msg"])
    assert first.texts("msg")[0].as_py() == long.strip()
    assert check(path, "--text", "msg")[0] == 0


class Counted:
    """Cells that count how often their names were gathered, which takes as long as there are columns."""

    def __init__(self, cells: Any):
        self.cells, self.n = cells, 0

    @property
    def column_names(self) -> list[str]:
        self.n += 1
        return list(self.cells.column_names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cells, name)


def test_names_of_a_wide_table_are_gathered_once_not_once_a_column(tmp_path: Path) -> None:
    names = [f"g{j}" for j in range(60)]
    rows = np.random.default_rng(0).normal(size=(9, 60))
    path = file(tmp_path, "\n".join([",".join(names), *(",".join(map(str, row)) for row in rows), ""]))
    read = read_table(path)
    counted = Counted(read.cells)
    table = replace(read, cells=counted)
    preparing = fit_table([table], profile_of([table], How()), How())
    assert preparing.apply(table).X.shape == (9, 60)
    assert counted.n == 1
