"""TIcE: subsets and bounds by hand, the same estimate by plain counting, and the bias of its settings."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from puoc.methods.priors import make, normalise
from puoc.methods.priors.tice import Part, TIcE, automatic_delta
from puoc.methods.training.estimator import PUSample

GROWTH: dict[str, Any] = {"folds": 5, "splits": 3, "max_splits": 500, "min_size": 10, "iterations": 2}
CORRECT: dict[str, Any] = {**GROWTH, "scaling": "minmax", "k": 5.0}
SETTINGS: dict[str, dict[str, Any]] = {
    "minmax, k 5, automatic": CORRECT,
    "minmax, k 1, .3": {**GROWTH, "scaling": "minmax", "k": 1.0, "delta": 0.3},
    "as they are, k 3, .2": {**GROWTH, "scaling": "none", "k": 3.0, "delta": 0.2},
    "as they are, k 1, .3": {**GROWTH, "scaling": "none", "k": 1.0, "delta": 0.3},
}
ALPHAS = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Means over three samples may lie here. The first setting errs towards 1, those of the released code towards 0.
EXPECTED = {
    "minmax, k 5, automatic": ((0.05, 0.12), (0.29, 0.40), (0.55, 0.72), (0.80, 0.97), (0.96, 1.00)),
    "minmax, k 1, .3": ((0.03, 0.08), (0.12, 0.24), (0.28, 0.44), (0.40, 0.58), (0.46, 0.68)),
    "as they are, k 3, .2": ((0.03, 0.09), (0.16, 0.27), (0.33, 0.48), (0.52, 0.67), (0.67, 0.83)),
    "as they are, k 1, .3": ((0.03, 0.08), (0.12, 0.23), (0.25, 0.40), (0.42, 0.60), (0.50, 0.66)),
}


def tice(**changed: Any) -> TIcE:
    made = make("tice", CORRECT | changed)
    assert isinstance(made, TIcE)
    return made


def features(alpha: float, seed: int, d: int = 16, n_p: int = 1500, n_u: int = 3000) -> PUSample:
    """Two Gaussians at a distance of 8 through a random layer and an ELU, as an autoencoder's code is."""
    rng = np.random.default_rng([seed, 1])
    layer, centre = rng.normal(0, 1.5 / np.sqrt(d), (d, d)), rng.normal(size=d)
    centre *= 4 / np.linalg.norm(centre)

    def draw(n: int, sign: int) -> NDArray[np.float32]:
        h = (rng.normal(size=(n, d)) + sign * centre) @ layer
        return np.where(h > 0, h, np.expm1(h)).astype(np.float32)

    n_pos = round(alpha * n_u)
    return PUSample(draw(n_p, 1), np.concatenate([draw(n_pos, 1), draw(n_u - n_pos, -1)]), None, seed)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_bias_of_a_setting_is_as_known(setting: str) -> None:
    estimator = make("tice", SETTINGS[setting])
    means = [np.mean([estimator.estimate(features(alpha, seed)) for seed in range(3)]) for alpha in ALPHAS]
    for mean, (low, high) in zip(means, EXPECTED[setting], strict=True):
        assert low <= mean <= high, (setting, means)


def test_the_released_settings_miss_a_high_class_prior_and_the_others_do_not() -> None:
    s = features(0.95, 5)
    estimates = {setting: make("tice", params).estimate(s) for setting, params in SETTINGS.items()}
    assert estimates.pop("minmax, k 5, automatic") > 0.95
    assert max(estimates.values()) < 0.85


