"""``puoc assess`` as a user meets it: its answer, its page, and odd input."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from own_files import puoc, refused
from PIL import Image
from typer.testing import CliRunner, Result

from puoc.analysis.reliability.robustness_map import ALPHAS, SIZES
from puoc.analysis.statistics.auc import auc
from puoc.cli.app import app
from puoc.cli.assess import _print
from puoc.scenarios.drawing.simulate import Gaussian, Truth, situation
from puoc.scenarios.drawing.simulate import Incoming as Arriving
from puoc.userdata.assess.cross_scores import crossed
from puoc.userdata.assess.decision import assess, decide
from puoc.userdata.assess.evidence import Alpha, Evidence, Gained, Incoming
from puoc.userdata.assess.input_rows import checked
from puoc.userdata.assess.page import page
from puoc.userdata.assess.reasons import LARGEST_LOSS, MEASURED, SURE, WORST
from puoc.userdata.assess.reference_methods import FAMILIES, Seen, fit_one, values_seen
from puoc.userdata.pages import check_place

Array = NDArray[Any]
Ask = Callable[..., Result]


def rows(n: int, mean: float = 0.0, d: int = 3, seed: int = 0) -> Array:
    return np.random.default_rng([seed, n]).normal(mean, 1, (n, d))


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Run the command on arrays, written as CSV files."""

    def run(*options: str, **arrays: Array) -> Result:
        given = []
        for name, X in arrays.items():
            path = tmp_path / f"{name}.csv"
            pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]).to_csv(path, index=False)
            given += [f"--{name}", str(path)]
        return CliRunner().invoke(app, ["assess", *given, "--html", str(tmp_path / "page.html"), *options])

    return run


@pytest.mark.slow
def test_what_is_to_be_doubted_of_columns_is_told_before_the_answer(ask: Ask) -> None:
    def apart(n: int, first: int) -> Array:
        measured = np.random.default_rng(first).uniform(first, first + n, n)
        return np.column_stack([rows(n, seed=first), measured, np.ones(n)])

    asked = ask(positives=apart(60, 0), unlabelled=apart(90, 100))
    assert asked.exit_code == 2, asked.output
    assert "column 'c3' nearly says by its values which rows are labelled positives" in asked.output
    done = ask("--number", "c3", positives=apart(60, 0), unlabelled=apart(90, 100))
    assert done.exit_code == 0, done.output
    assert "column 'c3'" in done.output
    assert "column 'c4' left out: the same value in all rows" in done.output
    assert done.output.index("column 'c3'") < done.output.index("answer:")


@pytest.mark.slow
def test_the_answer_is_told_printed_as_json_and_shown_on_a_page(ask: Ask, tmp_path: Path) -> None:
    truth = Truth(60, 90, 0.4, (Arriving(60, 0.4),))
    drawn = situation(Gaussian(d=3, distance=5.0), truth, np.random.default_rng(3))
    done = ask("--json", positives=drawn.X_p, unlabelled=drawn.X_u)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["answer"] in ("PU", "PU-OC", "cannot tell")
    assert found["advice"] in ("PU", "PU-OC")
    alpha = found["evidence"]["alpha"]
    assert alpha["low"] <= 0.4 <= alpha["high"] < 0.8
    assert found["shift_examined"] is False
    assert any("shift was not examined" in reason for reason in found["reasons"])
    assert [column["name"] for column in found["profile"]] == ["c0", "c1", "c2"]
    assert [one["family"] for one in found["worth"]] == ["OC", "PU-OC", "PU"]
    assert found["recommended"]["params"]
    shown = (tmp_path / "page.html").read_text()
    assert "Not examined: no incoming rows were given." in shown
    assert "http" not in shown.replace("http-equiv", ""), "the page needs no network"
    told = ask(positives=drawn.X_p, unlabelled=drawn.X_u, incoming=drawn.X_v[0])
    assert told.exit_code == 0, told.output
    first = [line for line in told.output.splitlines() if line.startswith("answer: ")]
    assert re.match(
        r"answer: (cannot tell|PU|PU-OC)[ ;].* the odds that .* to 1 \(expected lead .* deviation", first[0]
    )
    assert "shift was not examined" not in told.output
    assert "incoming rows" in told.output
    assert "Not examined" not in (tmp_path / "page.html").read_text()


