"""What rows hold that the training rows did not: constant columns, new categories, far and missing values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from puoc.datasets.readers import How, read_pair
from puoc.datasets.readers.preprocess import TablePreparing
from puoc.datasets.readers.training_range import Far, TrainingRange
from puoc.datasets.readers.unseen import Unseen
from puoc.datasets.user.dataset import Declared

N = 40


def table(folder: Path, name: str, **columns: object) -> Path:
    path = folder / name
    frame = pd.DataFrame({"x": np.arange(N) % 7 + 0.5} | columns)
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


def counted(preparing: TablePreparing, path: Path, at_once: int = 1 << 16, how: How | None = None) -> Unseen:
    counter = preparing.counter()
    for block in preparing.stream(path, how or How(), at_once):
        counter.add(block)
    return counter.result()


#: Value in all training rows; cells of later rows; which of them equal it.
CONSTANT = {
    "a whole number": ("0", ["0", "0.0", "7", "1e-9", "E17", "", "inf"], [1, 1, 0, 0, 0, 0, 0]),
    "a large whole number": ("20250101", ["20250101", "20250102"], [1, 0]),
    "a number with decimals": ("0.1", ["0.1", "0.10000000149", "0.1001"], [1, 1, 0]),
    "a text": ("ok", [" ok ", "OK", "failed", ""], [1, 0, 0, 0]),
    "a text that stays": ("ok", ["ok", "ok"], [1, 1]),
    "a number too large": ("3.5", ["3.5", "1e999"], [1, 0]),
    "a truth value": ("True", ["true", "False"], [1, 0]),
}


@pytest.mark.parametrize(("value", "later", "equal"), CONSTANT.values(), ids=CONSTANT.keys())
def test_a_column_that_is_constant_in_the_positives_tells_rows_with_another_value(
    value: str, later: list[str], equal: list[int], tmp_path: Path
) -> None:
    how = How(number=("k",)) if value == "20250101" else How()
    pair = read_pair(table(tmp_path, "p.csv", k=[value] * N), None, how)
    assert pair.preparing.features == ("x", f"k={value.lower() if value == 'True' else value}")
    assert (pair.X_p[:, 1] == 1).all()
    (tmp_path / "v.csv").write_text("x;k\n" + "".join(f"1;{cell}\n" for cell in later))
    rows = pair.read(tmp_path / "v.csv")
    assert rows.X[:, 1].tolist() == equal
    (block,) = pair.preparing.stream(tmp_path / "v.csv", How(decimal="."))
    assert np.array_equal(block.X, rows.X)
    assert rows.unseen is not None
    lacking = later.count("")
    found = {one.kind: (one.rows, one.used) for one in rows.unseen.columns}
    expected = {"constant": (len(later) - sum(equal) - lacking, True), "missing": (lacking, True)}
    assert found == {kind: value for kind, value in expected.items() if value[0]}
    assert rows.unseen.concerned == len(later) - sum(equal)


def test_types_of_another_program_are_compared_by_value(tmp_path: Path) -> None:
    pair = read_pair(table(tmp_path, "p.csv", k=["007"] * N, t=["true"] * N), None, How(category=("k",)))
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "k": [7, 8, 7], "t": [True, True, False]})
    assert pair.preparing.from_frame(frame).X[:, 1:].tolist() == [[1, 1], [0, 1], [1, 0]]
    frame.to_parquet(tmp_path / "v.parquet")
    assert pair.read(tmp_path / "v.parquet").X[:, 1:].tolist() == [[1, 1], [0, 1], [1, 0]]


def test_whole_numbers_beyond_float64_are_compared(tmp_path: Path) -> None:
    pair = read_pair(table(tmp_path, "p.parquet", k=[3] * N))
    frame = pd.DataFrame({"x": [1.0, 2.0], "k": [3, 2**62 + 1]})
    assert pair.preparing.from_frame(frame).X[:, 1].tolist() == [1, 0]


def test_a_column_without_a_value_tells_rows_that_have_one(tmp_path: Path) -> None:
    pair = read_pair(table(tmp_path, "p.csv", error=[""] * N))
    assert pair.preparing.features == ("x", "error is missing")
    rows = pair.read(table(tmp_path, "v.csv", error=["", "E1"] * (N // 2)))
    assert rows.X[:, 1].tolist() == [1, 0] * (N // 2)
    assert any("20 rows have E1 in 'error' (50 %), where no training row has a value" in note for note in rows.notes)


@pytest.mark.parametrize("unlabelled", [False, True])
def test_one_number_and_missing_values_give_no_scale(unlabelled: bool, tmp_path: Path) -> None:
    p = table(tmp_path, "p.csv", k=["3", ""] * (N // 2))
    u = table(tmp_path, "u.csv", k=["3", ""] * (N // 2)) if unlabelled else None
    pair = read_pair(p, u)
    assert pair.preparing.features == ("x", "k=3", "k is missing")
    rows = pair.read(table(tmp_path, "v.csv", k=["3", "", "3e7", "4"] * (N // 4)))
    assert rows.X[:4, 1:].tolist() == [[1, 0], [0, 1], [0, 0], [0, 0]]
    assert any("20 rows have 3e7, 4 in 'k' (50 %), where all training rows have 3" in note for note in rows.notes)


def test_a_constant_id_or_date_is_left_out_for_every_method(tmp_path: Path) -> None:
    pair = read_pair(table(tmp_path, "p.csv", run_id=[5] * N, day=["2025-01-31"] * N, number=[20250131] * N, k=[1] * N))
    assert pair.preparing.features == ("x", "k=1")
    assert set(pair.preparing.left_out) == {"run_id", "day", "number"}


def test_constant_columns_alone_teach_nothing(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("k,e\n" + "7,\n" * N)
    with pytest.raises(ValueError, match="no column is left to learn from 40 rows"):
        read_pair(tmp_path / "p.csv")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_column_that_the_model_does_not_use_is_compared_too(suffix: str, tmp_path: Path) -> None:
    p, u = (table(tmp_path, f"{name}.csv", k=[0] * N, e=[""] * N, gone=[1] * N) for name in "pu")
    preparing = read_pair(p, u, How(drop=("gone",))).preparing
    assert isinstance(preparing, TablePreparing)
    assert preparing.features == ("x",)
    v = table(tmp_path, f"v.{suffix}", k=[0, 7] * (N // 2), e=[None, "a"] * (N // 2), gone=[2] * N)
    found = counted(preparing, v)
    assert {(one.column, one.kind, one.rows, one.used) for one in found.columns} == {
        ("k", "constant", N // 2, False),
        ("e", "constant", N // 2, False),
    }
    assert found.concerned == N // 2
    assert "20 rows have 7 in 'k' (50 %), where all training rows have 0; the model does not use this column" in (
        found.lines()
    )
    assert counted(preparing, table(tmp_path, f"w.{suffix}")).columns == ()  # a file without them fits the model
    frame = pd.DataFrame({"x": [1.0, 2.0], "k": [0, 1]})
    block = preparing.from_frame(frame)
    assert block.differs is not None
    assert block.differs.tolist() == [0, 1]
    twice = pd.DataFrame([[1.0, 5, 6]], columns=["x", "k", "k"])
    assert not preparing.from_frame(twice).unseen


def test_what_training_did_not_have_is_counted_by_column_and_row(tmp_path: Path) -> None:
    c = ["a", "b", "b", "a"] * (N // 4)
    p = table(tmp_path, "p.csv", c=c, y=np.random.default_rng(0).permutation(np.linspace(-1, 1, N)), k=[0] * N)
    preparing = read_pair(p).preparing
    assert isinstance(preparing, TablePreparing)
    c = ["a", "new", "b", "other", *c[4:]]
    y = [0.0, 50.0, -70.0, np.nan, *np.zeros(N - 4)]
    v = table(tmp_path, "v.csv", c=c, y=y, k=[1, 0, 0, 0] + [0] * (N - 4))
    found = counted(preparing, v)
    seen = {(one.column, one.kind): (one.rows, one.first_rows, one.values, one.training) for one in found.columns}
    assert seen == {
        ("c", "category"): (2, (2, 4), ("new", "other"), "2 different values"),
        ("y", "range"): (2, (2, 3), ("50", "-70"), "-1 to 1"),
        ("y", "missing"): (1, (4,), (), "no missing value"),
        ("k", "constant"): (1, (1,), ("1",), "0"),
    }
    assert (found.rows, found.concerned) == (N, 4)
    (block,) = preparing.stream(v, How())
    assert block.differs is not None
    assert block.differs.tolist() == [1, 2, 1, 2, *[0] * (N - 4)]
    assert [counted(preparing, v, at_once) for at_once in (1, 3)] == [found, found]
    assert Unseen.model_validate_json(found.model_dump_json()) == found


def test_a_message_names_five_columns_and_counts_the_others(tmp_path: Path) -> None:
    names = [f"k{i}" for i in range(9)]
    preparing = read_pair(table(tmp_path, "p.csv", **dict.fromkeys(names, 0))).preparing
    assert isinstance(preparing, TablePreparing)
    v = table(tmp_path, "v.csv", **{name: [1] * (i + 1) + [0] * (N - i - 1) for i, name in enumerate(names)})
    lines = counted(preparing, v).lines("--report FILE")
    assert len(lines) == 6
    assert lines[0] == "9 rows have 1 in 'k8' (22 %), where all training rows have 0"
    assert lines[5] == (
        "4 further columns with values that training did not have: 'k3', 'k2', 'k1', ... (--report FILE lists all)"
    )


Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
SHAPES: dict[str, Draw] = {
    "uniform": lambda rng, size: rng.random(size),
    "normal": lambda rng, size: rng.normal(size=size),
    "t with 2 degrees": lambda rng, size: rng.standard_t(2, size),
    "lognormal": lambda rng, size: rng.lognormal(0, 2, size),
    "Cauchy": lambda rng, size: rng.standard_cauchy(size),
    "Pareto .7": lambda rng, size: rng.pareto(0.7, size),
    "mostly zero": lambda rng, size: rng.pareto(1.5, size) * (rng.random(size) < 0.2),
    "counts": lambda rng, size: rng.zipf(2.0, size).astype(float),
}


def noted(train: np.ndarray, new: np.ndarray) -> bool:
    """Whether some column of new rows (d, m) is noted after training rows (d, n)."""
    for p, v in zip(train, new, strict=True):
        known = TrainingRange.of(p)
        low, high = known.limits
        far = Far(int((v < low).sum()), int((v > high).sum()), float(v.min()), float(v.max()))
        if known.is_noted(far, len(v), len(train)) or known.factor(v[:1000]) is not None:
            return True
    return False


@pytest.mark.parametrize("draw", SHAPES.values(), ids=SHAPES.keys())
def test_heavy_tails_of_the_same_distribution_are_not_noted(draw: Draw) -> None:
    alarms = 0
    for pair in range(60):
        rng = np.random.default_rng(pair)
        n, m = ((50, 50), (50, 800), (400, 400))[pair % 3]
        alarms += noted(draw(rng, (10, n)), draw(rng, (10, m)))
    assert alarms <= 3


def test_the_range_and_the_median_of_a_column_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    draws = [
        *SHAPES.values(),
        lambda rng, size: rng.normal(size=size) * 1e300,
        lambda rng, size: np.full(size, 1.7e308),
    ]
    for number in range(400):
        n = int(rng.integers(1, 300))
        x = draws[number % len(draws)](rng, (n,))
        gaps = np.where(rng.random(n) < 0.2 * (number % 2), np.nan, x)
        present = gaps[~np.isnan(gaps)]
        if not len(present):
            continue
        known, median = TrainingRange.with_median(gaps)
        if np.ptp(present) == 0:  # numpy's median of large values is infinite
            assert (median, known.size) == (present[0], abs(present[0]))
            continue
        assert median == np.median(present)
        expected = np.quantile(present, (0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0), method="inverted_cdf")
        assert known.quantiles == tuple(expected)
        assert (known.n, known.size) == (len(present), np.median(np.abs(present)))


@pytest.mark.parametrize("factor", [1000, 0.001])
def test_another_unit_is_noted_with_its_factor(factor: float) -> None:
    rng = np.random.default_rng(1)
    for name in ("uniform", "normal", "lognormal"):
        train, new = SHAPES[name](rng, (300,)), SHAPES[name](rng, (300,)) * factor
        found = TrainingRange.of(train).factor(new)
        assert found is not None
        assert found == pytest.approx(factor, rel=0.7 if name == "lognormal" else 0.2)
        assert TrainingRange.of(train).factor(new / factor) is None


def test_one_value_a_thousand_times_too_large_is_noted() -> None:
    rng = np.random.default_rng(0)
    train, new = rng.normal(100, 5, (10, 300)), rng.normal(100, 5, (10, 50))
    assert not noted(train, new)
    new[3, 7] *= 1000
    assert noted(train, new)
    assert noted(train, new[:, 7:8])  # also if it comes alone


@pytest.mark.parametrize(
    "values",
    [
        {"n": 3, "quantiles": [0, 1, 2, 3, 4, 5], "size": 1},
        {"n": 3, "quantiles": [0, 1, 2, 3, 4, 5, 4], "size": 1},
        {"n": 3, "quantiles": [0, 1, 2, 3, 4, 5, float("nan")], "size": 1},
        {"n": 3, "quantiles": [0, 1, 2, 3, 4, 5, 1e999], "size": 1},
        {"n": 0, "quantiles": [0, 1, 2, 3, 4, 5, 6], "size": 1},
        {"n": 3, "quantiles": [0, 1, 2, 3, 4, 5, 6], "size": -1},
    ],
)
def test_a_range_that_no_rows_have_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TrainingRange.model_validate(values)


def test_the_largest_numbers_have_a_range_too() -> None:
    known = TrainingRange.of(np.array([-1.7e308, 1.7e308, 5e-324]))
    assert not known.is_noted(Far(1, 1, -1.79e308, 1.79e308), 10**9, 10**5)
    assert known.factor(np.full(50, 1.7e308)) is None


def test_what_is_only_compared_has_no_part_in_the_id_of_own_data(tmp_path: Path) -> None:
    p, u = (table(tmp_path, f"{name}.csv", k=[0] * N) for name in "pu")
    preparing = read_pair(p, u).preparing
    whole = preparing.model_dump(mode="json")
    older = {name: value for name, value in whole.items() if name != "watched"}
    older["columns"] = [{k: v for k, v in column.items() if k != "range"} for column in whole["columns"]]
    assert older["columns"] != whole["columns"]
    assert len(whole["watched"]) == 1
    ids = {
        Declared(
            name="own", paths={}, how={}, from_positives=False, files={}, inputs="vector", shape=(1,), counts={},
            digest="", scale=1.0, preparing=steps,
        ).reading
        for steps in (whole, older)
    }  # fmt: skip
    assert len(ids) == 1