def by_counting(t: TIcE, X: NDArray[Any], labelled: NDArray[Any], tree: NDArray[Any], c: float) -> float:
    """``best_bound`` row by row, with lists and no pruning by numbers of labelled rows."""
    borders = [0.0, *[(i + 1) / (t.splits + 1) for i in range(t.splits)], 1.0 + 1e-9]
    kept = [i for i in range(len(X)) if not tree[i]]
    delta = t.delta or max(0.025, 1 / (1 + 0.004 * len(kept)))

    def bound(rows: list[int]) -> float:
        share = sum(bool(labelled[i]) for i in rows) / len(rows)
        return share - float(np.sqrt(c * (1 - c) * (1 - delta) / (delta * len(rows))))

    best = sum(bool(labelled[i]) for i in kept) / len(kept)
    queue = [([i for i in range(len(X)) if tree[i]], kept, set(range(X.shape[1])))]
    for _ in range(t.max_splits):
        if not queue:
            break
        queue.sort(key=lambda subset: bound(subset[0]))
        of_tree, of_kept, available = queue.pop()

        def divided(rows: list[int], a: int) -> list[list[int]]:
            return [[i for i in rows if low <= X[i, a] < high] for low, high in pairwise(borders)]

        def quality(a: int, rows: list[int] = of_tree) -> float:
            return max(sum(bool(labelled[i]) for i in part) / (len(part) + t.k) for part in divided(rows, a) if part)

        scored = sorted((-quality(a), a) for a in available)
        if not scored or scored[0][0] == 0:
            continue
        a = scored[0][1]
        parts = list(zip(divided(of_tree, a), divided(of_kept, a), strict=True))
        best = max([best, *[bound(rows) for _, rows in parts if len(rows) >= t.min_size]])
        for rows, others in parts:
            if len(rows) > t.min_size and len({bool(labelled[i]) for i in rows}) == 2 and others:
                queue.append((rows, others, available - {a}))
    return best


@pytest.mark.parametrize(("delta", "k"), [(None, 5.0), (0.3, 1.0), (0.2, 0.0)])
def test_best_bound_is_that_of_plain_counting(delta: float | None, k: float) -> None:
    t = tice(k=k, **({} if delta is None else {"delta": delta}))
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, positive = 600, rng.random(600) < 0.6
        X = np.clip(np.where(positive[:, None], 0.65, 0.35) + rng.normal(0, 0.2, (n, 3)), 0, 1)
        labelled = positive & (rng.random(n) < 0.5)
        tree = np.arange(n) % 3 == 0
        of_tree, of_rest = (Part(t.binned(X)[rows], labelled[rows]) for rows in (tree, ~tree))
        # the plain one sees the scaled values
        scaled = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
        found.append(t.best_bound(of_tree, of_rest, 0.4))
        assert found[-1] == pytest.approx(by_counting(t, scaled, labelled, tree, 0.4), abs=1e-12)
    share = labelled[~tree].mean()
    assert delta is None or max(found) > share + 0.05  # bounds, not the labelled share, were compared


def halves(*rows: tuple[int, int, int, int]) -> Part:
    """Rows (bin of the first attribute, of the second, number labelled, number unlabelled)."""
    bins = [(a, b) for a, b, n_lab, n_unl in rows for _ in range(n_lab + n_unl)]
    labels = [i < n_lab for _, _, n_lab, n_unl in rows for i in range(n_lab + n_unl)]
    return Part(np.array(bins), np.array(labels))


def test_a_subset_is_split_unless_its_own_rows_are_pure() -> None:
    t = tice(splits=1, k=0.0, delta=0.5, min_size=1)
    # the best first split is by the first attribute; its bin 1 is worth another one by the second attribute
    estimation = halves((0, 0, 0, 100), (1, 0, 20, 80), (1, 1, 80, 0))
    after_one, after_two = 100 / 180 - np.sqrt(0.25 / 180), 1 - np.sqrt(0.25 / 80)
    # 10 rows in the whole tree are labelled and bin 1 has 10 rows: the released code takes that bin for pure
    mixed = halves((0, 1, 2, 30), (1, 0, 1, 1), (1, 1, 7, 1))
    assert mixed.labelled.sum() == (mixed.bins[:, 0] == 1).sum() == 10
    assert t.best_bound(mixed, estimation, 0.5) == pytest.approx(after_two)
    pure = halves((0, 1, 2, 30), (1, 0, 2, 0), (1, 1, 8, 0))
    assert t.best_bound(pure, estimation, 0.5) == pytest.approx(after_one)
    assert tice(splits=1, k=0.0, delta=0.5, min_size=1, max_splits=1).best_bound(mixed, estimation, 0.5) == (
        pytest.approx(after_one)
    )


