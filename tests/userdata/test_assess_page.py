"""Terminal, JSON and page of an assessment give the same answer, bounds, odds and reasons."""

from __future__ import annotations

import html
import re

import pytest

from puoc.userdata.assess.decision import Assessment, decide
from puoc.userdata.assess.evidence import Alpha, Evidence, Gained, Incoming
from puoc.userdata.assess.page import page
from puoc.userdata.assess.reasons import signed, to_one


def evidence(gains: tuple[float, float], error: float, alpha: tuple[float, float], new: bool | None = None) -> Evidence:
    """Gains of OC and PU over PU-OC, and the ends of the interval of alpha."""
    gained = tuple(
        Gained(family=family, auc=0.7, gain=gain, low=gain - 2 * error, high=gain + 2 * error, error=error)
        for family, gain in zip(("OC", "PU-OC", "PU"), (gains[0], 0.0, gains[1]), strict=True)
    )
    later = None
    if new is not None:
        later = Incoming(
            n=300,
            p_new=0.001 if new else 0.5,
            new_negatives=new,
            ratio=1.0,
            ratio_low=0.9,
            ratio_high=1.1,
            alpha_changed=False,
            alpha_low=alpha[0],
            alpha_high=alpha[1],
            gained=gained,
        )
    return Evidence(
        n_p=200,
        n_u=500,
        columns=6,
        notes=(),
        alpha=Alpha(low=alpha[0], high=alpha[1], p_no_negatives=0.01, p_order=0.5),
        gained=gained,
        incoming=later,
    )


CASES = {
    "an answer": evidence((-0.2, 0.08), 0.005, (0.2, 0.35)),
    "no answer": evidence((0.0, 0.0), 0.03, (0.5, 0.8)),
    "no negatives": evidence((0.01, 0.0), 0.02, (0.6, 1.0)),
    "new negatives": evidence((0.1, -0.05), 0.01, (0.2, 0.6), True),
}


@pytest.fixture(params=CASES)
def found(request: pytest.FixtureRequest) -> Assessment:
    return decide(CASES[request.param])


def words(found: Assessment) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page(found, {}, [], []))).split())


def test_the_page_has_each_line_of_the_answer(found: Assessment) -> None:
    shown = words(found)
    for line in (found.verdict, *found.reasons, *found.outside, *found.more_data):
        assert " ".join(line.split()) in shown
    if found.answer == "cannot tell":
        assert f"Cannot tell which family is best: use {found.advice} until this is known" in shown
    else:
        assert f"Use {found.answer} " in shown


def test_the_bounds_of_alpha_have_the_same_names_and_numbers_everywhere(found: Assessment) -> None:
    bounds, shown, told = found.alpha_bounds, words(found), str(found)
    assert "95 % interval of alpha" not in shown
    assert (bounds.guaranteed_high, bounds.assumed_low) == (found.evidence.alpha.high, found.evidence.alpha.low)
    estimated = f"{100 * bounds.estimated_low:.1f} % to {100 * bounds.estimated_high:.1f} %"
    assumed = f"at least {100 * bounds.assumed_low:.1f} %"
    assert f"estimated: U holds {estimated} positives" in told
    assert f"under an assumption: U holds {assumed} positives" in told
    assert f"estimated {estimated} 95 %" in shown
    assert f"under an assumption {assumed} 97.5 %" in shown
    if bounds.guaranteed_high < 1:
        assert f"guaranteed: U holds at most {100 * bounds.guaranteed_high:.1f} % positives" in told
        assert f"guaranteed at most {100 * bounds.guaranteed_high:.1f} % 97.5 %" in shown
    else:
        assert "guaranteed: nothing" in told
        assert "guaranteed none: U may hold no negatives" in shown


def test_the_page_shows_the_standings_that_the_json_has(found: Assessment) -> None:
    shown = words(found)
    for one in found.worth:
        assert (
            f"{one.family} {signed(one.lead)} ± {one.spread:.3f} {one.loss:.3f} "
            f"{100 * one.best:.0f} % {100 * one.worst:.0f} %"
        ) in shown
    for kind in found.by_kind:
        assert f"{kind.answer} {kind.first} {to_one(kind.probability)} over {kind.second}" in shown


def test_no_answer_says_what_is_lacking_and_an_answer_lacks_nothing(found: Assessment) -> None:
    lacking = [line for line in found.reasons if "is not sure enough for an answer" in line]
    assert len(lacking) == (found.answer == "cannot tell")


def test_figures_of_the_rule_before_are_not_printed(found: Assessment) -> None:
    """The robustness map was the rule before: the answer does not use it."""
    assert "robustness map" not in (str(found) + words(found)).lower()
    assert not re.search(r"-0\.000", str(found))


def test_odds_are_whole_to_one_on_the_likelier_side() -> None:
    assert [to_one(chance) for chance in (0.5, 0.7, 0.3, 1.0, 0.0)] == [
        "1.0 to 1",
        "2.3 to 1",
        "1 to 2.3",
        "100 to 1 or more",
        "1 to 100 or more",
    ]
    assert [signed(value) for value in (-0.0004, 0.0, -0.0006)] == ["0.000", "0.000", "-0.001"]


@pytest.mark.parametrize(("alpha_low", "preferred"), [(0.4, True), (0.9, False)])
def test_a_family_that_does_not_have_the_smallest_loss_comes_first_with_a_reason(
    alpha_low: float, preferred: bool
) -> None:
    found = decide(evidence((-0.03, 0.0), 0.04, (alpha_low, 1.0)))
    least = min(found.worth, key=lambda one: one.loss)
    assert (found.first, least.family != "OC") == ("OC", preferred)
    assert (", but U may hold no negatives (expected lead" in found.verdict) == preferred
    reason = "OC comes first because U may hold no negatives at all, and its expected loss is at most 0.01 above the"
    assert any(line.startswith(reason) for line in found.reasons) == preferred
