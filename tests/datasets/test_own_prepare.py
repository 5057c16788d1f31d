"""What is made of a user's rows: as scikit-learn makes it, from training rows alone, and the same everywhere."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from own_files import customers
from pydantic import TypeAdapter
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from puoc.datasets.readers import How, Preparing, read_pair

NUMBERS, CATEGORIES = ["größe", "âge"], ["stadt"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    paths = []
    for name, n, seed in (("p", 40, 1), ("u", 60, 2), ("v", 50, 3)):
        frame = customers(n, seed).drop(columns="aktiv")
        frame.loc[::7, "âge"] = np.nan
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        paths.append(tmp_path / f"{name}.csv")
    return paths[0], paths[1], paths[2]


@pytest.mark.parametrize(("scaling", "scaler"), [("minmax", MinMaxScaler()), ("standard", StandardScaler())])
def test_a_table_is_prepared_as_scikit_learn_does_to_the_last_bit(scaling, scaler, files) -> None:
    p, u, v = files
    pair = read_pair(p, u, How(scaling=scaling))
    frames = [pd.read_csv(path) for path in files]
    numbers = make_pipeline(SimpleImputer(strategy="median"), scaler)
    categories = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    whole = ColumnTransformer([("numbers", numbers, NUMBERS), ("categories", categories, CATEGORIES)])
    whole.fit(pd.concat(frames[:2]))
    names = pair.preparing.features
    assert names == ("größe", "âge", "âge is missing", "stadt=Köln", "stadt=Rom", "stadt=Ulm")
    for X, frame in zip((pair.X_p, pair.X_u, pair.read(v).X), frames, strict=True):
        expected = whole.transform(frame).astype(np.float32)
        assert np.array_equal(np.delete(X, 2, axis=1), expected)
        assert np.array_equal(X[:, 2], frame["âge"].isna())


def test_rows_that_are_scored_change_nothing_of_the_preparing(files, tmp_path: Path) -> None:
    p, u, v = files
    other = pd.read_csv(v)
    other["größe"] += 1000
    other["stadt"] = "Paris"
    other.to_csv(tmp_path / "w.csv", index=False)
    with_test = pd.read_csv(v).assign(y=1)
    with_test.loc[::2, "y"] = 0
    with_test.to_csv(tmp_path / "t.csv", index=False)
    plain, tested = read_pair(p, u), read_pair(p, u, How(label="y"), test=tmp_path / "t.csv")
    assert plain.preparing == tested.preparing
    rows = plain.read(tmp_path / "w.csv")
    assert rows.X[:, 0].min() > 100
    assert not rows.X[:, 3:].any()
    assert any("50 values of 'stadt' that training did not have" in note for note in rows.notes)
    withheld = read_pair(p, None, withhold=0.5, seed=1)
    assert withheld.preparing != read_pair(p).preparing  # what is withheld taught it nothing


def test_one_class_data_are_prepared_by_the_positives_alone(files) -> None:
    p, u, _ = files
    assert read_pair(p, u, from_positives=True).preparing == read_pair(p).preparing != read_pair(p, u).preparing


def test_a_preparing_survives_json_and_gives_the_same_rows(files) -> None:
    p, u, v = files
    pair = read_pair(p, u)
    adapter = TypeAdapter(Preparing)
    again = adapter.validate_json(pair.preparing.model_dump_json())
    assert again == pair.preparing
    for at_once in (1, 7, 50, 1000):
        X = np.concatenate([block.X for block in again.stream(v, How(), at_once)])
        assert np.array_equal(X, pair.read(v).X)
    assert np.array_equal(again.from_frame(pd.read_csv(v)).X, pair.read(v).X)


def test_texts_are_prepared_as_scikit_learn_does_and_survive_json(tmp_path: Path) -> None:
    texts = ["The cat sat.", "A dog; a cat!", "rain again", "dogs and rain", "", "the the cat"]
    (tmp_path / "p.txt").write_text("\n".join(texts) + "\n", encoding="utf-8-sig")
    pair = read_pair(tmp_path / "p.txt", None, How(words=5))
    expected = TfidfVectorizer(max_features=5, sublinear_tf=True, token_pattern=r"\w+").fit(texts)
    assert list(pair.preparing.features) == list(expected.get_feature_names_out())
    assert np.array_equal(pair.X_p, expected.transform(texts).toarray().astype(np.float32))
    again = TypeAdapter(Preparing).validate_json(pair.preparing.model_dump_json())
    assert np.array_equal(np.concatenate([b.X for b in again.stream(tmp_path / "p.txt", How(), 2)]), pair.X_p)
    pd.DataFrame({"n": range(6), "said": texts}).to_csv(tmp_path / "p.csv", index=False)
    column = read_pair(tmp_path / "p.csv", None, How(words=5, text="said"))
    assert np.array_equal(column.X_p, pair.X_p)


#: A column as it stands in a file. What it becomes in a frame differs: numbers, truth values, texts, NaN.
COLUMNS = {
    "texts": ["x", "y", "x", "zz"],
    "whole numbers": ["1", "2", "1", "3"],
    "leading zeros": ["01", "02", "01", "10"],
    "decimal places": ["1.0", "2.5", "1.0", "-3.0"],
    "whole numbers and a missing one": ["1", "2", "1", ""],
    "leading zeros and a missing one": ["01", "02", "01", "NA"],
    "texts and a missing one": ["x", "y", "x", ""],
    "truth values": ["True", "False", "True", "False"],
    "truth values and a missing one": ["TRUE", "false", "TRUE", ""],
    "numbers and texts": ["1", "x", "01", "1"],
    "exponents": ["1e3", "2E-1", "1e3", "+5"],
    "a marked one": ["7", "1", "7", "99"],
    "a marked one with zeros": ["007", "1", "007", "99"],
    "more digits than a float has": ["12345678901234567890", "5", "12345678901234567890", "6"],
}
NAMES = {"plain": "a", "blanks around": " a ", "a decomposed letter": "gro\u0308\u00dfe", "a blank within": "is new"}


@pytest.mark.parametrize("cells", COLUMNS.values(), ids=COLUMNS.keys())
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_a_frame_that_pandas_read_is_prepared_as_its_file(cells: list[str], name: str, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"{name},n\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells)))
    frame = pd.read_csv(path)
    plain = unicodedata.normalize("NFC", name.strip())
    for category in ((plain,), ()):
        try:
            pair = read_pair(path, None, How(category=category, missing=("99",)))
        except ValueError:
            assert cells == COLUMNS["numbers and texts"]
            assert not category
            continue
        assert np.array_equal(pair.preparing.from_frame(frame).X, pair.X_p)
        frame.to_parquet(tmp_path / "p.parquet")
        assert np.array_equal(pair.read(tmp_path / "p.parquet").X, pair.X_p)


def test_categories_that_are_one_number_are_not_taken_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("a,n\n1,1\n01,2\n1.0,3\n")
    preparing = read_pair(path, None, How(category=("a",))).preparing
    with pytest.raises(ValueError, match=r"'a' holds numbers, and the categories .* are one number"):
        preparing.from_frame(pd.read_csv(path))
    texts = pd.read_csv(path, dtype={"a": str})
    assert np.array_equal(preparing.from_frame(texts).X, read_pair(path, None, How(category=("a",))).X_p)


def test_a_frame_with_other_columns_is_refused(files) -> None:
    preparing = read_pair(files[0]).preparing
    frame = pd.read_csv(files[0])
    with pytest.raises(ValueError, match="the frame: column 'stadt' is not there"):
        preparing.from_frame(frame.drop(columns="stadt"))
    with pytest.raises(ValueError, match="the frame: column 'stadt' stands 2 times"):
        preparing.from_frame(frame.assign(**{"stadt ": "x"}))


@pytest.mark.parametrize("column", [None, "said"])
def test_texts_of_a_frame_are_prepared_as_those_of_a_file(column: str | None, tmp_path: Path) -> None:
    texts = ["nan is not a number", "NA", "", "none of it", "gone", "null", "a dog"]
    frame = pd.DataFrame({"said": texts})
    if column is None:
        path = tmp_path / "p.txt"
        path.write_text("\n".join(texts) + "\n")
    else:
        path = tmp_path / "p.csv"
        frame.assign(n=range(7)).to_csv(path, index=False)
    pair = read_pair(path, None, How(text=column, missing=("gone",)))
    assert np.array_equal(pair.preparing.from_frame(frame).X, pair.X_p)
    streamed = np.concatenate([block.X for block in pair.preparing.stream(path, How(), 2)])
    assert np.array_equal(streamed, pair.X_p)
    absent = pd.DataFrame({"said": pd.Series(["a dog", None, np.nan, pd.NA], dtype=object)})
    assert not pair.preparing.from_frame(absent).X[1:].any()
    if column:
        assert np.array_equal(pair.preparing.from_frame(pd.read_csv(path)).X, pair.X_p)
    with pytest.raises(ValueError, match=f"the frame: column '{column or 'text'}' is not there"):
        pair.preparing.from_frame(pd.DataFrame({"one": texts, "two": texts}))


def test_a_model_of_lines_takes_no_table_for_lines(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("a dog\nthe cat\n")
    preparing = read_pair(tmp_path / "p.txt").preparing
    for name in ("p.csv", "p.parquet", "p"):
        (tmp_path / name).write_text("text\na dog\n")
        with pytest.raises(ValueError, match=rf"{name}: the model was trained on texts, one a line; expected a file"):
            list(preparing.stream(tmp_path / name, How()))


@pytest.mark.parametrize("scaling", ["minmax", "standard"])
def test_values_far_outside_those_of_training_are_told(scaling: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(100, 5, 60), "b": rng.integers(0, 9, 60)})
    frame.to_csv(tmp_path / "p.csv", index=False)
    frame.assign(a=frame["a"] * 1000).to_csv(tmp_path / "v.csv", index=False)
    frame.assign(a=frame["a"] + 3).to_csv(tmp_path / "w.csv", index=False)
    pair = read_pair(tmp_path / "p.csv", None, How(scaling=scaling))
    assert not pair.positives.notes
    assert not pair.read(tmp_path / "w.csv").notes
    (note,) = pair.read(tmp_path / "v.csv").notes
    assert "the values of 'a' are about 1,000 times those of training: another unit?" in note
