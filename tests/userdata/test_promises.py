"""What a threshold promises: bounds that hold for the distributions that are hardest for them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from own_files import customers, puoc, refused
from scipy.stats import beta, binom

from puoc.methods.persistence import model_file as modelfile
from puoc.userdata import promises
from puoc.userdata.promises import Bounds, Flagged
from puoc.userdata.thresholds import ThresholdRule, check_rule

WORDS = ("--method", "pu_svm", "--prior", "0.25", "--positives", "p.csv", "--unlabelled", "u.csv", "--no-ranking-check")


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 400), st.floats(0.5, 0.99), st.floats(0.5, 0.99))
def test_the_rank_of_a_recall_is_the_largest_that_the_binomial_law_allows(n: int, recall: float, level: float) -> None:
    rank = promises.promised_rank(recall, n, level)
    assert rank == 0 or binom.sf(rank - 1, n, 1 - recall) >= level - 1e-12
    assert rank == n or binom.sf(rank, n, 1 - recall) < level + 1e-12
    needed = promises.needed_positives(recall, level)
    assert promises.promised_rank(recall, needed, level) >= 1
    assert promises.promised_rank(recall, needed - 1, level) == 0
    if rank:
        assert promises.recall_promised(rank, n, level) >= recall - 1e-9
        assert promises.recall_promised(rank, n, level) == pytest.approx(1 - beta.ppf(level, rank, n + 1 - rank))
        low, high = promises.recall_interval(rank, n)
        assert low < promises.recall_promised(rank, n, 0.95) < high


def kept_recall(level: float, recall: float, n: int, digits: int | None) -> float:
    """Return in how many of 4,000 draws the threshold has the recall; ties if scores are rounded."""
    rng, kept = np.random.default_rng(n), 0
    rank = promises.promised_rank(recall, n, level)
    for _ in range(4000):
        held = np.sort(rng.random(n) if digits is None else rng.integers(0, 10**digits, n) / 10**digits)
        true = 1 - held[rank - 1]  # of new scores of the same law, those that reach it
        kept += bool(true >= recall - 1e-12)
    return kept / 4000


@pytest.mark.parametrize(("recall", "n"), [(0.9, 29), (0.9, 100), (0.5, 20), (0.8, 14)])
@pytest.mark.parametrize("digits", [None, 1])
def test_a_promised_recall_is_kept_at_the_confidence(recall: float, n: int, digits: int | None) -> None:
    assert kept_recall(0.95, recall, n, digits) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 4000)


def flagged(rng: np.random.Generator, n: int, m: int, alpha: float, interval: Bounds, **asked: float | None) -> tuple:
    """Return the true share of flagged negatives, the true precision and the recall of a threshold, on a grid.

    Positives have grades 0 to 19, and negatives the lower half of them: a threshold is a grade, so ties are common.
    """
    held, labels = rng.integers(0, 20, n), rng.random(m) < alpha
    u = np.where(labels, rng.integers(0, 20, m), rng.integers(0, 12, m))
    found = promises.flagging(held, u, interval, confidence=0.9, **asked)
    if found is None:
        return None, None, None
    r, f = (20 - found.threshold) / 20, max(12 - found.threshold, 0) / 12
    return f, alpha * r / (alpha * r + (1 - alpha) * f), r - found.recall


@pytest.mark.parametrize(
    ("asked", "interval"),
    [
        ({"at_most": 0.4, "at_least": None}, (0.3, 0.3)),
        ({"at_most": 0.2, "at_least": None}, (0.2, 0.4)),
        ({"at_most": None, "at_least": 0.5}, (0.3, 0.3)),
        ({"at_most": None, "at_least": 0.4}, (0.25, 0.35)),
    ],
)
def test_flagged_negatives_and_precision_are_kept_at_the_confidence(
    asked: dict[str, float | None], interval: tuple[float, float]
) -> None:
    rng, kept = np.random.default_rng(0), []
    for _ in range(400):
        f, precision, slack = flagged(rng, 200, 800, 0.3, Bounds(*interval), **asked)
        if f is None:
            continue
        target = asked["at_most"] if asked["at_least"] is None else asked["at_least"]
        fine = f <= target + 1e-9 if asked["at_least"] is None else precision >= target - 1e-9
        kept.append(fine and slack >= -1e-9)
    assert len(kept) > 200
    assert np.mean(kept) > 0.9 - 3 * np.sqrt(0.09 / len(kept))


def test_bounds_are_those_of_their_formulas_at_the_worst_alpha() -> None:
    assert promises.bound_of(0.8, 0.3, Bounds(0.1, 0.2), precision=True) == pytest.approx(0.1 * 0.8 / 0.3)
    flags = promises.bound_of(0.8, 0.3, Bounds(0.1, 0.2), precision=False)
    assert flags == pytest.approx((0.3 - 0.1 * 0.8) / 0.9)
    worse = promises.bound_of(0.1, 0.3, Bounds(0.1, 0.2), precision=False)  # ranks negatives above positives
    assert worse == pytest.approx((0.3 - 0.2 * 0.1) / 0.8)
    assert promises.flagging(
        np.ones(50), np.ones(50), Bounds(0.1, 0.2), confidence=0.95, at_most=None, at_least=0.5
    ) is None  # fmt: skip
    assert isinstance(
        promises.flagging(np.arange(50.0) + 50, np.arange(90.0), Bounds(0.2, 0.5), confidence=0.95, at_most=0.5,
                          at_least=None), Flagged
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (ThresholdRule(recall=0.9, confidence=0.95), "needs at least 29 withheld positives, and 20 were withheld"),
        (ThresholdRule(recall=0.99), "needs at least 99 withheld positives"),
        (ThresholdRule(precision=0.99, alpha=(0.02, 0.3)), "--precision: got 0.99 with 20 withheld positives and 100"),
        (ThresholdRule(precision=0.5, alpha=(0.0, 0.3)), "no number of unlabelled rows would do"),
        (ThresholdRule(false_alarms=0.0001, alpha=(0.0, 0.3)), "--false-alarms: got 0.0001 with 20 withheld"),
    ],
)
def test_a_promise_that_so_few_rows_cannot_give_is_refused_with_the_number_needed(
    rule: ThresholdRule, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        check_rule(rule, 20, 100)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    customers(200, 1, 4).to_csv("p.csv", index=False)
    pd.concat([customers(600, 2), customers(200, 5, 4)]).to_csv("u.csv", index=False)
    return tmp_path


def fitted(*words: object, out: str = "model") -> str:
    code, said = puoc("fit", *WORDS, "--out", out, *words)
    assert code == 0, said
    return said


def test_a_promise_is_printed_kept_in_the_file_and_told_with_the_decisions(files: Path) -> None:
    said = fitted("--recall", 0.9, "--confidence", 0.95)
    assert "a recall of at least 0.9 of new positives is promised; with 95 % confidence it is at least 0.9" in said
    threshold = modelfile.read_meta(Path("model")).threshold
    assert threshold.promised >= 0.9
    assert threshold.recall_low < threshold.promised < threshold.recall_high
    assert threshold.confidence == 0.95
    code, said = puoc("score", "--model", "model", "u.csv", "--decide", "--out", "scores.csv")
    assert code == 0
    assert "decision: a recall of at least 0.9 of new positives is promised" in said
    scores = pd.read_csv("scores.csv")
    assert ((scores["score"] >= threshold.value) == scores["positive_at_recall_0.9"]).all()
    said = fitted("--recall", 0.9, out="weaker")  # on average, and what holds at the confidence beside it
    assert "a recall of at least 0.9 is expected of new positives; with 95 % confidence it is at least 0.8" in said


def test_flagged_negatives_are_promised_given_an_interval_of_alpha_and_else_estimated(files: Path) -> None:
    said = fitted("--false-alarms", 0.2, "--alpha-interval", "0.2,0.3", "--withhold", 0.5)
    assert "flagged negatives of at most 0.2 is promised with 95 % confidence if alpha is between 0.2 and 0.3" in said
    assert "of 400 unlabelled rows that the model did not learn from" in said  # the method learned from the other half
    threshold = modelfile.read_meta(Path("model")).threshold
    assert (threshold.by, threshold.is_promise, threshold.alpha_low) == ("false_alarms", True, 0.2)
    said = fitted("--false-alarms", 0.2, out="weaker")
    assert "is not promised but estimated: it rests on alpha = 0.25; --alpha-interval LOW,HIGH gives a promise" in said
    code, said = puoc("score", "--model", "weaker", "u.csv", "--decide", "--out", "scores.csv")
    assert code == 0
    assert "not promised but estimated" in said
    assert "positive_at_false_alarms_0.2" in pd.read_csv("scores.csv").columns


def test_a_precision_is_promised_and_a_one_class_method_uses_all_unlabelled_rows(files: Path) -> None:
    words = ("--positives", "p.csv", "--unlabelled", "u.csv", "--withhold", 0.5, "--no-ranking-check", "--out", "model")
    code, said = puoc("fit", "--method", "oc_svm", *words, "--precision", 0.2, "--alpha-interval", "0.2,0.3")
    assert code == 0, said
    assert "a precision of at least 0.2 is promised with 95 % confidence" in said
    assert "of 800 unlabelled rows" in said
    refused(
        puoc("fit", "--method", "oc_svm", *words[:-1], "other", "--precision", 0.97, "--alpha-interval", "0.2,0.3"),
        "--precision: got 0.97",
    )
    assert not Path("other").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--recall", 1.5), "--recall: got 1.5; expected a share in (0, 1), such as 0.9"),
        (("--false-alarms", 0), "--false-alarms: got 0; expected a share in (0, 1), such as 0.01"),
        (("--precision", 0.8, "--recall", 0.9), "got --precision and --recall; expected one threshold"),
        (("--confidence", 0.9), "--confidence: got 0.9 without --recall"),
        (("--recall", 0.9, "--confidence", 95), "--confidence: got 95; expected a confidence in (0, 1)"),
        (("--recall", 0.9, "--alpha-interval", "0.1,0.2"), "without --false-alarms or --precision"),
        (("--precision", 0.8, "--alpha-interval", "0.3"), "expected two shares LOW,HIGH in [0, 1)"),
        (("--precision", 0.8, "--alpha-interval", "0.5,0.2"), "the lower one first"),
        (("--precision", 0.8, "--alpha-interval", "nan,0.2"), "the lower one first"),
        (("--withhold", 0.5), "--withhold: got 0.5 without --recall, --false-alarms or --precision"),
        (("--recall", 0.99, "--confidence", 0.95), "needs at least 299 withheld positives, and 40 were withheld"),
    ],
)
def test_a_rule_that_makes_no_threshold_is_refused(words: tuple[object, ...], said: str, files: Path) -> None:
    refused(puoc("fit", *WORDS, "--out", "model", *words), said)
    assert not Path("model").exists()


def test_rows_without_u_have_no_bound_of_false_alarms(files: Path) -> None:
    words = ("--method", "oc_svm", "--positives", "p.csv", "--out", "model", "--false-alarms", 0.1)
    refused(puoc("fit", *words, "--alpha-interval", "0,0.5"), "for --false-alarms and --precision")


def test_decisions_of_a_model_without_a_threshold_are_refused_before_anything_is_scored(files: Path) -> None:
    fitted()
    refused(puoc("score", "--model", "model", "u.csv", "--decide"), "--decide: model has no threshold")
    refused(puoc("score", "--model", "p.csv", "u.csv", "--decide"), "not a model file")
