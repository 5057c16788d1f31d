"""What a fit to own data would refuse in its middle is refused before it begins, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_files import customers, puoc, refused

from puoc import methods
from puoc.methods import encoders, priors
from puoc.methods.training.estimator import Compute, Encoder, LaneLoop, PriorEstimator, PUSample, typed
from puoc.records import Array
from puoc.registry import ENCODERS, METHODS, PRIORS
from puoc.userdata import preflight as beforehand
from puoc.userdata.settings import Part, Settings, packaged_methods, settings


@typed
class Half(PriorEstimator):
    """A prior written as docs/adding-a-method.md asks, without folds and without checks of rows."""

    name = "half"

    share: float

    def estimate(self, sample: PUSample) -> float:
        return self.share


class FittedScale(LaneLoop, Encoder):
    scale_: Array


@typed
class Scale(FittedScale):
    """A fitted encoder without a network; only its fit shows the shape of an encoded row."""

    name = "scale"

    floor: float

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        self.scale_ = np.maximum(np.abs(sample.X_p).max(axis=0), self.floor)

    def encode(self, X: Array) -> Array:
        return (X / self.scale_).astype(np.float32)

    def decision_function(self, X: Array) -> Array:
        return self.encode(X).sum(axis=1)

    def state(self) -> dict[str, Array]:
        return {"scale": self.scale_}

    def restore(self, state: dict[str, Array], shape: tuple[int, ...]) -> Scale:
        self.scale_ = state["scale"]
        return self


SHORT = {"epochs": 1, "warmup_epochs": 0, "ascent_steps": 1, "batch_size": 4, "batch_size_u": 4}
PACKAGED = dict(packaged_methods())
COMPARED_PRIORS = {"tice", "dedpul_alpha", "dedpul_isotonic", "bbe"}
COMPARED_ENCODERS = {"autoencoder", "components", "standardised"}
#: Numbers of rows on both sides of every border: one to hold out, folds of each, folds together.
NUMBERS = [(1, 1), (1, 9), (2, 2), (2, 3), (3, 2), (9, 2), (3, 3)]


def short(params: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return params | {name: value for name, value in (SHORT | changed).items() if name in params}


def asked(method: str, params: dict[str, Any], prior: float | Part | None = None) -> Settings:
    return Settings(method=method, params=params, source="test", prior=prior)


def refuses(call: Any, *words: Any) -> bool:
    try:
        call(*words)
    except ValueError:
        return True
    return False


def rows(n: int, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.random.default_rng(n).random((n, *shape), dtype=np.float32)


def packaged_prior(name: str) -> Part:
    found = settings("pu_svm", prior=name).prior
    assert isinstance(found, Part)
    return found.model_copy(update={"params": short(found.params)})


@pytest.mark.parametrize("name", sorted(COMPARED_PRIORS))
@pytest.mark.parametrize("shape", [(3,), (1, 6, 8)])
def test_rows_are_too_few_for_an_estimator_beforehand_as_they_are_later(name: str, shape: tuple[int, ...]) -> None:
    part = packaged_prior(name)
    estimator = priors.make(name, part.params)
    outcomes = []
    for n_p, n_u in NUMBERS:
        sample = PUSample(rows(n_p, shape), rows(n_u, shape), None, 0)
        later = refuses(estimator.estimate, sample)
        beforehand_too = refuses(beforehand._check_prior, part, shape, n_p, n_u)
        assert beforehand_too == later, (n_p, n_u)
        outcomes.append(later)
    assert any(outcomes)
    assert not all(outcomes) or shape == (1, 6, 8)


SHAPES: list[tuple[int, ...]] = [(1,), (3,), (1, 12, 12), (2, 12, 12), (1, 6, 8)]
TAKEN = [
    (name, shape)
    for name, params in PACKAGED.items()
    for shape in SHAPES
    if ("vector" if len(shape) == 1 else "image") in methods.inputs_of(name, params)
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shape"), TAKEN)
def test_rows_do_not_fit_a_method_beforehand_as_they_do_not_later(name: str, shape: tuple[int, ...]) -> None:
    cls, params = METHODS[name], short(PACKAGED[name])
    alpha = 0.5 if cls.kind != "oc" and getattr(cls, "needs_alpha", True) else None
    for n_p, n_u in NUMBERS if shape == (3,) else [(4, 5)]:
        X_u = None if cls.kind == "oc" else rows(n_u, shape)
        made = methods.make(name, params)
        later = refuses(lambda made=made, X_u=X_u, n_p=n_p: made.fit(rows(n_p, shape), X_u, alpha=alpha, seed=0))
        told = asked(name, params, alpha)
        assert refuses(beforehand.check_rows, told, None, shape, n_p, n_u) == later, (n_p, n_u)


def test_methods_that_refuse_by_a_hyperparameter_do_so_beforehand() -> None:
    kernel = asked("pu_svm", {"solver": "exact", "kernel": "rbf", "risk": "unbiased", "lam": 0.1, "gamma": 1.0}, 0.5)
    beforehand.check_rows(kernel, None, (1,), 3000, 5000)
    with pytest.raises(ValueError, match="8000 rows of P and U together at most, got 8001"):
        beforehand.check_rows(kernel, None, (1,), 3000, 5001)
    made = methods.make(kernel.method, kernel.params)
    with pytest.raises(ValueError, match="at most 8000 rows"):
        made.fit(rows(3000, (1,)), rows(5001, (1,)), alpha=0.5)
    skips = asked("vpu", PACKAGED["vpu"] | {"unequal": "skip", "batch_size": 64})
    for n_u in (5, 3):
        made = methods.make("vpu", short(skips.params, batch_size=64))
        later = refuses(lambda made=made, n_u=n_u: made.fit(rows(5, (2,)), rows(n_u, (2,))))
        assert refuses(beforehand.check_rows, skips, None, (2,), 5, n_u) == later == (n_u == 3)


@pytest.mark.parametrize("shape", [(1, 3, 8), (1, 4, 4)])
def test_pictures_are_too_small_for_the_autoencoder_beforehand_as_they_are_later(shape: tuple[int, ...]) -> None:
    params = {"lr": 1e-3, "lr_decay": 1.0, "epochs": 1, "batch_size": 4, "batching": "p", "dimension": 2, "dropout": 0}
    made = encoders.make("autoencoder", params)
    later = refuses(made.fit_lanes, [PUSample(rows(3, shape), None, None, 0)])
    part = Part(name="autoencoder", params=params, source="test")
    told = asked("oc_svm", PACKAGED["oc_svm"])
    assert refuses(beforehand.check_rows, told, part, shape, 3, 0) == later == (shape == (1, 3, 8))


@pytest.mark.parametrize("shape", [(1,), (3,), (1, 4, 4)])
def test_the_shape_of_encoded_rows_is_known_beforehand(shape: tuple[int, ...]) -> None:
    X = rows(9, shape)
    part = Part(name="components", params={"dimension": 4, "cut": 6.0}, source="test")
    (made,) = encoders.make(part.name, part.params).fit_lanes([PUSample(X[:4], X[4:], None, 0)])
    assert beforehand._encoded_shape(part, shape, 4, 5) == made.encode(X).shape[1:]
    assert beforehand._encoded_shape("flatten", shape, 4, 5) == encoders.plain("flatten").encode(X).shape[1:]
    if len(shape) == 1:  # columns are standardised, and pictures are not
        scaled = Part(name="standardised", params={"cut": 6.0}, source="test")
        (fitted,) = encoders.make(scaled.name, scaled.params).fit_lanes([PUSample(X[:4], X[4:], None, 0)])
        assert beforehand._encoded_shape(scaled, shape, 4, 5) == fitted.encode(X).shape[1:]
    hrn = asked("hrn", PACKAGED["hrn"])
    assert refuses(beforehand.check_rows, hrn, part, shape, 4, 5) == (shape == (1,))


def test_every_estimator_and_encoder_is_one_of_those_compared_here() -> None:
    """Their checks of rows are compared above with what their fits reject."""
    of_priors = {name for name, cls in PRIORS.items() if cls.__module__.startswith("puoc.")}
    fitted = {name for name, cls in ENCODERS.items() if not cls.frozen and cls.__module__.startswith("puoc.")}
    lacking = sorted((of_priors - COMPARED_PRIORS) | (fitted - COMPARED_ENCODERS))
    where = f"tests/userdata/{Path(__file__).name}"
    assert not lacking, (
        f"no test compares the checks of rows of {', '.join(lacking)} with its fit: in {where}, add a prior to "
        f"COMPARED_PRIORS; for an encoder, write a test and add it to COMPARED_ENCODERS"
    )


FEW = {
    "TIcE": (["pu_svm"], 2, 2, ["--prior: tice cuts 2 labelled and 2 unlabelled rows into 5 folds; expected 5 rows"]),
    "folds of U": (["pu_svm", "--prior", "bbe"], 9, 2, ["bbe cuts 9 labelled and 2 unlabelled", "expected 3 of each"]),
    "folds of P": (["nnpu", "--prior", "dedpul_alpha"], 2, 9, ["dedpul_alpha cuts 2 labelled", "--settings"]),
    "for a threshold": (["oc_svm", "--by-alpha"], 2, 2, ["--prior: tice cuts 2 labelled"]),
    "a method's folds": (["dedpul"], 2, 9, ["--method: dedpul cuts 2 labelled", "--params folds=N"]),
    "to hold out": (["en"], 1, 9, ["--method: en holds out labelled positives: got 1, at least 2 expected"]),
}


@pytest.mark.parametrize(("words", "n_p", "n_u", "expected"), FEW.values(), ids=FEW.keys())
def test_a_check_says_of_too_few_rows_what_a_fit_says(
    words: list[str], n_p: int, n_u: int, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    customers(n_p, 1, 1.5).to_csv("p.csv", index=False)
    customers(n_u, 2).to_csv("u.csv", index=False)
    given = ["--method", *words, "--positives", "p.csv", "--unlabelled", "u.csv"]
    checked = refused(puoc("fit", *given, "--check"), *expected)
    assert checked == refused(puoc("fit", *given, "--out", "m"), *expected)
    assert not Path("m").exists()


OWN = """
priors:
  half: {params: {share: 0.5}}
