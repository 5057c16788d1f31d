"""Pictures of the page of an assessment have the numbers of the assessment."""

from __future__ import annotations

import html
import re
from itertools import pairwise

import numpy as np
import pytest
from test_assess_page import CASES, evidence

from puoc.analysis.reliability.alpha import share_of_negatives
from puoc.analysis.reliability.robustness_map import packaged
from puoc.userdata.assess.cross_scores import CrossFitScores, Half, crossed
from puoc.userdata.assess.decision import Assessment, decide
from puoc.userdata.assess.evidence import BY, LEVEL, gather
from puoc.userdata.assess.input_rows import checked
from puoc.userdata.assess.page import page
from puoc.userdata.assess.reference_methods import FAMILIES
from puoc.userdata.assess.score_counts import BINS, count_scores, decisive

LEVEL_OF_EACH = (1 + LEVEL) / 2


def scored(n_p: int = 60, n_u: int = 200, n_v: int = 0, alpha: float = 0.3, seed: int = 0) -> CrossFitScores:
    """Scores as of two halves: PU separates the classes better than OC does."""
    rng = np.random.default_rng(seed)
    halves = []
    for part in range(2):
        truth_u = rng.random(n_u // 2 + part * (n_u % 2)) < alpha
        truth_v = rng.random(n_v) < alpha
        apart = {"OC": 1.0, "PU-OC": 2.0, "PU": 3.0}
        halves.append(
            Half(
                p={family: rng.normal(apart[family], 1, n_p // 2) for family in FAMILIES},
                u={family: rng.normal(apart[family] * truth_u) for family in FAMILIES},
                v={family: rng.normal(apart[family] * truth_v) for family in FAMILIES} if n_v else {},
                place_p=np.arange(n_p // 2),
            )
        )
    return CrossFitScores(halves)


def assessed(scores: CrossFitScores, alpha: tuple[float, float] = (0.2, 0.35), n_u: int = 500) -> Assessment:
    found = evidence((-0.2, 0.08), 0.005, alpha)
    return decide(found.model_copy(update={"scores": count_scores(scores, "PU"), "n_u": n_u}))


def shown(found: Assessment) -> str:
    return page(found, {}, [], [])


def picture(text: str, name: str) -> str:
    found = re.search(rf'<figure class="picture" id="picture-{name}">.*?</figure>', text, re.DOTALL)
    assert found is not None
    return found[0]


def bars(figure: str, key: str) -> np.ndarray:
    """Heights (bins,) of the bars of a group by bin; without a bar, 0."""
    heights = np.zeros(BINS)
    for x, height in re.findall(
        rf'<rect class="score-{key}" x="([\d.]+)" y="[\d.]+" width="[\d.]+" height="([\d.]+)"', figure
    ):
        heights[round((float(x) - 8) / 344 * BINS)] = float(height)
    return heights


def table_columns(figure: str) -> list[list[int]]:
    rows = [
        re.findall(r'<td class="num">([\d,.]+)</td>', row) for row in re.findall(r"<tr>.*?</tr>", figure, re.DOTALL)
    ]
    return [list(map(int, column)) for column in zip(*(row for row in rows if row), strict=True)]


@pytest.mark.parametrize(("n_u", "n_v"), [(200, 301), (200, 0), (20, 0)], ids=["with V", "without V", "tiny U"])
def test_the_bars_are_the_histograms_of_the_scores(n_u: int, n_v: int) -> None:
    scores = scored(n_u=n_u, n_v=n_v)
    found = assessed(scores)
    counted = found.evidence.scores
    assert counted is not None
    edges = np.array(counted.edges)
    groups = {
        "p": np.concatenate([half.p["PU"] for half in scores.halves]),
        "u": np.concatenate([half.u["PU"] for half in scores.halves]),
    }
    if n_v:
        first, second = (half.v["PU"] for half in scores.halves)
        groups["v"] = np.where(np.arange(n_v) % 2 == 0, first, second)
    figure = picture(shown(found), "scores")
    assert set(re.findall(r'class="score-(\w)"', figure)) == set(groups)
    assert (counted.v is not None) == bool(n_v)
    expected = {}
    for key, of in groups.items():
        within = (of[:, None] >= edges[:-1]) & (of[:, None] < edges[1:])
        expected[key] = within.sum(axis=0)
        expected[key][0] += (of < edges[0]).sum()
        expected[key][-1] += (of >= edges[-1]).sum()
        assert expected[key].sum() == len(of)
        # the ends leave out little of a group
        assert ((of < edges[0]) | (of > edges[-1])).mean() <= 0.01 + 2 / len(of)
    shares = {key: counts / counts.sum() for key, counts in expected.items()}
    top = max(share.max() for share in shares.values())
    for key, share in shares.items():
        np.testing.assert_allclose(bars(figure, key), 58 * share / top, atol=0.006)
    assert table_columns(figure) == [counts.tolist() for counts in expected.values()]
    title = html.unescape(re.findall(r"<title[^>]*>(.*?)</title>", figure)[0])
    assert all(f"{len(of)} " in title for of in groups.values())


def test_the_outlines_in_u_are_the_histogram_of_p_at_both_ends_of_alpha() -> None:
    found = assessed(scored())
    bounds, counted = found.alpha_bounds, found.evidence.scores
    assert counted is not None
    assert bounds.estimated_low < bounds.estimated_high
    figure = picture(shown(found), "scores")
    of_p = np.array(counted.p) / sum(counted.p)
    top = max(max(counts) / sum(counts) for counts in (counted.p, counted.u))
    for look, share in (("low", bounds.estimated_low), ("high", bounds.estimated_high)):
        [path] = re.findall(rf'<path class="outline outline-{look}" d="(.*?)"', figure)
        *tops, base = (float(y) for y in re.findall(r"V([\d.]+)", path))
        np.testing.assert_allclose([base - y for y in tops], share * of_p * 58 / top, atol=0.051)


def test_the_scorer_is_the_one_that_the_guaranteed_bound_rests_on() -> None:
    scores = scored()
    swapped = CrossFitScores(
        [
            half._replace(
                p={**half.p, "PU": half.p["OC"], "OC": half.p["PU"]},
                u={**half.u, "PU": half.u["OC"], "OC": half.u["PU"]},
            )
            for half in scores.halves
        ]
    )
    for of, expected in ((scores, "PU"), (swapped, "OC")):
        low = {
            family: share_of_negatives([(half.p[family], half.u[family]) for half in of.halves], LEVEL_OF_EACH).low
            for family in BY
        }
        assert len(set(low.values())) == 2
        assert decisive(of, BY, LEVEL_OF_EACH) == max(low, key=lambda family: low[family]) == expected


@pytest.mark.slow
def test_an_assessment_counts_the_scores_of_its_own_models() -> None:
    rng = np.random.default_rng(0)
    X_p, X_u, X_v = (rng.normal(mean, 1, (n, 2)) for mean, n in ((2.0, 24), (0.0, 31), (0.0, 25)))
    counted = gather(X_p, X_u, X_v, 0).scores
    assert counted is not None
    assert (sum(counted.p), sum(counted.u), sum(counted.v or ())) == (24, 31, 25)
    scores = crossed(checked(X_p, X_u, X_v, 0), 0)
    of_u = np.concatenate([half.u[family] for half in scores.halves for family in FAMILIES if family == counted.family])
    middle = counted.edges[BINS // 2]
    assert sum(counted.u[: BINS // 2]) == (of_u < middle).sum()


def test_scores_that_are_all_equal_are_counted() -> None:
    halves = [
        half._replace(p={"PU": np.zeros(30)}, u={"PU": np.zeros(50)}, v={}) for half in scored(n_p=60, n_u=100).halves
    ]
    counted = count_scores(CrossFitScores(halves), "PU")
    assert all(low < high for low, high in pairwise(counted.edges))
    assert (sum(counted.p), sum(counted.u), counted.v) == (60, 100, None)


def test_an_evidence_without_scores_has_the_other_pictures() -> None:
    text = shown(decide(CASES["an answer"]))
    assert re.findall(r'id="picture-(\w+)"', text) == ["alpha", "families", "map"]


@pytest.mark.parametrize("case", CASES)
def test_the_bars_of_alpha_and_of_the_families_are_the_intervals(case: str) -> None:
    found = decide(CASES[case])
    text, bounds = shown(found), found.alpha_bounds
    drawn = {
        name: ((float(x) - 8) / 344, (float(end) - 8) / 344)
        for name, x, end in re.findall(r'data-bound="(.*?)" x1="([\d.]+)" x2="([\d.]+)"', picture(text, "alpha"))
    }
    assert drawn["estimated"] == pytest.approx((bounds.estimated_low, bounds.estimated_high), abs=3e-4)
    assert drawn["guaranteed"] == pytest.approx((0, bounds.guaranteed_high), abs=3e-4)
    assert drawn["under an assumption"] == pytest.approx((bounds.assumed_low, 1), abs=3e-4)
    figure = picture(text, "families")
    spans = {
        family: (float(x), float(end))
        for family, x, end in re.findall(r'data-family="(.*?)" x1="([\d.]+)" x2="([\d.]+)"', figure)
    }
    assert list(spans) == list(FAMILIES)
    # one scale for all of them, and 0 is PU-OC
    wanted = {one.family: np.array([one.lead - one.spread, one.lead + one.spread]) for one in found.worth}
    lowest, highest = (pick([pick(ends) for ends in wanted.values()]) for pick in (min, max))
    scale = (352 - 8 - 12) / max(highest - lowest, 0.01)
    for family, (x, end) in spans.items():
        assert (x, end) == pytest.approx(tuple(spans["PU-OC"][0] + scale * wanted[family]), abs=0.11)
    [chosen] = re.findall(r'<g class="([\w-]+) chosen">', figure)
    assert chosen == found.advice.lower()
    assert ("until more is known" in figure) == (found.answer == "cannot tell")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_u", [20, 500, 5000])
def test_the_place_of_the_rows_is_their_interval_and_number_among_all_measured_situations(case: str, n_u: int) -> None:
    found = decide(CASES[case].model_copy(update={"n_u": n_u}))
    figure, bounds = picture(shown(found), "map"), found.alpha_bounds
    [(x, y, end)] = re.findall(r'<path class="here" d="M([\d.]+) ([\d.]+)H([\d.]+)M', figure)
    across = [(float(value) - 48) / (340 - 48) for value in (x, end)]
    assert across == pytest.approx([bounds.estimated_low, bounds.estimated_high], abs=3e-4)
    table = packaged()
    table = table[table["shift"] == ("new" if case == "new negatives" else "none")]
    places = re.findall(r'<g class="place ([\w-]+)( close)?" transform="translate\(([\d.]+) ([\d.]+)\)">', figure)
    assert len(places) == len(table) == 15
    for (won, close, at_x, at_y), (_, row) in zip(places, table.iterrows(), strict=True):
        aucs = {family: row[f"{family}_auc"] for family in FAMILIES}
        best = max(aucs, key=lambda family: aucs[family])
        assert won == best.lower()
        assert bool(close) == (aucs[best] - sorted(aucs.values())[-2] < 0.01)
        assert (float(at_x) - 48) / 292 == pytest.approx(row["alpha"], abs=3e-4)
        # as far above the user's rows as the logarithm says, by the distance of 50 and 5,000
        low, high = (
            next(float(one[3]) for one, n in zip(places, table["n_u"], strict=True) if n == size) for size in (50, 5000)
        )
        assert float(y) - float(at_y) == pytest.approx((low - high) * np.log10(row["n_u"] / n_u) / 2, abs=0.2)


def test_each_picture_has_a_text_alternative_and_a_sentence() -> None:
    text = shown(assessed(scored(n_v=50)))
    figures = re.findall(r'<figure class="picture".*?</figure>', text, re.DOTALL)
    assert len(figures) == 4
    for figure in figures:
        [label] = re.findall(r'<svg viewBox="0 0 360 [\d.]+" role="img" aria-labelledby="([\w-]+)">', figure)
        [(named, title)] = re.findall(r'<title id="([\w-]+)">(.*?)</title>', figure)
        assert named == label
        assert re.search(r"\d", title)
        assert re.search(r"<figcaption>[A-Z].*\.</figcaption>", figure)
    assert len(set(re.findall(r' id="([\w-]+)"', text))) == len(re.findall(r' id="([\w-]+)"', text))