P, U = rows(40), rows(60, 1.0, seed=1)

LABELLED = {
    "nothing": ([], "--unlabelled: the file is missing; expected --positives and --unlabelled, or --data"),
    "P alone": (["--positives", "p.csv"], "--unlabelled: the file is missing"),
    "U alone": (["--unlabelled", "p.csv"], "no labelled positives; expected a file of them, or one file with a label"),
    "both ways": (["--data", "p.csv", "--label", "y", "--positives", "p.csv"], "expected one way"),
    "no label": (["--data", "p.csv"], "the column with the labels is not named; use --label NAME"),
    "no such label": (["--data", "p.csv", "--label", "z"], "no column 'z' for the labels; it has 'a', 'y'"),
    "a label in doubt": (["--data", "p.csv", "--label", "y"], "which one means positive? Use --positive VALUE"),
    "a label of nothing": (
        ["--positives", "p.csv", "--unlabelled", "p.csv", "--label", "y"],
        "--label: got 'y' without --data",
    ),
    "a value of nothing": (
        ["--positives", "p.csv", "--unlabelled", "p.csv", "--positive", "1"],
        "got '1' without --data",
    ),
    "new negatives twice": (
        ["--positives", "p.csv", "--unlabelled", "p.csv", "--incoming", "p.csv", "--new-negatives", "0.3"],
        "--new-negatives: got 0.3 with --incoming; expected one of them",
    ),
    "the page's place": (["--data", "p.csv", "--label", "y", "--html", "p.csv"], "--html: p.csv is to be read from"),
    "no page": (["--data", "p.csv", "--label", "y", "--html", "a.pdf"], "--html: got .pdf (a.pdf); expected .html"),
    "a page without suffix": (["--data", "p.csv", "--label", "y", "--html", "a"], "got no suffix (a); expected .html"),
}


