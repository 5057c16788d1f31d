"""What two programs or exports do to a column is asked about: spellings, marks for missing values, units, digits."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from puoc.datasets.audit.numbers import part_in_other_unit
from puoc.datasets.audit.spelling import is_mark, pairs_of, plain
from puoc.datasets.readers import How
from puoc.datasets.readers.training_files import Paths, audit_files

N_P, N_U = 90, 140
CITIES = ["Zürich", "New York", "north-east-region", "Genève", "Rome", "Oslo"]

Change = Callable[[pd.Series, np.random.Generator], pd.Series]


def asked(folder: Path, column: str = "", p: Change | None = None, u: Change | None = None) -> dict[str, str]:
    rng = np.random.default_rng(4)
    for name, n, change in (("p", N_P, p), ("u", N_U, u)):
        rows = pd.DataFrame(rng.normal(size=(n, 3)).round(3), columns=list("abc"))
        rows = rows.assign(city=rng.choice(CITIES, n), temp=rng.normal(20, 6, n).round(2),
                           weight=np.exp(rng.normal(4, 0.25, n)).round(1), visits=rng.poisson(6, n))  # fmt: skip
        if change is not None:
            rows[column] = change(rows[column], rng)
        rows.to_csv(folder / f"{name}.csv", index=False)
    found = audit_files(Paths(folder / "p.csv", folder / "u.csv"), How())[0].audited
    assert found is not None
    return {one.name: "; ".join(one.reasons) for one in found.of("asked")}


def some(share: float, value: object = None) -> Change:
    return lambda s, rng: s.where(rng.random(len(s)) >= share, value)


def each(change: Callable[[str], str]) -> Change:
    return lambda s, rng: s.map(change)


def half_in_grams(s: pd.Series, rng: np.random.Generator) -> pd.Series:
    return s.where(rng.random(len(s)) < 0.5, (s * 1000).round(1))


KINDS: dict[str, tuple[str, Change | None, Change | None, str]] = {
    "decomposed letters": ("city", None, each(lambda text: unicodedata.normalize("NFD", text)), "spelt differently"),
    "no accents": ("city", each(lambda text: text.replace("ü", "u").replace("è", "e")), None, "spelt differently"),
    "another encoding": ("city", None, each(lambda text: text.encode().decode("latin-1")), "spelt differently"),
    "cut off": ("city", None, each(lambda text: text[:10]), "'north-east-region' in the labelled"),
    "cut off in P": ("city", each(lambda text: text[:10]), None, "spelt differently"),
    "unknown for missing": ("city", some(0.25, "unknown"), some(0.25), "as a mark for a missing value"),
    "two marks": ("city", some(0.25, "-"), some(0.25, "n.a."), "as a mark for a missing value"),
    "zero for missing": ("temp", some(0.3), some(0.3, 0), "where labelled positives lack"),
    "median for missing": ("temp", some(0.3, 21.3), some(0.3), "is 21.3 in"),
    "a part in grams": ("weight", None, half_in_grams, "two units in the unlabelled rows"),
    "steps of 5": ("temp", lambda s, rng: (s / 5).round() * 5, None, "rounded to"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_export_does_to_a_column_is_asked_about(kind: str, tmp_path: Path) -> None:
    column, p, u, text = KINDS[kind]
    found = asked(tmp_path, column, p, u)
    assert set(found) == {column}
    assert text in found[column]


def test_nothing_is_asked_about_the_columns_as_they_are(tmp_path: Path) -> None:
    assert asked(tmp_path) == {}


@pytest.mark.parametrize(
    ("column", "p", "u"),
    [
        ("city", some(0.25, "unknown"), some(0.25, "unknown")),  # in both files
        ("city", some(0.25, "unknown"), None),  # nothing lacks in the other one: unknown may be a class of its own
        ("city", None, each(lambda text: text if text != "Oslo" else "Oslofjord")),  # longer, and not all cut off
        ("temp", lambda s, rng: s.clip(lower=14), None),  # a limit of the scale is no sign by itself, without missing
        ("visits", None, lambda s, rng: s.where(rng.random(len(s)) < 0.5, s + 40)),  # a second bump
    ],
)
def test_what_a_class_can_do_as_well_is_not(column: str, p: Change | None, u: Change | None, tmp_path: Path) -> None:
    found = asked(tmp_path, column, p, u)
    assert not any(words in found.get(column, "") for words in ("mark", "spelt", "two units", "lack"))


def test_spellings_are_compared_without_what_programs_write_differently() -> None:
    assert plain("ZÃ¼rich ") == plain("zurich") == plain("Zu\u0308rich") == plain("ZÜRICH")
    assert plain("007") == plain("7.0") == "7"
    assert pairs_of({"north-east", "rome"}, {"north-east-region", "oslo"}) == [("north-east", "north-east-region")]
    assert pairs_of({"north-east", "rome"}, {"north-east-region", "north-east-coast"}) == []  # which of them?
    assert pairs_of({"north", "south-west"}, {"northern", "east"}) == []  # not cut off at one length
    assert is_mark("N.A.")
    assert is_mark("not_available")
    assert not is_mark("nothing")


def test_two_units_within_a_group_need_a_gap_and_one_form() -> None:
    rng = np.random.default_rng(0)
    x = np.sort(np.exp(rng.normal(4, 0.2, 100)))
    small, large = np.exp(rng.normal(4, 0.2, 60)), 1000 * np.exp(rng.normal(4, 0.2, 40))
    found = part_in_other_unit(x, np.sort(np.concatenate([small, large])))
    assert found is not None
    assert found.share == 0.4
    assert part_in_other_unit(np.sort(np.concatenate([x, large])), np.sort(np.concatenate([small, large]))) is None
    other = 1000 * np.exp(rng.normal(4, 0.02, 40))  # of another form
    assert part_in_other_unit(x, np.sort(np.concatenate([small, other]))) is None
