"""Columns of the file that ``puoc score --keep`` writes beside the scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from own_files import puoc, refused
from pyarrow import parquet
from typer.testing import CliRunner

from puoc.cli.app import app

IDS = ["007", 'say "no"', "a, b", "", "NA", "é\n2", "=1+1", "-"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two columns, and 80 rows with ids that are easily read as something else."""
    root = tmp_path_factory.mktemp("keep")
    rng = np.random.default_rng(0)
    for name, n in (("p", 60), ("u", 90)):
        pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"]).to_csv(root / f"{name}.csv", index=False)
    new = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    new.insert(1, "id", [IDS[k % len(IDS)] for k in range(80)])
    new["n"] = np.arange(80, dtype=np.int64) * 2**40
    new.to_csv(root / "new.csv", index=False)
    new.to_parquet(root / "new.parquet")
    words = ("--method", "pu_svm", "--no-ranking-check", "--out", root / "model")
    code, said = puoc("fit", "--positives", root / "p.csv", "--unlabelled", root / "u.csv", *words)
    assert code == 0, said
    return root


def read(path: Path) -> pd.DataFrame:
    separator = "\t" if path.suffix == ".tsv" else ","
    return pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False)


@pytest.mark.parametrize("chunk", [(), ("--chunk", "7")], ids=["whole", "chunks"])
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_cells_of_a_text_file_are_written_as_they_are(
    suffix: str, chunk: tuple[str, ...], folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / f"s.{suffix}"
    code, said = puoc("score", "--model", folder / "model", folder / "new.csv", *chunk, "--keep", "id", "--out", out)
    assert code == 0, said
    rows = read(out)
    assert list(rows) == ["row", "id", "score"]
    assert rows["id"].to_list() == read(folder / "new.csv")["id"].to_list()
    plain = tmp_path / f"plain.{suffix}"
    assert puoc("score", "--model", folder / "model", folder / "new.csv", "--out", plain)[0] == 0
    assert rows["score"].to_list() == read(plain)["score"].to_list()


def test_columns_of_a_parquet_file_keep_their_types(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.parquet"
    words = ("--keep", "n", "--keep", "id", "--keep", "a", "--out", out)  # a column of the model may be kept too
    assert puoc("score", "--model", folder / "model", folder / "new.parquet", *words)[0] == 0
    new, kept = pd.read_parquet(folder / "new.parquet"), parquet.read_table(out)
    assert kept.column_names == ["row", "n", "id", "a", "score"]
    for name in ("n", "id", "a"):
        assert kept[name].to_pylist() == new[name].to_list()


def test_rows_from_the_standard_input_keep_their_ids(folder: Path) -> None:
    text = (folder / "new.csv").read_bytes()
    done = CliRunner().invoke(app, ["score", "--model", str(folder / "model"), "-", "--keep", "n"], input=text)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == '"row","n","score"'
    assert lines[80].startswith(f'80,"{79 * 2**40}",')


def test_more_rows_than_are_read_at_once_keep_their_ids(folder: Path, tmp_path: Path) -> None:
    n = 70_000
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"id": np.arange(n), "a": rng.normal(size=n), "b": rng.normal(size=n)})
    rows.to_parquet(tmp_path / "many.parquet")
    out = tmp_path / "s.parquet"
    assert puoc("score", "--model", folder / "model", tmp_path / "many.parquet", "--keep", "id", "--out", out)[0] == 0
    kept = pd.read_parquet(out)
    assert (kept["id"] == np.arange(n)).all()
    assert (kept["row"] == np.arange(n) + 1).all()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["idd"], ("--keep: ", "no column 'idd'", "'id'")),
        (["id", "id"], ("--keep: got 'id' 2 times; expected each column once",)),
        (["score"], ("--keep: got 'score', which puoc score writes itself; expected a column of another name",)),
        (["row"], ("--keep: got 'row', which puoc score writes itself",)),
    ],
    ids=["missing", "twice", "score", "row"],
)
def test_a_column_that_cannot_be_kept_is_refused(
    names: list[str], expected: tuple[str, ...], folder: Path, tmp_path: Path
) -> None:
    options = [word for name in names for word in ("--keep", name)]
    out = tmp_path / "s.csv"
    refused(puoc("score", "--model", folder / "model", folder / "new.csv", *options, "--out", out), *expected)
    assert not list(tmp_path.iterdir())


def test_a_table_of_texts_keeps_its_ids_and_lines_have_none(tmp_path: Path) -> None:
    words = ["prize win cash now", "call me later please", "see you at home", "free entry text"]
    for name, n in (("p", 40), ("u", 60)):
        rows = [{"id": k, "sms": f"{words[k % 4]} {words[(k // 4) % 4]} {k}"} for k in range(n)]
        pd.DataFrame(rows).to_csv(tmp_path / f"{name}.csv", index=False)
        (tmp_path / f"{name}.txt").write_text("".join(row["sms"] + "\n" for row in rows))
    for end, more in (("csv", ("--text", "sms")), ("txt", ())):
        files = ("--positives", tmp_path / f"p.{end}", "--unlabelled", tmp_path / f"u.{end}")
        fit = ("--method", "pu_svm", *files, *more, "--no-ranking-check", "--out", tmp_path / f"model_{end}")
        code, said = puoc("fit", *fit)
        assert code == 0, said
    out = tmp_path / "s.csv"
    assert puoc("score", "--model", tmp_path / "model_csv", tmp_path / "u.csv", "--keep", "id", "--out", out)[0] == 0
    assert pd.read_csv(out)["id"].to_list() == list(range(60))
    lines = puoc("score", "--model", tmp_path / "model_txt", tmp_path / "u.txt", "--keep", "id")
    refused(lines, "--keep: ", "one text a line; expected a table")
