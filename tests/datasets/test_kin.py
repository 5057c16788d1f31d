"""Copies of rows, persons or devices on both sides, and times: counted by the audit, and put into words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from own_files import puoc, refused
from PIL import Image

from puoc.datasets.audit.kin import Copies, Kin
from puoc.datasets.audit.times import Times
from puoc.datasets.readers import How, read_pair
from puoc.datasets.readers.row_audit import kin_of_pair
from puoc.datasets.readers.training_files import Paths, audit_files

N_P, N_U, N_T = 60, 90, 40
COLUMNS = [f"f{i}" for i in range(10)]


def frames(seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """P, U and test rows of numbers, a category and missing values; all different."""
    rng = np.random.default_rng(seed)
    made = []
    for n in (N_P, N_U, N_T):
        X = pd.DataFrame(rng.normal(size=(n, 10)).round(4), columns=COLUMNS)
        made.append(X.mask(rng.random(X.shape) < 0.05).assign(kind=rng.choice(["a", "b", "c"], n)))
    return made[0], made[1], made[2].assign(y=np.arange(N_T) % 2)


def written(folder: Path, p: pd.DataFrame, u: pd.DataFrame, test: pd.DataFrame | None = None) -> Paths:
    for name, frame in (("p", p), ("u", u), ("t", test)):
        if frame is not None:
            frame.to_csv(folder / f"{name}.csv", index=False)
    return Paths(folder / "p.csv", folder / "u.csv", test=None if test is None else folder / "t.csv")


def kin(paths: Paths, how: How | None = None) -> Kin:
    found, _ = audit_files(paths, how or How())
    assert found.audited is not None
    assert found.audited.kin is not None
    return found.audited.kin


def counts(found: Kin) -> dict[str, tuple[int, int | None]]:
    return {f"{one.first} {one.second or ''}".strip(): (one.equal, one.near) for one in found.copies}


def texts(times: Times, differ: bool) -> list[str]:
    return [one.text for one in times.findings if one.differ == differ]


def test_equal_and_near_equal_rows_are_counted_within_and_between_all_groups(tmp_path: Path) -> None:
    p, u, test = frames()
    p.iloc[50:53] = p.iloc[0:3]  # three repeats in P
    u.iloc[0:5] = p.iloc[10:15]  # five equal rows
    u.iloc[5:9] = p.iloc[15:19]  # four rows with one other cell
    u.iloc[5:9, 3] = [7.5, 8.5, 9.5, np.nan]
    u.iloc[9:11] = p.iloc[19:21]  # two rows written with fewer digits
    u.iloc[9:11, :10] = u.iloc[9:11, :10].map(lambda x: float(f"{x:.6g}") * (1 + 1e-6))
    test.iloc[0:6, :11] = u.iloc[40:46]
    found = kin(written(tmp_path, p, u, test), How(label="y"))
    assert counts(found) == {
        "P": (3, 0), "U": (0, 0), "test": (0, 0), "P U": (5, 6), "test P": (0, 0), "test U": (6, 0),
    }  # fmt: skip
    between = next(one for one in found.copies if (one.first, one.second) == ("P", "U"))
    assert between.examples == ((11, 1), (12, 2), (13, 3))
    assert "5 of 60 rows of P equal one of U, and 6 more nearly equal one of U" in found.lines()
    assert "6 of 40 rows of the test equal one of U" in found.lines()
    assert "3 of 60 rows of P repeat another one" in found.lines()


def test_files_without_copies_have_no_finding(tmp_path: Path) -> None:
    found = kin(written(tmp_path, *frames()), How(label="y"))
    assert set(counts(found).values()) == {(0, 0)}
    assert not found.lines()


@pytest.mark.parametrize("name", ["breast_cancer", "wine", "digits", "diabetes"])
def test_rows_of_measurements_are_not_near_equal_by_chance(name: str, tmp_path: Path) -> None:
    """docs/audit.md has this, and PenDigits."""
    X = getattr(sklearn.datasets, f"load_{name}")().data
    rows = pd.DataFrame(X[np.random.default_rng(0).permutation(len(X))]).add_prefix("c")
    third = len(rows) // 3
    found = kin(written(tmp_path, rows[:third], rows[third:]))
    assert {**counts(found), "U": (0, 0)} == {"P": (0, 0), "U": (0, 0), "P U": (0, 0)}
    within = {(0, 0), (0, 1)} if name == "digits" else {(0, 0)}  # two digits differ in less than 13 of 64 pixels
    assert counts(found)["U"] in within


def test_one_file_with_labels_gives_the_counts_of_two(tmp_path: Path) -> None:
    p, u, _ = frames()
    u.iloc[0:5] = p.iloc[10:15]
    two = kin(written(tmp_path, p, u))
    whole = pd.concat([p.assign(y=1), u.assign(y=0)], ignore_index=True)
    order = np.random.default_rng(0).permutation(len(whole))
    whole.iloc[order].to_csv(tmp_path / "all.csv", index=False)
    one = kin(Paths(data=tmp_path / "all.csv"), How(label="y"))
    assert counts(one) == counts(two)
    rows = whole.iloc[order].drop(columns="y").astype(object).fillna("").astype(str).agg("|".join, axis=1).to_list()
    assert all(rows[a - 1] == rows[b - 1] for copies in one.copies for a, b in copies.examples)


def test_a_column_that_is_asked_about_or_left_out_hides_no_copies(tmp_path: Path) -> None:
    p, u, _ = frames()
    u.iloc[0:5] = p.iloc[10:15]
    rng = np.random.default_rng(0)
    p, u = (
        p.assign(flag=np.where(rng.random(N_P) < 0.8, 1, np.nan), id=range(N_P)),
        u.assign(flag=np.nan, id=range(N_U)),
    )
    paths = written(tmp_path, p, u)
    assert counts(kin(paths))["P U"] == (5, 0)
    assert counts(kin(paths, How(drop=("flag", "id"))))["P U"] == (5, 0)
    same = int(p["flag"].iloc[10:15].isna().sum())  # the flag is kept
    assert counts(kin(paths, How(number=("flag",), drop=("id",))))["P U"] == (same, 5 - same)


def test_zeros_and_missing_values_in_other_forms_are_equal(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("a,b\n0,x\nNA,y\n1,\n2,x\n")
    (tmp_path / "u.csv").write_text("a,b\n-0.0,x\n,y\n1.0,?\n2,y\n")
    found = kin(Paths(tmp_path / "p.csv", tmp_path / "u.csv"))
    assert counts(found)["P U"] == (3, None)  # two columns are too few to be nearly equal
    assert found.near_means == ""


def test_a_column_that_groups_rows_is_named_with_the_groups_on_both_sides(tmp_path: Path) -> None:
    p, u, _ = frames()
    rng = np.random.default_rng(1)
    p["patient"], u["patient"] = rng.integers(1, 21, N_P), rng.integers(15, 40, N_U)
    p["scanner"], u["scanner"] = (np.array([f"s-{i}" for i in rng.integers(lo, hi, n)])
                                  for lo, hi, n in ((0, 15, N_P), (10, 30, N_U)))  # fmt: skip
    p["age"], u["age"] = rng.integers(20, 40, N_P), rng.integers(20, 40, N_U)  # repeats, and groups no rows
    p["weekday"], u["weekday"] = (rng.choice(["mon", "tue", "sun"], n) for n in (N_P, N_U))
    for how in (How(), How(drop=("patient", "scanner"))):
        found = {one.column: one for one in kin(written(tmp_path, p, u), how).groups}
        assert set(found) == {"patient", "scanner"}
        both = set(p["patient"]) & set(u["patient"])
        assert found["patient"].shared == len(both)
        assert found["patient"].rows_first == p["patient"].isin(both).sum()
        assert found["patient"].rows_second == u["patient"].isin(both).sum()
    code, said = puoc("audit", "--no-effect", "--positives", tmp_path / "p.csv", "--unlabelled", tmp_path / "u.csv")
    assert code == 0, said
    n = p["patient"].nunique()
    assert f"column 'patient': {len(both)} of {n} values in the labelled positives are in the unlabelled rows too" in (
        " ".join(said.split())
    )


def test_many_columns_that_group_rows_are_counted_not_listed(tmp_path: Path) -> None:
    p, u, _ = frames()
    groups = {f"device {i}": 1 for i in range(9)}
    names = ("p", "u")
    for name, x in zip(names, (p, u), strict=True):
        x.assign(**{column: np.arange(len(x)) % 7 for column in groups}).to_csv(tmp_path / f"{name}.csv", index=False)
    found, _ = audit_files(Paths(tmp_path / "p.csv", tmp_path / "u.csv"), How())
    assert found.audited is not None
    assert len(found.audited.notes) == 6
    assert found.audited.notes[-1] == "4 further columns have values on two sides"


def test_a_counter_of_the_rows_is_no_group(tmp_path: Path) -> None:
    p, u, _ = frames()
    assert not kin(written(tmp_path, p.assign(id=range(N_P)), u.assign(id=range(N_U)))).groups


FORMS = {
    "ISO": lambda days: days.strftime("%Y-%m-%d"),
    "with times": lambda days: (days + pd.Timedelta(hours=13, minutes=5)).strftime("%Y-%m-%d %H:%M:%S"),
    "day first": lambda days: days.strftime("%d/%m/%Y"),
    "month first": lambda days: days.strftime("%m/%d/%Y"),
    "in words": lambda days: days.strftime("%d %b %Y"),
    "as a number": lambda days: days.strftime("%Y%m%d").astype(int),
    "seconds": lambda days: days.astype("datetime64[s]").astype(np.int64),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_groups_from_different_times_are_named(form, tmp_path: Path) -> None:
    p, u, _ = frames()
    rng = np.random.default_rng(1)
    days = {
        name: pd.DatetimeIndex(pd.Timestamp(first) + pd.to_timedelta(rng.integers(0, 200, n), unit="D"))
        for name, first, n in (("p", "2022-01-01", N_P), ("u", "2023-01-01", N_U), ("new", "2023-01-01", N_U))
    }
    p, u, new = (x.assign(when=form(days[name])) for name, x in (("p", p), ("u", u), ("new", u)))
    new.to_csv(tmp_path / "new.csv", index=False)
    paths = written(tmp_path, p, u)._replace(incoming=tmp_path / "new.csv")
    for how in (How(), How(drop=("when",))):
        (times,) = kin(paths, how).times
        spans = {span.group: span for span in times.spans}
        assert spans["P"].first[:10] == str(days["p"].min().date())
        assert spans["U"].last[:10] == str(days["u"].max().date())
        assert "column 'when': all of the labelled positives are before all of the unlabelled rows" in texts(
            times, True
        )
        assert any("and the incoming rows are from much the same time" in one for one in texts(times, False))


def test_groups_from_one_time_are_no_finding(tmp_path: Path) -> None:
    p, u, _ = frames()
    rng = np.random.default_rng(2)
    p, u = (x.assign(day=[f"2024-05-{day:02d}" for day in rng.integers(1, 30, len(x))]) for x in (p, u))
    p, u = (x.assign(hour=[f"{hour:02d}:30" for hour in rng.integers(0, 24, len(x))]) for x in (p, u))
    found = kin(written(tmp_path, p, u))
    assert [len(texts(times, False)) for times in found.times] == [1]
    assert not found.lines()
    assert not found.groups  # a time of the day is no group


def test_an_assessment_has_the_times_of_the_incoming_rows(tmp_path: Path) -> None:
    p, u, _ = frames()
    rng = np.random.default_rng(2)
    p, u, new = (
        x.assign(day=[f"{year}-05-{day:02d}" for day in rng.integers(1, 30, len(x))])
        for x, year in ((p, 2022), (u, 2022), (u, 2024))
    )
    new.to_csv(tmp_path / "new.csv", index=False)
    paths = written(tmp_path, p, u)
    pair = read_pair(paths.positives, paths.unlabelled, How(drop=("day",)))
    found = kin_of_pair(pair, pair.read(tmp_path / "new.csv"))
    assert found is not None
    assert [span.group for span in found.times[0].spans] == ["P", "U", "incoming"]
    assert any("all of the unlabelled rows are before all of the incoming rows" in one for one in found.lines())


def test_texts_that_differ_in_numbers_alone_are_nearly_equal(tmp_path: Path) -> None:
    words = np.random.default_rng(0).choice(["red", "blue", "cat", "dog", "sun", "rain", "tree"], (40, 8))
    lines = [" ".join(row) for row in words]
    (tmp_path / "p.txt").write_text("\n".join([*lines[:20], "win 100 pounds now", "call me later"]) + "\n")
    (tmp_path / "u.txt").write_text("\n".join([*lines[20:], "Win 250 pounds now!", "CALL me, later"]) + "\n")
    code, said = puoc("audit", "--positives", tmp_path / "p.txt", "--unlabelled", tmp_path / "u.txt")
    assert code == 0, said
    assert "note: 1 of 22 texts of P equal one of U, and 1 more nearly equal one of U" in said
    assert "u.txt: saved alike" in said
    (tmp_path / "t").mkdir()
    for part in ("positive", "negative"):
        (tmp_path / "t" / f"{part}.txt").write_text("\n".join([part, *lines[18:24]]) + "\n")
    words = ("audit", "--positives", tmp_path / "p.txt", "--unlabelled", tmp_path / "u.txt", "--test", tmp_path / "t")
    code, said = puoc(*words)
    assert code == 0, said
    assert "note: 4 of 14 texts of the test equal one of P" in said
    assert "note: 8 of 14 texts of the test equal one of U" in said
    assert "negative.txt: saved alike" in said
    refused(puoc(*words, "--label", "y"), "expected no --label")


def test_texts_in_a_column_are_audited_with_their_test(tmp_path: Path) -> None:
    words = np.random.default_rng(0).choice(["red", "blue", "cat", "dog", "sun", "rain", "tree"], (40, 8))
    frame = pd.DataFrame({"text": [" ".join(row) for row in words], "y": np.arange(40) % 2})
    frame.iloc[:30].to_csv(tmp_path / "all.csv", index=False)
    frame.iloc[26:].to_csv(tmp_path / "t.csv", index=False)
    given = ("--data", tmp_path / "all.csv", "--test", tmp_path / "t.csv", "--label", "y", "--text", "text")
    code, said = puoc("audit", "--no-effect", *given)
    assert code == 0, said
    assert "note: 2 of 14 texts of the test equal one of P" in said
    assert "note: 2 of 14 texts of the test equal one of U" in said


def test_pictures_that_were_saved_again_are_nearly_equal(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for folder in ("p", "u"):
        (tmp_path / folder).mkdir()
    for i in range(24):
        pixels = [np.kron(rng.integers(0, 255, (4, 4), dtype=np.uint8), np.ones((6, 6), dtype=np.uint8)) for _ in "pu"]
        if i < 5:
            pixels[1] = np.clip(pixels[0].astype(int) + 5, 0, 255).astype(np.uint8)
        if i == 5:
            pixels[1] = pixels[0]
        for folder, picture in zip("pu", pixels, strict=True):
            Image.fromarray(picture).save(tmp_path / folder / f"{i:02d}.png")
    pair = read_pair(tmp_path / "p", tmp_path / "u")
    found = kin_of_pair(pair)
    assert found is not None
    assert counts(found) == {"P": (0, None), "U": (0, None), "P U": (1, 5)}
    code, said = puoc("audit", "--positives", tmp_path / "p", "--unlabelled", tmp_path / "u")
    assert code == 0, said
    assert "1 of 24 pictures of P equal one of U, and 5 more nearly equal one of U" in said


def test_copies_in_words() -> None:
    assert (
        "2 of 9 rows of U nearly repeat another one"
        in Kin(what="rows", copies=(Copies(first="U", rows=9, equal=0, near=2),)).lines()
    )
