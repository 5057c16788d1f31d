"""What leaving out a column does to the answer of an assessment: one in doubt, or one that is only shown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from own_files import puoc

from puoc.datasets.readers import How
from puoc.datasets.readers.training_files import Paths, audit_files
from puoc.userdata.assess import column_effect
from puoc.userdata.assess.column_effect import Effects, effects_of, sample_of

N_P, N_U = 60, 80


@pytest.fixture(autouse=True)
def one_shown_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure one column of each verdict beside those in doubt, to save time."""
    monkeypatch.setattr(column_effect, "MEASURED", {"asked": 2, "noted": 1, "shown": 1})


def pair(folder: Path, **more: tuple[object, object]) -> tuple[str, ...]:
    """Files of positives in P and U alike, with further columns."""
    rng = np.random.default_rng(3)
    for at, (name, n) in enumerate((("p", N_P), ("u", N_U))):
        rows = pd.DataFrame(rng.normal(size=(n, 4)).round(3), columns=list("abcd"))
        rows.assign(**{key: values[at] for key, values in more.items()}).to_csv(folder / f"{name}.csv", index=False)
    return "--positives", str(folder / "p.csv"), "--unlabelled", str(folder / "u.csv")


def measured(folder: Path, how: How | None = None) -> Effects:
    found, _ = audit_files(Paths(folder / "p.csv", folder / "u.csv"), how or How())
    assert found.audited is not None
    sample = sample_of(found.P, found.U, how or How(), found.audited)  # type: ignore[arg-type]
    assert sample is not None
    return effects_of(sample, found.audited)


def flag(share: float) -> tuple[object, object]:
    return 1, (np.random.default_rng(0).random(N_U) < share).astype(int)


def test_a_column_in_doubt_is_shown_with_the_answer_without_it(tmp_path: Path) -> None:
    pair(tmp_path, checked=flag(0.2))
    found = measured(tmp_path)
    effect = found.of("checked")
    assert effect is not None
    assert effect.verdict == "asked"
    assert effect.matters
    assert effect.with_it.alpha_high < 0.6
    assert effect.without.alpha_high == 1.0  # U is all positive
    assert (effect.with_it, effect.without) == (found.everything, found.without_asked)
    assert [effect.with_it.columns, effect.without.columns] == [5, 4]
    assert not any(line.startswith("with column 'checked'") for line in found.lines())  # two lines say it already


def test_a_second_column_in_doubt_does_not_hide_what_the_first_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_effect, "MEASURED", {"asked": 2})
    pair(tmp_path, checked=flag(0.1), seen=flag(0.15))
    found = measured(tmp_path)
    for name in ("checked", "seen"):
        effect = found.of(name)
        assert effect is not None
        assert effect.matters
        assert [effect.with_it.columns, effect.without.columns] == [5, 4]
    assert found.everything is not None
    assert found.everything.columns == 6


def test_columns_that_are_only_shown_are_left_out_of_the_others_and_change_nothing(tmp_path: Path) -> None:
    pair(tmp_path)
    found = measured(tmp_path)
    assert found.without_asked is None
    assert [effect.verdict for effect in found.effects] == ["shown"]
    assert not any(effect.matters for effect in found.effects)
    assert all(effect.with_it == found.everything and effect.without.columns == 3 for effect in found.effects)


def test_without_any_other_column_no_answer_is_shown(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pd.DataFrame({"flag": 1, "x": rng.normal(size=N_P)}).to_csv(tmp_path / "p.csv", index=False)
    pd.DataFrame({"flag": flag(0.3)[1], "x": rng.normal(size=N_U) + 99}).to_csv(tmp_path / "u.csv", index=False)
    found, _ = audit_files(Paths(tmp_path / "p.csv", tmp_path / "u.csv"), How())
    assert found.audited is not None
    all_asked = found.audited.model_copy(
        update={"columns": tuple(c.model_copy(update={"verdict": "asked"}) for c in found.audited.columns)}
    )
    sample = sample_of(found.P, found.U, How(), all_asked)  # type: ignore[arg-type]
    assert sample is not None
    effects = effects_of(sample, all_asked)
    assert effects.without_asked is None
    assert effects.effects == ()


def test_rows_and_columns_are_bounded_and_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_effect, "MOST_ROWS", 50)
    monkeypatch.setattr(column_effect, "MOST_COLUMNS", 3)
    pair(tmp_path)
    found = measured(tmp_path)
    assert found.everything is not None
    assert (found.n_p, found.n_u, found.of_columns, found.everything.columns) == (50, 50, 4, 3)


def test_columns_that_name_or_date_the_rows_and_files_of_few_rows_stop_nothing(tmp_path: Path) -> None:
    values = ([f"k{i}" for i in range(99)], [f"some words of row {i}" for i in range(99)],
              pd.date_range("2024", periods=99).astype(str).tolist())  # fmt: skip
    files = pair(tmp_path, **{f"extra{i}": (of[:N_P], of[:N_U]) for i, of in enumerate(values)})
    code, said = puoc("audit", *files)
    assert code == 0, said
    assert "assessed on" in said
    assert "with column 'extra" not in said
    (tmp_path / "p.csv").write_text("".join((tmp_path / "p.csv").open().readlines()[:8]))
    code, said = puoc("audit", *files)
    assert code == 0, said
    assert "assessed on" not in said


@pytest.mark.slow
def test_the_commands_show_the_effect_in_the_page_and_the_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = pair(tmp_path, checked=flag(0.2))
    monkeypatch.chdir(tmp_path)
    code, said = puoc("audit", *files, "--json", "a.json", "--html", "a.html")
    assert code == 0, said
    assert f"assessed on {N_P} rows of P and {N_U} of U, with all columns: " in said
    document = json.loads(Path("a.json").read_text())
    assert document["effects"]["effects"][0]["column"] == "checked"
    text = Path("a.html").read_text()
    assert "Without the columns asked about" in text
    assert "another answer" in text
    code, said = puoc("assess", *files, "--number", "checked", "--html", "b.html", "--json")
    assert code == 0, said
    of_assess = json.loads(said)["effects"]
    assert of_assess["effects"][0]["column"] == "checked"
    assert of_assess["without_noted"]["alpha_high"] == 1.0
    assert "Without those asked about or noted" in Path("b.html").read_text()
    assert puoc("audit", *files, "--json", "c.json", "--no-effect")[0] == 0
    assert json.loads(Path("c.json").read_text())["effects"] is None
