"""Draws of P by a propensity, out of a single training set and with negatives: exact, paired, apart by content."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from test_draws import all_rows, data, kinds, sample, seeds

from puoc.datasets.declare.dataset import Arrays
from puoc.datasets.prepare.arrays import Prepared
from puoc.digests import draw_digest, labelled_draw_digest
from puoc.records import Labelling, Sample, TestSet
from puoc.scenarios import LabelledDraw, draw
from puoc.scenarios.drawing import draws
from puoc.scenarios.drawing.propensity import log_odds_of, log_propensities

MECHANISMS = {
    "clear": Labelling(sar="clear_first", strength=10),
    "ambiguous": Labelling(sar="ambiguous_first", strength=10),
    "linear": Labelling(sar="linear", feature=1, strength=0.9),
    "by class": Labelling(sar="by_class", classes=(0,), strength=0.5),
    "never": Labelling(sar="by_class", classes=(0,), strength=1),
    "scar": None,
}
SETTINGS = (None, "single_training_set")


def labelled(prepared: Prepared, **changed: object) -> Sample:
    return sample(prepared, **({"n_pos_lab": 10, "n_pos_unl": 15, "n_neg_unl": 25} | changed))


@cache
def clouds() -> Prepared:
    """Two classes of positives and one of negatives in three columns, 400 rows each, which overlap."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.3, 0.3, 0.5], [0.5, 0.3, 0.5], [0.5, 0.5, 0.5]])
    y = np.arange(1200) % 3
    X = (centres[y] + 0.1 * rng.normal(size=(1200, 3))).astype(np.float32)
    return Prepared.of(Arrays(X, y), name="clouds", inputs="vector", classes=("a", "b", "c"))


