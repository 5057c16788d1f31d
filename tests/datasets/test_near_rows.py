"""Near-equal rows with several changed cells and near-equal texts are found; rows that are alike by nature are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from puoc.datasets.audit.kin import Copies, Kin
from puoc.datasets.audit.near_rows import agreement
from puoc.datasets.readers import How
from puoc.datasets.readers.row_audit import kin_of_texts
from puoc.datasets.readers.texts import RawTexts
from puoc.datasets.readers.training_files import Paths, audit_files

N, COPIED = 120, 40


def rows(seed: int, n: int = N, d: int = 12) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    numbers = pd.DataFrame(
        rng.normal(size=(n, d)) * 10.0 ** rng.integers(-1, 4, d), columns=[f"x{i}" for i in range(d)]
    )
    return numbers.assign(place=rng.choice(["north end", "south", "west", "mid"], n), n=rng.integers(0, 90, n))


def kin(p: pd.DataFrame, u: pd.DataFrame, folder: Path, test: pd.DataFrame | None = None) -> Kin:
    p.to_csv(folder / "p.csv", index=False)
    u.to_csv(folder / "u.csv", index=False)
    if test is not None:
        test.assign(y=np.arange(len(test)) % 2).to_csv(folder / "t.csv", index=False)
    paths = Paths(folder / "p.csv", folder / "u.csv", test=None if test is None else folder / "t.csv")
    found = audit_files(paths, How(label=None if test is None else "y"))[0].audited
    assert found is not None
    assert found.kin is not None
    return found.kin


def of(found: Kin, first: str, second: str | None) -> Copies:
    return next(one for one in found.copies if (one.first, one.second) == (first, second))


def retyped(frame: pd.DataFrame) -> pd.DataFrame:
    """Two cells of each row in other places changed."""
    frame, other = frame.copy(), rows(99, len(frame))
    rng = np.random.default_rng(1)
    for at in range(len(frame)):
        for name in rng.choice(frame.columns, 2, replace=False):
            frame.loc[at, name] = other.loc[at, name]
    return frame


def rounded(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(
        **{n: frame[n].round(int(2 - np.floor(np.log10(frame[n].std())))) for n in frame if n[0] == "x"}
    )


def respelt(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(place=frame["place"].str.upper() + " ", x3=frame["x3"] + 1e4)


def cut_off(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**{name: np.trunc(frame[name] * 1e3) / 1e3 for name in frame if name[0] == "x"})


def in_4_digits(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**{name: frame[name].map("{:.4g}".format).astype(float) for name in frame if name[0] == "x"})


CHANGES = {"retyped": retyped, "rounded": rounded, "respelt": respelt, "both": lambda frame: retyped(rounded(frame)),
           "cut off": cut_off, "in 4 digits": in_4_digits}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_copies_with_several_changed_cells_are_found_between_and_within_groups(change: str, tmp_path: Path) -> None:
    p, u = rows(0), rows(1)
    copies = CHANGES[change](p.head(COPIED).reset_index(drop=True))
    found = kin(pd.concat([p, copies], ignore_index=True), pd.concat([u, copies.head(30)], ignore_index=True), tmp_path)
    within, between = of(found, "P", None), of(found, "P", "U")
    assert within.equal == 0
    assert within.near is not None
    assert within.near >= 0.9 * COPIED
    assert all(abs(i - j) == N and max(i, j) > N for i, j in within.examples)
    assert between.equal == 30  # the changed ones themselves
    assert between.near is not None
    assert between.near >= 0.9 * 30
    assert of(found, "U", None).near == 0


def test_copies_in_the_test_rows_are_found_with_the_test_row_first(tmp_path: Path) -> None:
    p, u = rows(0), rows(1)
    test = pd.concat([rows(2, 30), retyped(u.head(20).reset_index(drop=True))], ignore_index=True)
    found = kin(p, u, tmp_path, test)
    between = of(found, "test", "U")
    assert between.equal == 0
    assert between.near in (19, 20)  # the sets of columns are random
    assert between.examples[0] == (31, 1)
    assert of(found, "test", "P").near == 0


def test_rows_that_are_alike_by_nature_are_no_copies(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def forms(n: int) -> pd.DataFrame:  # most of them empty but for two fields
        filled = rng.random((n, 1)) < 0.4
        return pd.DataFrame(
            np.where(filled, rng.normal(size=(n, 20)), 0.0), columns=[f"x{i}" for i in range(20)]
        ).assign(a=rng.normal(size=n), b=rng.normal(size=n))

    found = kin(forms(200), forms(300), tmp_path)
    assert of(found, "P", "U").equal == 0
    assert (of(found, "P", "U").near or 0) <= 2


def test_numbers_agree_if_one_is_the_other_one_rounded_or_cut_off() -> None:
    a = np.array([1.2345, 1.2345, 2.5, 3.14159, 170.0, 7.0, np.nan, np.nan, 1000.4])
    b = np.array([1.23, 1.3, 2.4, 3.1, 1.7, 8.0, np.nan, 1.0, 1000.1])
    assert agreement(a, b, 10.0).tolist() == [True, False, False, True, False, False, True, False, True]
    assert agreement(b, a, 10.0).tolist() == agreement(a, b, 10.0).tolist()
    assert not agreement(np.array([0.4]), np.array([0.0]), 1.0)[0]  # whole numbers say little in so narrow a column


WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "while", "seven", "wolves", "watch", "hill"]


def text(rng: np.random.Generator, n: int = 18) -> str:
    return " ".join(f"{rng.choice(WORDS)}{rng.integers(40) or ''}" for _ in range(n))


@pytest.mark.parametrize("kind", ["two words", "signature", "quotes", "no blanks"])
def test_texts_with_a_few_changed_words_are_found(kind: str) -> None:
    rng = np.random.default_rng(0)
    P, U = [text(rng) for _ in range(60)], [text(rng) for _ in range(90)]
    if kind == "no blanks":
        P, U = ([one.replace(" ", "") for one in of] for of in (P, U))
    changed = {
        "two words": lambda one: " ".join(["other" if at in (4, 11) else word for at, word in enumerate(one.split())]),
        "signature": lambda one: f"{one} -- Best regards, Anna Smith",
        "quotes": lambda one: f"\u201c{one}\u201d sent from my phone",
        "no blanks": lambda one: one[:40] + "xyz" + one[43:],
    }[kind]
    found = kin_of_texts({"P": RawTexts("p", P), "U": RawTexts("u", [*U, *map(changed, P[:20])])})
    between = of(found, "P", "U")
    assert between.equal == 0
    assert between.near in (19, 20)  # the hashes are random
    assert all(j == i + 90 for i, j in between.examples)
    assert of(found, "P", None).near == 0