@pytest.mark.parametrize(("words", "expected"), LABELLED.values(), ids=LABELLED)
def test_a_table_with_labels_is_asked_for_as_by_fit(
    words: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text("a,y\n" + "".join(f"{i * i},{i % 2 + 1}\n" for i in range(60)))
    refused(puoc("assess", *words), expected)
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


ODD = {
    "U of 19": ({"positives": P, "unlabelled": U[:19]}, "got 19 unlabelled rows, at least 20 expected"),
    "P of 19": ({"positives": P[:19], "unlabelled": U}, "got 19 labelled positives, at least 20 expected"),
    "V of 19": ({"positives": P, "unlabelled": U, "incoming": U[:19] + 9}, "got 19 incoming rows, at least 20"),
    "U is P": ({"positives": P, "unlabelled": P}, "each of the 40 unlabelled rows is a labelled one"),
    "U is within P": ({"positives": P, "unlabelled": P[5:30]}, "each of the 25 unlabelled rows is a labelled one"),
    "P inside U, and little else": (
        {"positives": P, "unlabelled": np.concatenate([P, U[:19]])},
        "got 19 unlabelled rows that P does not hold",
    ),
    "V is U": ({"positives": P, "unlabelled": U, "incoming": U}, "got 0 incoming rows that neither P nor U holds"),
    "constant": ({"positives": np.ones((30, 2)), "unlabelled": np.ones((30, 2))}, ""),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_input_is_refused_in_words_and_nothing_is_written(ask: Ask, tmp_path: Path, name: str) -> None:
    arrays, expected = ODD[name]
    done = ask(**arrays)
    assert done.exit_code == 2, done.output
    assert expected in done.output.replace("\n", " ")
    assert not (tmp_path / "page.html").exists()


def test_the_page_replaces_no_file_but_an_earlier_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    p = Path("p.csv")
    p.write_text("a\n1\n")
    Path("linked.html").symlink_to(p)
    Path("folder").mkdir()
    Path("notes.html").write_text("<!DOCTYPE html>\n<title>my notes</title>")
    Path("null").symlink_to("/dev/null")
    before = {path: path.read_bytes() for path in Path().iterdir() if path.suffix}
    for html, expected in (
        ("p.csv", "is to be read from"),
        ("linked.html", "is to be read from"),
        ("folder", "is a folder; expected a file, such as folder/assess.html"),
        ("notes.html", "is there already and no page of puoc assess"),
        ("null", "is no plain file"),
        ("p.csv/page.html", "cannot be written"),
        ("/proc/page.html", "cannot be written, since /proc takes no file; expected a path in a folder that you may"),
    ):
        refused(puoc("assess", "--positives", p, "--unlabelled", "u.csv", "--html", html), f"--html: {html} {expected}")
    assert {path: path.read_bytes() for path in before} == before
    assert len(list(tmp_path.iterdir())) == 5
    earlier = page(decide(evidence(0.05, 0.001, (0.4, 0.6))), {}, [], [])
    for name, content in (("earlier.html", earlier), ("empty.html", ""), ("new/page.html", None)):
        if content is not None:
            Path(name).write_text(content)
        check_place(Path(name), [p])
    assert not Path("new").exists()


def test_pictures_of_two_sizes_are_brought_to_one_by_the_option_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for folder, n in (("p", 19), ("u", 21)):
        Path(folder).mkdir()
        for i in range(n):
            pixels = rng.integers(256, size=(8 + i % 2, 9), dtype=np.uint8)
            Image.fromarray(pixels).save(f"{folder}/{i:02d}.png")
    files = ("--positives", "p", "--unlabelled", "u")
    refused(puoc("assess", *files), "learn with --pixels N")
    refused(puoc("assess", *files, "--pixels", "8"), "got 19 labelled positives")  # read whole, then counted
    refused(puoc("assess", *files, "--pixels", "0"), "--pixels: got 0; expected")


@pytest.mark.parametrize("role", ["unlabelled", "incoming"])
def test_rows_of_another_kind_than_the_positives_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(P, columns=list("abc")).to_csv("table.csv", index=False)
    Path("texts.txt").write_text("".join(f"word number {i}\n" for i in range(30)))
    Path("images").mkdir()
    for i in range(3):
        Image.fromarray(np.full((8, 8), 9 * i, dtype=np.uint8)).save(f"images/{i}.png")
    given = {"table": "table.csv", "texts": "texts.txt", "images": "images"}
    for kind, other in permutations(given, 2):
        roles = {"positives": given[kind], "unlabelled": given[kind], role: given[other]}
        words = [word for name, path in roles.items() for word in (f"--{name}", path)]
        refused(puoc("assess", *words), "expected the same: use --kind")
    assert not Path("assess.html").exists()


def test_arrays_that_no_file_would_give_are_refused_too() -> None:
    for X_p, X_u, X_v, expected in (
        (np.ones((30, 2)), np.ones((30, 2)), None, "all rows of P and U are the same"),
        (P, rows(30, d=4), None, "got rows of shape"),
        (P, U * np.nan, None, "unlabelled rows: got NaN or infinite"),
        (P, U, rows(30, d=2), "incoming rows: got rows of shape"),
        (P[:, 0], U[:, 0], None, "got rows of shape"),
    ):
        with pytest.raises(ValueError, match=expected):
            assess(X_p, X_u, X_v)
    for new in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="a probability from 0 to 1 expected"):
            assess(P, U, new=new)


def test_labelled_rows_in_u_are_left_out_unless_rows_repeat_anyway() -> None:
    of = checked(P, np.concatenate([U, P[:25]]), None, 0)
    assert len(of.X_u) == 60
    assert of.notes == ("25 unlabelled rows repeat labelled ones and were left out of U",)
    assert not np.isin(of.group_u, of.group_p).any()
    coarse_p, coarse_u = np.round(P[:, :1]), np.round(U[:, :1])
    of = checked(coarse_p, coarse_u, coarse_u, 0)
    assert (len(of.X_u), len(np.asarray(of.X_v))) == (60, 60)
    assert "rows repeat within P too, so they stay" in of.notes[0]
    late = checked(P, U, np.concatenate([U[:7], rows(30, seed=5)]), 0)
    assert "7 incoming rows repeat" in late.notes[0]
    big = checked(rows(5100), rows(5100, seed=1), None, 0)
    assert (len(big.X_p), len(big.X_u)) == (5000, 5000)
    assert len(big.notes) == 2


def test_no_model_scores_a_row_it_saw_nor_a_copy_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Watched, not replaced: what each half's representation was fitted to, and what it then scores."""
    fitted: list[set[bytes]] = []
    scored: list[set[bytes]] = []
    by, call = Seen.by.__func__, Seen.__call__  # type: ignore[attr-defined]

    def watched_by(cls: Any, X_p: Array, X_u: Array, *most: int) -> Any:
        fitted.append({row.tobytes() for row in np.concatenate([X_p, X_u])})
        return by(cls, X_p, X_u, *most)

    def watched_call(self: Seen, X: Array) -> Any:
        scored.append({row.tobytes() for row in X})
        return call(self, X)

    monkeypatch.setattr(Seen, "by", classmethod(watched_by))
    monkeypatch.setattr(Seen, "__call__", watched_call)
    doubled_p, doubled_u = np.repeat(P, 2, axis=0), np.concatenate([U, P[:20]])
    crossed(checked(doubled_p, doubled_u, None, 0), 0)
    assert len(fitted) == 2
    # of each half: twice its own rows to fit (P, U), then the other half's P and U
    for half, rows_seen in enumerate(fitted):
        own = scored[half * (len(scored) // 2) : (half + 1) * (len(scored) // 2)]
        held = [rows_ for rows_ in own if not rows_ <= rows_seen]
        assert len(held) == 2
        assert all(not rows_ & rows_seen for rows_ in held)


def gains(gain: float, error: float) -> tuple[Gained, ...]:
    """OC behind PU-OC by ``gain``, and PU as far before it."""
    return tuple(
        Gained(family=f, auc=0.7, gain=g, low=g - 2 * e, high=g + 2 * e, error=e)
        for f, g, e in (("OC", -gain, error), ("PU-OC", 0.0, 0.0), ("PU", gain, error))
    )


def evidence(
    gain: float,
    error: float,
    alpha: tuple[float, float],
    new: bool | None = None,
    of_v: tuple[float, float] = (0.0, 1.0),
) -> Evidence:
    """``of_v``: gain on V and its error; that of the default says nothing."""
    later = None
    if new is not None:
        about = {"p_new": 0.001 if new else 0.6, "ratio": 1.0, "ratio_low": 0.9, "ratio_high": 1.1}
        about |= {"alpha_low": alpha[0], "alpha_high": alpha[1]}
        later = Incoming(n=300, new_negatives=new, alpha_changed=False, gained=gains(*of_v), **about)
    return Evidence(
        n_p=300,
        n_u=500,
        columns=5,
        notes=(),
        alpha=Alpha(low=alpha[0], high=alpha[1], p_no_negatives=0.01, p_order=0.5),
        incoming=later,
        gained=gains(gain, error),
        curve=(),
    )


@pytest.mark.parametrize("new", [None, False, True])
@pytest.mark.parametrize("high", [None, 1.1])
def test_evidence_is_read_back_as_it_was(new: bool | None, high: float | None) -> None:
    written = evidence(0.05, 0.001, (0.4, 0.6), new)
    if written.incoming is not None:
        written = written.model_copy(update={"incoming": written.incoming.model_copy(update={"ratio_high": high})})
    assert Evidence.model_validate_json(json.dumps(written.canonical())) == written


@pytest.mark.parametrize(
    ("high", "alpha_high", "expected"),
    [
        (60.0, 0.6, "have 40 times the share of negatives of U, none of a new kind"),
        (None, 0.6, "have at least 21 times the share of negatives of U; U has too few to tell"),
        (60.0, 1.0, "have at least 21 times the share of negatives of U; U has too few to tell"),
    ],
)
def test_where_u_may_have_no_negatives_nobody_says_that_none_is_new(
    high: float | None, alpha_high: float, expected: str
) -> None:
    found = evidence(0.05, 0.001, (0.4, alpha_high), False)
    changed = {"alpha_changed": True, "ratio": 40.0, "ratio_low": 21.0, "ratio_high": high}
    assert found.incoming is not None
    found = found.model_copy(update={"incoming": found.incoming.model_copy(update=changed)})
    assert any(expected in reason for reason in decide(found).reasons)


def measured(
    alpha: tuple[float, float], n: tuple[int, int], of_u: list[tuple[float, ...]], of_v: list[tuple[float, ...]] | None
) -> Evidence:
    """Evidence with these numbers of P and U, and gains (gain, low, high, error) of OC and of PU."""
    found = evidence(0.0, 1.0, alpha, None if of_v is None else False)

    def gained(of: list[tuple[float, ...]]) -> tuple[Gained, ...]:
        values = (of[0], (0.0, 0.0, 0.0, 0.0), of[1])
        return tuple(
            Gained(family=family, auc=0.74, gain=gain, low=low, high=high, error=error)
            for family, (gain, low, high, error) in zip(FAMILIES, values, strict=True)
        )

    later = found.incoming
    if later is not None and of_v is not None:
        later = later.model_copy(update={"gained": gained(of_v)})
    return found.model_copy(update={"n_p": n[0], "n_u": n[1], "gained": gained(of_u), "incoming": later})


#: As measured on 800 labelled and 2,000 clean unlabelled rows of two normal clusters 5 and 4 deviations apart.
RELIABLE = {
    "5 columns": ((0.32, 0.54), [(-0.0129, -0.0261, 0.0105, 0.008), (0.0053, -0.0175, 0.0297, 0.008)], None),
    "5 columns, incoming": (
        (0.32, 0.54),
        [(-0.0129, -0.0261, 0.0105, 0.008), (0.0053, -0.0175, 0.0297, 0.008)],
        [(-0.0119, -0.0321, 0.0102, 0.009), (0.0007, -0.0259, 0.027, 0.009)],
    ),
    "10 columns": ((0.33, 0.57), [(-0.0826, -0.1122, -0.0539, 0.011), (0.002, -0.0168, 0.0182, 0.007)], None),
}


@pytest.mark.parametrize("name", RELIABLE)
def test_reliable_rows_are_not_answered_with_pu_oc(name: str) -> None:
    alpha, of_u, of_v = RELIABLE[name]
    found = decide(measured(alpha, (800, 2000), of_u, of_v))
    assert found.answer in ("PU", "cannot tell")
    assert "the odds that" in found.verdict
    assert f"{found.lead:.3f} of AUC, standard deviation {found.lead_spread:.3f}" in found.verdict


@pytest.mark.parametrize(("gain", "high", "new"), [(-0.3, 0.4, False), (0.0, 1.0, None), (0.3, 0.4, False)])
def test_an_answer_needs_clear_odds_and_names_them(gain: float, high: float, new: bool | None) -> None:
    for error in (0.0, 0.03):
        found = decide(evidence(gain, error, (high, high), new, (gain, error)))
        assert 0.4 <= found.probability <= 1
        if found.answer == "cannot tell":
            worst = max(found.worst_random, found.worst_biased)
            assert found.loss > LARGEST_LOSS or worst >= WORST or found.probability < SURE
            assert found.verdict.startswith(f"cannot tell which family is best; use {found.first} until this is known")
        else:
            assert found.loss <= LARGEST_LOSS
            assert max(found.worst, found.worst_random, found.worst_biased) < WORST
            assert found.probability >= SURE
            assert found.answer == found.advice == found.first
            assert found.verdict.startswith(f"{found.answer}; the odds that it is better than {found.second} are ")
        assert " (expected lead " in found.verdict


@pytest.mark.parametrize("new", [None, False])
def test_a_family_is_no_answer_if_it_may_be_the_worst_one_under_either_labelling(new: bool | None) -> None:
    """Gains that would be clear for a random P, and less so for a biased one; both chances count, not their mean."""
    answered = 0
    for gain in np.linspace(0, 0.2, 9):
        found = decide(evidence(gain, 0.01, (0.2, 0.4), new, (gain, 0.01)))
        for said in (found, *(found.by_kind if new is None else ())):
            worst = said.worst_random, said.worst_biased
            assert min(worst) - 1e-3 <= said.worst <= max(worst) + 1e-3
            enough = said.loss <= LARGEST_LOSS and said.probability >= SURE
            assert (said.answer != "cannot tell") == (enough and max(worst) < WORST)
            answered += said.answer != "cannot tell"
    assert answered


def test_what_an_answer_lacks_names_the_labelling_under_which_the_family_may_be_the_worst() -> None:
    found = decide(evidence(0.0, 0.05, (0.4, 0.6)))
    (line,) = (reason for reason in found.reasons if "is not sure enough for an answer" in reason)
    assert f"{100 * found.worst_random:.1f} % if P is a random sample of the positives" in line
    assert f"{100 * found.worst_biased:.1f} % if P is none) is not below {100 * WORST:.0f} %" in line


def test_judged_on_draws_that_were_made_later_an_answer_is_seldom_the_worst_family() -> None:
    """As docs/reliability.md says; the share has to be below .05, which few answers cannot prove."""
    rows = pd.read_parquet(Path(__file__).parents[2] / "docs" / "evidence" / "assess_judged.parquet")
    given = rows[(rows["of"] == "fresh") & (rows["answer"] != "cannot tell")]
    assert len(given) > 0
    assert given["is_worst"].mean() < 0.05


def test_without_incoming_rows_the_answer_is_that_of_the_negatives_that_are_named() -> None:
    """As those of U, unless new ones are said to be likely."""
    seen = evidence(0.08, 0.001, (0.3, 0.3))
    as_in_u, new = decide(seen).by_kind
    assert (as_in_u.kind, as_in_u.first, new.kind) == ("none", "PU", "new")
    assert new.loss > as_in_u.loss
    for chance, kind in ((0.0, as_in_u), (1.0, new)):
        found = decide(seen, new=chance)
        assert (found.first, found.new_expected) == (kind.first, pytest.approx(chance, abs=1e-6))
        assert found.lead == pytest.approx(kind.lead, abs=1e-3)
        assert f"if they have negatives of a new kind (taken as {100 * chance:.0f} % likely)" in found.reasons[1]
    assert decide(seen, new=0.4).new_expected == pytest.approx(0.4, abs=1e-6), "rows of U say nothing of new negatives"


def test_the_answers_by_case_stand_apart_with_their_odds() -> None:
    found = decide(evidence(0.08, 0.001, (0.3, 0.3)))
    as_in_u, new = found.by_kind
    assert as_in_u.taken_as + new.taken_as == pytest.approx(1)
    odds = as_in_u.probability / max(1 - as_in_u.probability, 1e-9)
    shown = "100 to 1 or more" if odds >= 100 else f"{odds:.1f} to 1"
    assert f"of AUC above {as_in_u.second}, at odds of {shown}" in found.reasons[0]
    assert found.reasons[0].startswith(
        "if the rows to be scored have the negatives of U (taken as 100 % likely): PU is"
    )
    assert found.reasons[2].startswith("if P is no random sample of the positives, as where the clear or the doubtful")
    assert "guaranteed: U holds at most 30.0 % positives (97.5 %), if P is a random sample" in found.reasons[3]
    assert "estimated: U holds " in found.reasons[4]


@pytest.mark.parametrize("with_incoming", [False, True])
def test_what_the_rows_show_against_the_advice_is_told_with_the_reason(with_incoming: bool) -> None:
    """Whichever family is advised, every family that the rows show to be better is named, and no other one."""
    told = []
    for alpha in ((0.0, 0.08), (0.3, 0.5), (0.6, 0.9), (0.9, 1.0)):
        for oc, pu in product((-0.06, -0.013, 0.0, 0.013, 0.06), repeat=2):
            of_u = [(gain, gain - 0.01, gain + 0.01, 0.005) for gain in (oc, pu)]
            of_v = [(gain, gain - 0.01, gain + 0.01, 0.005) for gain in (pu, oc)] if with_incoming else None
            found = decide(measured(alpha, (300, 2000), of_u, of_v))
            expected = []
            for name, gains_ in (("U", (oc, 0.0, pu)), ("the incoming rows", (pu, 0.0, oc)))[: 1 + with_incoming]:
                half = (0.01, 0.0, 0.01)
                ours = FAMILIES.index(found.advice)
                for i, family in enumerate(FAMILIES):
                    if gains_[i] - half[i] > gains_[ours] + half[ours]:
                        ahead = gains_[i] - gains_[ours]
                        expected.append(f"against {name} show {family} {ahead:.3f} of AUC above {found.advice}")
                        told.append((found.advice, family))
            against = [line for line in found.reasons if line.startswith("withheld rows of P against")]
            assert len(against) == len(expected)
            for line, said in zip(against, expected, strict=True):
                assert said in line
                assert f"; {found.advice} is advised all the same, because " in line
                if "PU-OC" in said:
                    assert "(95 % interval 0." in line, "the end of the interval on the side of the other family"
    assert {("PU-OC", "PU"), ("OC", "PU")} <= set(told), "such rows are among these"


def test_rows_outside_of_the_map_are_named() -> None:
    inside = evidence(0.0, 0.01, (0.4, 0.6))
    assert decide(inside).outside == ()
    for update, expected in (
        (
            {"alpha": inside.alpha.model_copy(update={"low": 0.0, "high": 0.08})},
            "U holds at most 8.0 % positives, and the model was estimated on situations with at least 9.3 %",
        ),
        (
            {"n_p": 800},
            "800 labelled positives, and the model was estimated on situations with 25 to 300. It takes the data as if "
            "they had 300. In 36 measured",
        ),
        ({"n_p": 24}, "24 labelled positives, and the model was estimated on situations with 25"),
        ({"n_u": 24}, "24 unlabelled rows, and the model was estimated on situations with 50 to 5,000. It takes"),
        ({"columns": 1}, "the data have 1 value in each row"),
        ({"columns": 1280}, "1,280 values in each row, and the model was estimated on situations with 2 to 784. In"),
    ):
        (line,) = decide(inside.model_copy(update=update)).outside
        assert expected in line
        assert "measured" in line


def test_what_it_costs_outside_of_the_map_is_as_measured() -> None:
    docs = Path(__file__).parents[2] / "docs" / "evidence"
    rows, judged = (pd.read_parquet(docs / f"{name}.parquet") for name in ("outside_map", "assess_judged"))
    again = rows.iloc[::20]
    advice = [decide(Evidence.model_validate_json(text)).advice for text in again["evidence"]]
    assert advice == again["advice"].to_list(), "bench/outside_map.py --merge writes the answers of the present rule"
    names = {
        "alpha below": "alpha 0.02",
        "labelled positives above": "800 labelled positives",
        "values in each row below": "rows of one value",
    }
    regrets = {name: rows.loc[rows["outside"] == outside, "regret"] for name, outside in names.items()}
    wide = judged["data"].str.startswith("cifar10") & (judged["V"] != "")
    regrets["values in each row above"] = judged.loc[wide, "assess"]
    assert {name: (round(one.mean(), 3), len(one)) for name, one in regrets.items()} == {
        name: measured[:2] for name, measured in MEASURED.items()
    }


def test_the_ranges_of_the_map_are_those_of_its_situations() -> None:
    rows = pd.read_parquet(Path(__file__).parents[2] / "docs" / "evidence" / "robustness_map.parquet")
    assert sorted(rows["alpha"].unique()) == list(ALPHAS)
    assert sorted(rows["n_u"].unique()) == list(SIZES)


def test_clear_gains_decide_on_u_where_nothing_new_comes_in_and_on_v_wherever() -> None:
    for sign, answer in ((1, "PU"), (-1, "OC")):
        calm = decide(evidence(sign * 0.2, 0.001, (0.4, 0.6), False, (sign * 0.2, 0.001)))
        assert calm.shift_examined
        assert calm.advice == answer
        against = decide(evidence(-sign * 0.2, 0.001, (0.4, 0.6), True, (sign * 0.2, 0.001)))
        assert against.advice == answer, "what V shows counts, not what U shows"
        assert against.region.endswith(", new negatives")
        assert any("assess them as --unlabelled" in line for line in against.more_data)


def test_where_it_cannot_tell_an_advice_is_named_and_nothing_promised(capsys: pytest.CaptureFixture[str]) -> None:
    found = decide(evidence(0.0, 0.05, (0.4, 0.6)))
    _print(found)
    told = capsys.readouterr().out.splitlines()[0]
    assert found.answer == "cannot tell"
    assert told.startswith(f"answer: cannot tell which family is best; use {found.advice} until this is known")


def test_where_the_recommended_can_be_fitted_is_said_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    found = decide(evidence(0.05, 0.001, (0.4, 0.6)))
    _print(found)
    shown = page(found, {"positives": "p.csv"}, [], [])
    for text in (capsys.readouterr().out, shown, json.dumps(found.model_dump(mode="json"))):
        assert "puoc fit prepares rows in the same way by --encoder components" in text


def test_the_answer_is_worth_asking_for() -> None:
    """On the cells that the docs show: regret below each constant policy, or within .005 of the best."""
    docs = Path(__file__).parents[2] / "docs"
    for name in ("left_out", "judged"):
        rows = pd.read_parquet(docs / "evidence" / f"{name}.parquet")
        regret = {family: rows[list(FAMILIES)].max(axis=1) - rows[family] for family in FAMILIES}
        assert rows["regret"].mean() <= min(one.mean() for one in regret.values()) + 0.005
        assert rows["regret"].max() < regret["PU"].max()


def test_all_columns_are_seen_where_there_are_rows_enough() -> None:
    """Half of U is shifted in one of 50 columns; the first 20 components of equal columns would miss it."""
    rng = np.random.default_rng(1)
    X_p, X_u, T = (rng.normal(size=(n, 50)) for n in (200, 1000, 1000))
    X_u[:500, 0] += 3
    T[:500, 0] += 3
    seen = values_seen(50, 1200)
    assert (seen, values_seen(50, 249), values_seen(101, 10**6), values_seen(7, 20)) == (50, 20, 20, 7)
    few, every = (auc(*np.split(fit_scores(X_p, X_u, T, values), [500])[::-1], "PU") for values in (20, seen))
    assert every > 0.8 > few + 0.05


def fit_scores(X_p: Array, X_u: Array, X: Array, values: int) -> Array:
    view, model = fit_one("PU", X_p, X_u, 0, values)
    return np.asarray(model.decision_function(view(X)))
