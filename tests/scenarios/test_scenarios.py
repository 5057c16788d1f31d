"""Scenarios as data: their cells, what a seed chooses, and what is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puoc.scenarios import SCENARIOS, Cell, check_counts, sample_and_test

U = {"n_pos_lab": 25, "n_pos_unl": 20, "n_neg_unl": 30}
CASES = {
    "one_vs_all": {"pos": [3, 0], **U},
    "neg_shift": {"pos": 2, "n": [1, 4], **U},
    "named_shift": {"pos": 0, "shifts": [{"neg": 1, "neg_test": [8, 2]}, {"neg": [3, 1], "name": "plain"}], **U},
    "fixed_classes": {"pos": 1, "neg": [0, 2], "column": "normal", **U},
    "pos_modes": {"of": [0, 1, 8, 9], "neg": [2, 3], "k": [1, 2, 4], **U},
    "alpha_sweep": {"pos": [0, 1], "neg": [2, 3], "alphas": [0.05, 0.5], "n_unl": 50, "n_pos_lab": 25},
    "size_sweep": {"pos": [0, 1], "neg": [2, 3], "alpha": 0.5, "n_unl": [10, 51], "n_pos_lab": 25},
    "labelling_sweep": {
        "pos": [0, 1],
        "neg": [2, 3],
        "alpha": 0.5,
        "n_unl": 50,
        "n_pos_lab": 25,
        "labellings": [
            "scar",
            {"sar": "clear_first", "strength": 10},
            {"sar": "by_class", "classes": 1, "strength": 1},
        ],
    },
    "noise_sweep": {
        "pos": [0, 1],
        "neg": [2, 3],
        "alpha": 0.5,
        "n_unl": 50,
        "n_pos_lab": 25,
        "p_noises": [0, 0.05, 0.2],
    },
}


def cells(kind: str, **changed) -> list[Cell]:
    return SCENARIOS[kind](**(CASES[kind] | changed)).cells(10)


def test_every_kind_has_a_case_here():
    lacking = SCENARIOS.keys() - {*CASES, "own"}  # own data have tests of their own: their cells come from their files
    assert not lacking, f"add keys of {', '.join(sorted(lacking))} to CASES in tests/scenarios/test_scenarios.py"


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("one_vs_all", ["pos=3", "pos=0"]),
        ("neg_shift", ["n=1", "n=4"]),
        ("named_shift", ["1->{2,8}", "plain"]),
        ("fixed_classes", ["normal"]),
        ("pos_modes", ["k=1", "k=2", "k=4"]),
        ("alpha_sweep", ["alpha=0.05", "alpha=0.5"]),
        ("size_sweep", ["n_unl=10", "n_unl=51"]),
        ("labelling_sweep", ["scar", "clear_first 10", "by_class 1 1"]),
        ("noise_sweep", ["p_noise=0", "p_noise=0.05", "p_noise=0.2"]),
    ],
)
def test_cells_are_named_by_what_varies(kind, names):
    assert [cell.name for cell in cells(kind)] == names


@pytest.mark.parametrize("kind", CASES)
def test_a_cell_survives_json(kind):
    for cell in cells(kind):
        again = Cell.model_validate(json.loads(json.dumps(cell.canonical())))
        assert again == cell
        assert sample_and_test(again, 5, "mnist5k", "digest") == sample_and_test(cell, 5, "mnist5k", "digest")


@given(st.integers(0, 2**40), st.integers(1, 4))
def test_shifted_classes_are_distinct_in_range_and_another_draw_for_each_seed(seed, n):
    [cell] = cells("neg_shift", n=[n])
    sample, test = sample_and_test(cell, seed, "mnist5k", "digest")
    chosen = [*sample.neg, *test.neg]
    assert len(sample.neg) == len(test.neg) == n
    assert len(set(chosen)) == 2 * n
    assert set(chosen) <= set(range(10)) - {2}
    assert sample.pos == test.pos == (2,)


def test_seeds_reach_all_other_classes_on_both_sides():
    [cell] = cells("neg_shift", n=[1])
    drawn = [sample_and_test(cell, seed, "mnist5k", "digest") for seed in range(200)]
    others = set(range(10)) - {2}
    assert {sample.neg[0] for sample, _ in drawn} == others
    assert {test.neg[0] for _, test in drawn} == others


@given(st.integers(0, 2**40))
def test_fewer_modes_are_part_of_more(seed):
    one, two, four = (set(sample_and_test(cell, seed, "mnist5k", "digest")[0].pos) for cell in cells("pos_modes"))
    assert one < two < four == {0, 1, 8, 9}


def test_choices_depend_on_the_seed_and_the_dataset_and_not_on_sizes():
    def chosen(dataset: str, **sizes: int) -> list:
        [cell] = cells("neg_shift", n=[2], **sizes)
        return [sample_and_test(cell, seed, dataset, "digest")[0].neg for seed in range(20)]

    assert chosen("mnist5k") == chosen("mnist5k", n_pos_lab=3, n_neg_unl=7)
    assert chosen("mnist5k") != chosen("digits")
    assert len(set(chosen("mnist5k"))) > 5


def test_known_choices():
    """Choices must not move with versions: published rows depend on them."""
    [cell] = cells("neg_shift", n=[4])
    sample, test = sample_and_test(cell, 0, "cifar10", "digest")
    assert sample.neg == (4, 5, 7, 8)
    assert test.neg == (0, 1, 3, 6)


def test_one_vs_all_takes_all_other_classes_at_training_and_test():
    sample, test = sample_and_test(cells("one_vs_all")[0], 0, "mnist5k", "digest", holdout=0.2)
    assert sample.pos == test.pos == (3,)
    assert sample.neg == test.neg == (0, 1, 2, 4, 5, 6, 7, 8, 9)
    assert sample.holdout == 0.2


def test_alpha_is_the_realised_share():
    low, half = cells("alpha_sweep")
    assert (low.n_pos_unl, low.n_neg_unl, low.alpha) == (3, 47, 0.06)
    assert half.alpha == 0.5
    assert [cell.n_pos_unl for cell in cells("size_sweep")] == [5, 26]


def test_an_alpha_of_one_is_a_u_without_negatives_and_still_has_a_test():
    [cell] = cells("alpha_sweep", alphas=[1], neg_test=[5])
    assert (cell.n_pos_unl, cell.n_neg_unl, cell.alpha) == (50, 0, 1.0)
    sample, test = sample_and_test(cell, 0, "mnist5k", "digest")
    assert (sample.alpha, sample.neg, test.neg) == (1.0, (2, 3), (5,))


def test_a_sweep_may_stand_under_a_shift():
    for kind in ("alpha_sweep", "size_sweep"):
        for cell in cells(kind, neg_test=[4, 5]):
            sample, test = sample_and_test(cell, 0, "mnist5k", "digest")
            assert (sample.neg, test.neg) == ((2, 3), (4, 5))


def test_a_column_without_a_name_is_named_by_its_positives():
    assert [cell.name for cell in cells("fixed_classes", pos=[3, 1], column=None)] == ["pos={1,3}"]


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        ("one_vs_all", {"pos": [10]}, "class 10 does not exist, 0 to 9 expected"),
        ("one_vs_all", {"pos": []}, "at least 1 entry in the list"),
        ("one_vs_all", {"pos": [1, 1]}, "1 stands there twice"),
        ("one_vs_all", {"pos": [-1]}, "greater than or equal to 0"),
        ("one_vs_all", {"pos": [True]}, "valid integer"),
        ("one_vs_all", {"n_pos_lab": 0}, "greater than 0"),
        ("one_vs_all", {"n_neg_unl": 0}, "greater than 0"),
        ("one_vs_all", {"n_lab": 3}, "Extra inputs"),
        ("neg_shift", {"n": [5]}, "n=5 needs 10 classes beside pos; got 9"),
        ("neg_shift", {"n": [1, 1]}, "1 stands there twice"),
        ("named_shift", {"shifts": [{"neg": [0, 1]}]}, r"classes \[0\] are positive and negative"),
        ("named_shift", {"shifts": [{"neg": 1, "neg_test": 0}]}, r"classes \[0\] are positive and negative"),
        ("named_shift", {"shifts": [{"neg": 1, "name": "a"}, {"neg": 2, "name": "a"}]}, "a stands there twice"),
        ("named_shift", {"shifts": []}, "at least 1 entry in the list"),
        ("labelling_sweep", {"labellings": ["scar", "scar"]}, "scar stands there twice"),
        (
            "labelling_sweep",
            {"labellings": [{"sar": "clear_first", "strength": 2}, {"sar": "clear_first", "strength": 2.0}]},
            "clear_first 2 stands there twice",
        ),
        ("pos_modes", {"neg": [8]}, r"classes \[8\] are positive and negative"),
        ("pos_modes", {"k": [5]}, "k=5 needs 5 classes; got 4 in of"),
        ("fixed_classes", {"neg": [1]}, r"classes \[1\] are positive and negative"),
        ("alpha_sweep", {"alphas": [1.5]}, "less than or equal to 1"),
        ("alpha_sweep", {"alphas": [0.999]}, "alpha 0.999 of 50 rows gives 50 positives; expected 1 to 49"),
        ("alpha_sweep", {"neg_test": [1]}, r"classes \[1\] are positive and negative"),
        ("alpha_sweep", {"neg_test": [10]}, "class 10 does not exist"),
        ("alpha_sweep", {"alphas": [0.0]}, "greater than 0"),
        ("alpha_sweep", {"alphas": [0.001]}, "alpha 0.001 of 50 rows gives 0 positives; expected 1 to 49"),
        ("alpha_sweep", {"alphas": [0.05, 0.06]}, "2 alphas give the same 3 positives of 50 rows"),
        ("size_sweep", {"n_unl": [1]}, "alpha 0.5 of 1 rows gives 1 positives"),
        ("size_sweep", {"pos": [2]}, r"classes \[2\] are positive and negative"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(kind, changed, message):
    with pytest.raises(ValueError, match=message):
        cells(kind, **changed)


def test_counts_are_checked_before_anything_is_fetched():
    [cell] = cells("one_vs_all", pos=[3], n_pos_lab=2500)
    expected = "one_vs_all, cell pos=3: 2500 labelled positives wanted, 2413 available in cifar10/train"
    with pytest.raises(ValueError, match=expected):
        check_counts(cell, {"train": (5000,) * 3 + (2413,) + (5000,) * 6, "test": (1000,) * 10}, dataset="cifar10")
    [cell] = cells("one_vs_all", pos=[3], n_pos_lab=300, n_pos_unl=101)
    with pytest.raises(
        ValueError, match="401 labelled and unlabelled positives wanted, 400 available in mnist5k/train"
    ):
        check_counts(cell, {"all": (500,) * 10}, dataset="mnist5k")
    check_counts(cells("one_vs_all", pos=[3], n_pos_lab=300, n_pos_unl=100)[0], {"all": (500,) * 10})


def test_counts_of_chosen_classes_are_checked_for_the_worst_choice():
    counts = {"train": (100, 100, 100, 10, 20, 100, 100, 100, 100, 100), "test": (10,) * 10}
    check_counts(cells("neg_shift", n=[2], n_neg_unl=30)[0], counts)
    with pytest.raises(ValueError, match=r"31 unlabelled negatives wanted, 30 available in .* smallest choice of 2"):
        check_counts(cells("neg_shift", n=[2], n_neg_unl=31)[0], counts)


def test_a_test_set_without_rows_is_refused():
    with pytest.raises(ValueError, match="1 test positives wanted, 0 available"):
        check_counts(cells("one_vs_all", pos=[3])[0], {"train": (100,) * 10, "test": (5, 5, 5, 0, 5, 5, 5, 5, 5, 5)})


def test_a_holdout_that_withholds_nothing_is_refused():
    [cell] = cells("one_vs_all", pos=[3], n_pos_lab=2)
    with pytest.raises(ValueError, match=r"holdout 0\.2 of 2 rows of P withholds 0, 1 to 1 expected"):
        check_counts(cell, {"all": (500,) * 10}, holdout=0.2)