def test_a_subset_is_given_up_only_where_its_labelled_rows_are_too_few_for_a_larger_bound() -> None:
    # a bound loses sqrt(.25 * 99 / rows); 80 labelled rows alone give .44, the labelled share is .29
    t = tice(splits=1, k=0.0, delta=0.01, min_size=1)
    tree = halves((0, 1, 2, 30), (1, 0, 1, 1), (1, 1, 7, 1))
    estimation = halves((0, 0, 0, 100), (1, 0, 0, 100), (1, 1, 80, 0))
    assert t.best_bound(tree, estimation, 0.5) == pytest.approx(1 - np.sqrt(0.25 * 99 / 80))


def test_the_subset_with_the_largest_bound_in_the_tree_is_split_first() -> None:
    tree = halves((0, 0, 2, 40), (0, 1, 3, 15), (1, 0, 10, 6), (1, 1, 20, 4))
    estimation = halves((0, 0, 0, 100), (0, 1, 60, 0), (1, 0, 20, 40), (1, 1, 40, 0))
    bounds = [tice(splits=1, k=0.0, delta=0.5, max_splits=n).best_bound(tree, estimation, 0.5) for n in (1, 2, 4)]
    assert bounds == pytest.approx([0.6 - np.sqrt(0.25 / 100), 1 - np.sqrt(0.25 / 40), 1 - np.sqrt(0.25 / 60)])


def test_a_larger_k_prefers_the_attribute_with_more_rows_behind_it() -> None:
    # bin 1 of the first attribute: 2 of 2 labelled; of the second: 30 of 40
    tree = halves((1, 0, 2, 0), (0, 1, 30, 10), (0, 0, 8, 50))
    estimation = halves((1, 0, 10, 40), (0, 1, 90, 10), (0, 0, 0, 50))
    bounds = {k: tice(splits=1, k=k, delta=0.5, max_splits=1).best_bound(tree, estimation, 0.5) for k in (0.0, 5.0)}
    assert bounds[5.0] == pytest.approx(0.9 - np.sqrt(0.25 / 100))
    assert bounds[0.0] == pytest.approx(90 / 150 - np.sqrt(0.25 / 150))  # the rest of the first attribute


def test_bins_are_those_of_the_scaled_or_of_the_given_values() -> None:
    X = np.array([[-1.0, 7], [0.2, 7], [0.3, 7], [3, 7]])
    assert tice(scaling="none").binned(X).T.tolist() == [[0, 0, 1, 3], [3, 3, 3, 3]]
    assert tice().binned(X).T.tolist() == [
        [0, 1, 1, 3],
        [0, 0, 0, 0],
    ]  # each 1 begins a bin


def test_automatic_delta_is_the_papers() -> None:
    assert automatic_delta(250) == pytest.approx(0.5)
    assert automatic_delta(9750) == pytest.approx(0.025)
    assert automatic_delta(100_000) == 0.025


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_the_label_frequency_is_at_least_the_labelled_share_and_alpha_follows_from_it(alpha: float) -> None:
    for seed in range(3):
        s = features(alpha, seed, d=4, n_p=203, n_u=401)
        c = tice().label_frequency(s)
        assert 203 / 604 <= c <= 1
        assert tice().estimate(s) == pytest.approx(203 * (1 - c) / (c * 401))
        assert 0 <= tice().estimate(s) <= 1


def test_where_nothing_tells_p_from_u_alpha_is_large_and_where_everything_does_small() -> None:
    rng = np.random.default_rng(0)
    constant = PUSample(np.ones((20, 3)), np.ones((30, 3)), None, 0)
    assert tice().estimate(constant) == pytest.approx(1)
    assert tice().estimate(PUSample(rng.normal(size=(500, 5)), rng.normal(size=(1000, 5)), None, 0)) > 0.8
    assert tice().estimate(PUSample(rng.normal(9, 1, (500, 5)), rng.normal(-9, 1, (1000, 5)), None, 0)) < 0.05