@cache
def clashing() -> Prepared:
    """400 rows of four classes: half of the contents are in two, three or all classes."""
    rng = np.random.default_rng(1)
    y = np.arange(400) % 4
    content = np.where(rng.random(400) < 0.5, np.arange(400) // 8, np.arange(400))
    X = np.stack([content // 256, content % 256], axis=1).astype(np.uint8)
    return Prepared.of(Arrays(X, y), name="clashing", inputs="vector", classes=tuple("abcd"), scale=255.0)


def of_clouds(**changed: object) -> Sample:
    prepared = clouds()
    asked = {"pos": (0, 1), "neg": (2,), "n_pos_lab": 40, "n_pos_unl": 60, "n_neg_unl": 60} | changed
    return Sample(dataset=prepared.name, data_digest=prepared.digest, **asked)  # type: ignore[arg-type]


def log_odds(prepared: Prepared, rows: np.ndarray) -> np.ndarray:
    """Log odds of rows by a model of all rows, which stands for the truth."""
    X = prepared.X.astype(float)
    return log_odds_of(X[prepared.y != 2], X[prepared.y == 2], X[rows])


@settings(max_examples=60, deadline=None)
@example("standard with duplicates", 60, "never", "single_training_set", None, 0.0)  # one content in two classes
@given(
    kinds,
    seeds,
    st.sampled_from([*MECHANISMS]),
    st.sampled_from(SETTINGS),
    st.sampled_from([None, 3]),
    st.sampled_from([0.0, 0.2]),
)
def test_every_draw_is_exact_and_apart_by_content(kind, seed, mechanism, setting, n_noise, holdout):
    prepared = data(kind)
    labelling = MECHANISMS[mechanism]
    asked = labelled(prepared, labelling=labelling, setting=setting, n_noise=n_noise, holdout=holdout)
    if asked.is_plain:
        return
    refused = ""
    try:
        drawn = draw(prepared, asked, seed)
    except ValueError as error:  # rare: repeats leave too little
        refused = str(error)
    if refused:
        assert "duplicates" in kind or mechanism == "never"
        assert any(part in refused for part in ("repeat a kept row", "equal content", "can be labelled", "are left"))
        return
    assert isinstance(drawn, LabelledDraw)
    n = [draws.count_of(holdout, part) for part in (10 - (n_noise or 0), n_noise or 0, 15, 25)]
    assert len(drawn.p) == 10 - n[0] - n[1]
    assert int((~drawn.y_p).sum()) == (n_noise or 0) - n[1]
    assert (int(drawn.y_u.sum()), int((~drawn.y_u).sum())) == (15 - n[2], 25 - n[3])
    assert drawn.y_p.tolist() == np.isin(prepared.y[drawn.p], (0, 1)).tolist()
    assert drawn.y_u.tolist() == np.isin(prepared.y[drawn.u], (0, 1)).tolist()
    assert np.isnan(drawn.propensity).tolist() == (~drawn.y_p).tolist() or labelling is None
    test, _ = draws.test_rows(prepared, TestSet(pos=(0, 1), neg=(2, 3, 4)), seed)
    contents = [set(prepared.group[rows]) for rows in (drawn.p, drawn.u, drawn.p_held, drawn.u_held, test)]
    assert sum(map(len, contents)) == len(set().union(*contents))
    assert len(np.unique(all_rows(drawn))) == len(all_rows(drawn))
    if mechanism == "never":
        assert 0 not in prepared.y[drawn.p[drawn.y_p]]


@pytest.mark.parametrize("mechanism", ["ambiguous", "linear", "scar"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_rows_of_one_content_in_several_classes_are_on_one_side(mechanism, setting, monkeypatch):
    from puoc.scenarios.drawing import labelled_draws

    fitted: list[np.ndarray] = []

    def noted(labelling, prepared, rows, known, positives):
        fitted[:] = known
        return log_propensities(labelling, prepared, rows, known, positives)

    monkeypatch.setattr(labelled_draws, "log_propensities", noted)
    prepared, n_drawn = clashing(), 0
    for seed in range(25):
        asked = labelled(prepared, labelling=MECHANISMS[mechanism], setting=setting, n_noise=4)
        try:
            drawn = draw(prepared, asked, seed)
        except ValueError:  # repeats leave too little
            continue
        n_drawn += 1
        assert len(set(drawn.p)) == 10
        test, _ = draws.test_rows(prepared, TestSet(pos=(0, 1), neg=(2, 3)), seed)
        sides = [drawn.p[drawn.y_p], drawn.p[~drawn.y_p], drawn.u, test, np.concatenate(fitted).astype(int)]
        contents = [set(prepared.group[rows]) for rows in sides]
        assert sum(map(len, contents)) == len(set().union(*contents))
    assert n_drawn >= 20


@settings(max_examples=20, deadline=None)
@given(kinds, seeds)
def test_cells_of_a_sweep_have_one_u_and_differ_in_p_alone(kind, seed):
    prepared = data(kind)
    scar = draw(prepared, labelled(prepared), seed)
    for labelling in MECHANISMS.values():
        for n_noise in (None, 2):
            other = draw(prepared, labelled(prepared, labelling=labelling, n_noise=n_noise), seed)
            assert other.u.tolist() == scar.u.tolist()
            assert other.y_u.tolist() == scar.y_u.tolist()


@settings(max_examples=20, deadline=None)
@given(kinds, seeds, st.sampled_from([*MECHANISMS]), st.sampled_from(SETTINGS))
def test_more_noise_replaces_positives_and_keeps_the_negatives_of_less_noise(kind, seed, mechanism, setting):
    if setting and "duplicates" in kind:  # a content whose rows do not fit is passed over
        return
    prepared, found = data(kind), []
    for n_noise in (1, 4):
        asked = labelled(
            prepared,
            labelling=MECHANISMS[mechanism],
            setting=setting,
            n_noise=n_noise,
            n_pos_unl=15 + n_noise * bool(setting),  # so that the single training set is one
            n_neg_unl=25 - n_noise * bool(setting),
        )
        found.append(draw(prepared, asked, seed))
    less, more = found
    assert set(more.p[more.y_p]) < set(less.p[less.y_p])
    assert set(less.p[~less.y_p]) < set(more.p[~more.y_p])


def test_noise_under_scar_replaces_rows_of_the_clean_p():
    prepared = data("unique")
    clean, noisy = (draw(prepared, labelled(prepared, n_noise=n), 3) for n in (None, 4))
    assert set(noisy.p[noisy.y_p]) == set(clean.p[:6])
    assert not np.isin(prepared.y[noisy.p[~noisy.y_p]], (0, 1)).any()


def test_one_sample_is_the_union_of_p_and_u_in_a_single_training_set():
    beside = draw(clouds(), of_clouds(), 5)
    for labelling in (None, MECHANISMS["clear"], MECHANISMS["by class"]):
        asked = of_clouds(labelling=labelling, setting="single_training_set", n_pos_unl=20)
        drawn = draw(clouds(), asked, 5)
        assert set(drawn.p) | set(drawn.u) == set(beside.u)
        assert len(drawn.u) == 80


def test_the_order_of_p_and_u_tells_no_class():
    prepared = data("unique")
    for setting in SETTINGS:
        drawn = [draw(prepared, labelled(prepared, setting=setting, n_noise=4), seed) for seed in range(100)]
        assert abs(np.mean([np.flatnonzero(one.y_p).mean() for one in drawn]) - 4.5) < 0.3  # sd of the mean .07
        assert abs(np.mean([np.flatnonzero(one.y_u).mean() for one in drawn]) - 19.5) < 0.8


def test_a_row_is_drawn_in_proportion_to_its_propensity():
    """One labelled row of two classes of equal size, one of which has a quarter of the propensity: 1 of 5."""
    prepared = clouds()
    quarter = Labelling(sar="by_class", classes=(0,), strength=0.75)
    rare = [
        prepared.y[draw(prepared, of_clouds(n_pos_lab=1, labelling=quarter), seed).p[0]] == 0 for seed in range(200)
    ]
    assert 0.1 < np.mean(rare) < 0.3  # sd .028


def test_rows_that_are_drawn_are_scarcer_the_more_are_drawn():
    """Without replacement: of 20 rows of which 10 have a tenth of the propensity, all are drawn if 20 are wanted."""
    prepared = clouds()
    tenth = Labelling(sar="by_class", classes=(0,), strength=0.9)
    shares = [np.mean(prepared.y[draw(prepared, of_clouds(n_pos_lab=n, labelling=tenth), 1).p] == 0) for n in (20, 500)]
    assert shares[0] < 0.25
    assert shares[1] > 0.35


def test_clear_and_ambiguous_positives_come_first_where_they_should():
    prepared, seeds_ = clouds(), range(5)
    means = {}
    for name in ("clear", "scar", "ambiguous"):
        found = [draw(prepared, of_clouds(labelling=MECHANISMS[name]), seed).p for seed in seeds_]
        means[name] = log_odds(prepared, np.concatenate(found)).mean()
    assert means["clear"] > means["scar"] + 0.5
    assert means["ambiguous"] < means["scar"] - 0.5


def test_a_linear_propensity_prefers_large_values_of_its_feature():
    prepared = clouds()
    linear = Labelling(sar="linear", feature=2, strength=0.99)
    by = [draw(prepared, of_clouds(labelling=one), seed).p for one in (linear, None) for seed in range(5)]
    assert prepared.X[np.concatenate(by[:5]), 2].mean() > prepared.X[np.concatenate(by[5:]), 2].mean() + 0.01


def test_the_formulas_of_the_propensities():
    prepared, rows = clouds(), np.array([0, 1, 3, 4])
    known = np.flatnonzero(prepared.y != 2)[100:300], np.flatnonzero(prepared.y == 2)[100:300]
    positives = np.flatnonzero(prepared.y != 2)
    X = prepared.X.astype(float)
    p = 1 / (1 + np.exp(-log_odds_of(X[known[0]], X[known[1]], X[rows])))

    def e(labelling: Labelling) -> np.ndarray:
        return np.exp(log_propensities(labelling, prepared, rows, known, positives))

    assert e(Labelling(sar="clear_first", strength=3)) == pytest.approx(p**3)
    assert e(MECHANISMS["ambiguous"]) == pytest.approx((1.5 - p) ** 10)
    assert e(MECHANISMS["never"]).tolist() == [0, 1, 0, 1]
    assert e(MECHANISMS["by class"]).tolist() == [0.5, 1, 0.5, 1]
    column = X[positives, 1]
    z = (X[rows, 1] - column.min()) / (column.max() - column.min())
    assert e(MECHANISMS["linear"]) == pytest.approx(0.1 + 0.9 * z)


@pytest.mark.parametrize("d", [3, 500])
def test_the_model_of_true_labels_is_the_logistic_regression_of_scikit_learn(d):
    rng = np.random.default_rng(1)
    X_pos, X_neg, X = (rng.normal(size=(n, d)) + shift for n, shift in ((60, 0.3), (60, 0), (30, 0)))
    both = np.concatenate([X_pos, X_neg])
    centre, spread = both.mean(axis=0), both.std(axis=0)
    oracle = LogisticRegression(C=1.0, tol=1e-12, max_iter=10_000)
    oracle.fit((both - centre) / spread, np.arange(120) < 60)
    expected = oracle.decision_function((X - centre) / spread)
    assert log_odds_of(X_pos, X_neg, X) == pytest.approx(expected, abs=1e-5)


def test_the_model_is_fitted_on_rows_that_are_in_neither_p_nor_u(monkeypatch):
    from puoc.scenarios.drawing import labelled_draws

    seen: list[np.ndarray] = []

    def spy(labelling, prepared, rows, known, positives):  # the arguments, not a result
        seen.extend(known)
        return log_propensities(labelling, prepared, rows, known, positives)

    monkeypatch.setattr(labelled_draws, "log_propensities", spy)
    for kind in ("unique", "standard with duplicates"):
        prepared = data(kind)
        for setting in SETTINGS:
            seen.clear()
            asked = labelled(prepared, labelling=MECHANISMS["clear"], setting=setting, n_noise=2)
            drawn = draw(prepared, asked, 4)
            known = np.concatenate(seen)
            assert len(known) >= 40
            assert not np.isin(prepared.group[known], prepared.group[all_rows(drawn)]).any()
            assert set(known) <= set(draws.split_rows(prepared, 4).train)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"labelling": MECHANISMS["never"], "n_pos_lab": 46},
            r"by_class 0 1 leaves 4\d positives that can be labelled",
        ),
        ({"labelling": MECHANISMS["clear"], "n_pos_unl": 70}, "are left; expected at least 20"),
        ({"labelling": MECHANISMS["clear"], "n_neg_unl": 90}, "and 6 of each class are left; expected at least 20"),
        ({"n_noise": 8, "n_neg_unl": 90}, "8 negatives wanted in P, 6 available in train beside U"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_what_is_there(changed, message):
    prepared = data("unique")
    with pytest.raises(ValueError, match=message):
        draw(prepared, labelled(prepared, **changed), 1)


def test_a_feature_of_one_value_is_refused():
    prepared = data("standard")
    with pytest.raises(ValueError, match=r"feature 0 is 0 in all 80 training positives.*expected a feature"):
        draw(prepared, labelled(prepared, labelling=Labelling(sar="linear", feature=0, strength=0.5)), 0)


def test_known_rows():
    """Draws must not move with versions of numpy or of this code: results depend on them."""
    prepared = data("duplicates")
    asked = labelled(prepared, labelling=MECHANISMS["ambiguous"], n_pos_lab=6, n_pos_unl=3, n_neg_unl=4, n_noise=2)
    drawn = draw(prepared, asked, 7)
    assert drawn.p.tolist() == [255, 295, 270, 118, 152, 265]
    assert drawn.u.tolist() == [77, 147, 7, 190, 233, 191, 215]
    single = draw(prepared, asked.model_copy(update={"setting": "single_training_set"}), 7)
    assert single.p.tolist() == [191, 215, 245, 233, 197, 175]


def test_the_code_of_labelled_draws_belongs_to_labelled_samples_alone():
    assert draw_digest("puoc.datasets.digits:Digits") != labelled_draw_digest("puoc.datasets.digits:Digits")
