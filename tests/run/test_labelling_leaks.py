"""No true label and no propensity of a draw reaches a method, an encoder or the criterion of a selection."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from puoc.datasets.declare.dataset import Arrays
from puoc.datasets.prepare.arrays import Prepared
from puoc.methods.encoders import plain
from puoc.methods.training.estimator import PUSample
from puoc.records import Encoding, Fit, Labelling, Sample
from puoc.run.executors.fit_inputs import FitInputs, RowEncoder, sample_of
from puoc.run.executors.trial import _validate
from puoc.scenarios import LabelledDraw, draw
from puoc.scenarios.drawing.draws import Draw

INPUTS = FitInputs(RowEncoder(plain(None), None), None, 0.5)
LABELLINGS = {
    "ambiguous": {"labelling": Labelling(sar="ambiguous_first", strength=10)},
    "noise": {"n_noise": 8},
    "single": {"labelling": Labelling(sar="linear", feature=1, strength=0.9), "setting": "single_training_set"},
}


def prepared() -> Prepared:
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    X = (0.3 + 0.2 * y[:, None] + 0.1 * rng.normal(size=(600, 3))).astype(np.float32)
    return Prepared.of(Arrays(X, y), name="two", inputs="vector", classes=("a", "b"))


def fit_of(data: Prepared, method: str, **changed: object) -> Fit:
    labels = changed.pop("labels", "pu")
    asked = {"pos": (1,), "neg": (0,), "n_pos_lab": 30, "n_pos_unl": 40, "n_neg_unl": 40} | changed
    sample = Sample(dataset=data.name, data_digest=data.digest, **asked)  # type: ignore[arg-type]
    return Fit(method=method, params={}, sample=sample, seed=3, labels=labels, code_digest="c", draw_digest="d")


def nonsense(drawn: Draw) -> LabelledDraw:
    """The same rows with other labels and propensities."""
    assert isinstance(drawn, LabelledDraw)
    return replace(drawn, y_p=~drawn.y_p, y_u=~drawn.y_u, propensity=np.full(len(drawn.p), 7.0))


def same(one: PUSample, other: PUSample) -> bool:
    return all(np.array_equal(*pair) for pair in zip(one[:2], other[:2], strict=True)) and one[2:] == other[2:]


@pytest.mark.parametrize("name", LABELLINGS)
@pytest.mark.parametrize("method", ["nnpu", "pu_knn", "naive_forest", "standardised", "components"])
def test_a_learner_gets_rows_alone(name: str, method: str) -> None:
    data = prepared()
    fit = fit_of(data, method, **LABELLINGS[name])
    drawn = draw(data, fit.sample, fit.seed)
    given = sample_of(fit, data, drawn, INPUTS)
    assert same(given, PUSample(data.take(drawn.p), data.take(drawn.u), 0.5, 3))
    assert same(given, sample_of(fit, data, nonsense(drawn), INPUTS))


@pytest.mark.parametrize("name", LABELLINGS)
@pytest.mark.parametrize("method", ["knn", "oc_svm", "autoencoder"])
def test_a_learner_of_p_gets_no_row_of_u(name: str, method: str) -> None:
    data = prepared()
    fit = fit_of(data, method, **LABELLINGS[name])
    drawn = draw(data, fit.sample, fit.seed)
    for one in (drawn, nonsense(drawn)):
        given = sample_of(fit, data, one, INPUTS)
        assert given.X_u is None
        assert np.array_equal(given.X_p, data.take(drawn.p))


@pytest.mark.parametrize("name", LABELLINGS)
def test_the_criterion_of_a_selection_reads_withheld_rows_alone(name: str) -> None:
    data = prepared()
    fit = fit_of(data, "nnpu", holdout=0.2, **LABELLINGS[name])
    drawn = draw(data, fit.sample, fit.seed)

    def scorer(data: Prepared, numbers: np.ndarray) -> np.ndarray:
        return data.take(numbers)[:, 0]

    first, second = (_validate(fit, data, one, scorer) for one in (drawn, nonsense(drawn)))  # type: ignore[arg-type]
    assert first is not None
    assert first == second


def test_only_the_reference_sees_true_labels_also_those_of_p() -> None:
    data = prepared()
    fit = fit_of(data, "naive_forest", labels="oracle", n_noise=8)
    drawn = draw(data, fit.sample, fit.seed)
    given = sample_of(fit, data, drawn, INPUTS)
    assert (len(given.X_p), len(np.asarray(given.X_u))) == (22 + 40, 8 + 40)
    assert not same(given, sample_of(fit, data, nonsense(drawn), INPUTS))


def test_an_encoder_of_p_is_fitted_on_the_p_of_the_method() -> None:
    data = prepared()
    fit = fit_of(data, "knn", **LABELLINGS["ambiguous"])
    encoder = Encoding(name="autoencoder", params={}, ae_data="labelled_positives", code_digest="c")
    needed = fit.model_copy(update={"encoder": encoder}).encoder_fit()
    assert needed is not None
    rows = [draw(data, one.sample, one.seed).p.tolist() for one in (fit, needed)]
    assert rows[0] == rows[1]


def test_no_record_of_a_fit_has_a_propensity() -> None:
    data = prepared()
    text = str(fit_of(data, "knn", **LABELLINGS["ambiguous"]).canonical())
    assert "ambiguous_first" in text
    assert "propensity" not in text