def test_the_seed_decides_and_a_features_unit_does_not() -> None:
    s = features(0.5, 0, d=6, n_p=300, n_u=600)
    assert tice().estimate(s) == tice().estimate(s)
    assert len({tice().estimate(s._replace(seed=seed)) for seed in range(4)}) > 1
    scale = np.array([0.5, 2, 4, 8, 64, 1024], dtype=np.float32)  # powers of two: no rounding
    assert s.X_u is not None
    assert tice().estimate(s._replace(X_p=s.X_p * scale, X_u=s.X_u * scale)) == tice().estimate(s)
    shaped = s._replace(X_p=s.X_p.reshape(-1, 1, 2, 3), X_u=s.X_u.reshape(-1, 1, 2, 3))
    assert tice().estimate(shaped) == tice().estimate(s)


def test_with_its_folds_given_the_order_of_rows_does_not_matter() -> None:
    s = features(0.5, 0, d=6, n_p=300, n_u=600)
    assert s.X_u is not None
    t, folds = tice(), np.arange(900) % 5
    pooled = Part(t.binned(np.concatenate([s.X_p, s.X_u])), np.arange(900) < 300)
    order = np.random.default_rng(0).permutation(900)
    shuffled = Part(pooled.bins[order], pooled.labelled[order])
    assert t.averaged(shuffled, folds[order]) == t.averaged(pooled, folds)
    assert t.averaged(shuffled, folds) != t.averaged(pooled, folds)


def test_the_global_generators_and_the_rows_are_left_alone() -> None:
    s, untouched = features(0.5, 0, d=4, n_p=100, n_u=200), features(0.5, 0, d=4, n_p=100, n_u=200)
    before = np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
    tice().estimate(s)
    assert np.array_equal(before, np.random.get_state(legacy=False)["state"]["key"])  # noqa: NPY002
    np.testing.assert_array_equal(s.X_p, untouched.X_p)
    np.testing.assert_array_equal(s.X_u, untouched.X_u)


def test_too_few_rows_are_refused() -> None:
    X = np.zeros((3, 2))
    for X_p, X_u in ((X[:0], X), (X, None), (X, X[:0]), (X[:1], X)):
        with pytest.raises(ValueError, match=r"tice: got .* rows; at least 1 of each and 5 together"):
            tice().estimate(PUSample(X_p, X_u, None, 0))


def test_an_automatic_delta_is_an_absent_one() -> None:
    assert normalise("tice", CORRECT) == CORRECT
    assert normalise("tice", CORRECT | {"delta": 0.2})["delta"] == 0.2
    with pytest.raises(ValueError, match="missing hyperparameter 'k'"):
        make("tice", GROWTH | {"scaling": "minmax"})
    with pytest.raises(ValueError, match=r"hyperparameter 'delta': got 1.5, expected less than 1"):
        make("tice", CORRECT | {"delta": 1.5})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_takes_little_more_memory_than_its_rows(dtype: str) -> None:
    """Of a hundred thousand images as they are, a few times the rows would be more than a machine has."""
    rng = np.random.default_rng(0)
    P, U = (rng.random((n, 1500)).astype(dtype) for n in (500, 1500))
    sample = PUSample(P, U, None, 0)
    tracemalloc.start()
    tice().estimate(sample)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    rows = P.nbytes + U.nbytes
    assert peak < 1.5 * rows + 2 * 8 * 2**22  # the rows in one piece, their bins, and what is counted at once


@pytest.mark.parametrize("name", ["X_p", "X_u"])
def test_values_that_are_not_finite_are_refused(name: str) -> None:
    sample = features(0.5, 0, n_p=50, n_u=50)
    rows = getattr(sample, name).copy()
    rows[7, 2] = np.nan
    with pytest.raises(ValueError, match=f"{name}: row 7 has a value that is NaN or infinite"):
        tice().estimate(sample._replace(**{name: rows}))