encoders:
  scale: {params: {floor: 0.01}}
methods:
  by_half: {method: pu_svm, prior: half, params: {solver: exact, kernel: linear, risk: non_negative, lam: 0.1}}
  by_scale: {method: oc_svm, encoder: scale, params: {kernel: linear, nu: 0.5}}
"""


@pytest.mark.parametrize("method", ["by_half", "by_scale"])
def test_a_prior_without_folds_and_an_encoder_without_a_network_need_no_checks_of_rows(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRIORS, "half", Half)
    monkeypatch.setitem(ENCODERS, "scale", Scale)
    customers(20, 1, 1.5).to_csv("p.csv", index=False)
    customers(30, 2).to_csv("u.csv", index=False)
    Path("mine.yaml").write_text(OWN)
    given = ["--method", method, "--settings", "mine.yaml", "--positives", "p.csv", "--unlabelled", "u.csv"]
    for words in (["--check"], ["--out", "m"]):
        code, said = puoc("fit", *given, *words)
        assert code == 0, said
    code, said = puoc("score", "--model", "m", "u.csv", "--out", "scores.csv")
    assert code == 0, said


def test_a_prior_that_checks_its_rows_is_named_with_its_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Many(Half):
        def check_counts(self, n_p: int, n_u: int) -> None:
            raise ValueError(f"half: got {n_p} labelled and {n_u} unlabelled rows, more expected")

    monkeypatch.setitem(PRIORS, "half", Many)
    part = Part(name="half", params={"share": 0.5}, source="mine.yaml: my guess")
    message = r"^--prior: half: got 5 labelled and 6 unlabelled rows, more expected \(mine.yaml: my guess\)$"
    with pytest.raises(ValueError, match=message):
        beforehand.check_rows(asked("pu_svm", PACKAGED["pu_svm"], part), None, (3,), 5, 6)
