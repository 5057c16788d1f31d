"""A method, a prior, an encoder, a dataset and a scenario from outside: one file and one entry of params.yaml each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from own_files import customers
from project import Project

New = Callable[..., Project]

METHOD = '''"""Distance to the mean of the labelled positives."""

from puoc.methods.training.estimator import LaneLoop, typed
from puoc.registry import method


@method("my_method")
@typed
class MyMethod(LaneLoop):
    """The score is minus the mean distance to the power given, by column."""

    kind = "oc"

    power: float

    def fit_one(self, sample, compute):
        """Keep the mean."""
        self.mean_ = sample.X_p.mean(axis=0)
        self.curve_ = {"objective": [1.0, 0.0]}

    def decision_function(self, X):
        """Scores (n,)."""
        return -(abs(X - self.mean_) ** self.power).mean(axis=1)

    def state(self):
        """The mean."""
        return {"mean": self.mean_}

    def restore(self, state, shape):
        """Become the fitted model again."""
        self.mean_ = state["mean"]
        return self
'''

PRIOR = '''"""A class prior that somebody guesses."""

from puoc.methods.training.estimator import PriorEstimator, typed
from puoc.registry import prior


@prior("my_prior")
@typed
class MyPrior(PriorEstimator):
    """The same for all rows."""

    guess: float

    def estimate(self, sample):
        """Return the guess."""
        return self.guess
'''

ENCODER = '''"""Columns divided by their largest value among the labelled positives."""

import numpy as np

from puoc.methods.training.estimator import Encoder, LaneLoop, typed
from puoc.registry import encoder


@encoder("my_encoder")
@typed
class MyEncoder(LaneLoop, Encoder):
    """A fitted encoder without a network."""

    floor: float

    def fit_one(self, sample, compute):
        """Keep the largest values."""
        self.scale_ = np.maximum(sample.X_p.max(axis=0), self.floor)

    def encode(self, X):
        """Divided rows."""
        return (X / self.scale_).astype(np.float32)

    def decision_function(self, X):
        """Sum of the encoded row."""
        return self.encode(X).sum(axis=1)

    def state(self):
        """The largest values."""
        return {"scale": self.scale_}

    def restore(self, state, shape):
        """Become the fitted encoder again."""
        self.scale_ = state["scale"]
        return self
'''

DATASET = '''"""Iris, as scikit-learn ships it."""

import numpy as np

from puoc.datasets.declare.dataset import Arrays, Dataset, RawFile
from puoc.registry import dataset


@dataset("my_data")
class MyData(Dataset):
    """150 flowers of three kinds, four measurements each."""

    inputs = "vector"
    shape = (4,)
    classes = ("setosa", "versicolor", "virginica")
    counts = {"all": (50, 50, 50)}
    digest = "bace57ff07323d631f06da8d744b7047"
    scale = 8.0
    files = (
        RawFile(
            path="iris.csv",
            size=2734,
            sha256="f13ffa8fdd56fd8e6c8d16d4081a3fbd3114bcd0aae4256c43205169cd9d1449",
            package=("sklearn", "datasets/data/iris.csv"),
        ),
    )
    licence = "CC BY 4.0"
    citation = "R. A. Fisher, 1936"

    @classmethod
    def load(cls, folder):
        """Read the table."""
        table = np.loadtxt(folder / "iris.csv", delimiter=",", skiprows=1)
        return Arrays(table[:, :4].astype(np.float32), table[:, 4].astype(np.int64))
'''

SCENARIO = '''"""Each class of ``pos`` against the class after it."""

from puoc.registry import scenario
from puoc.scenarios.drawing.scenario import ClassList, FixedCounts


@scenario("my_scenario")
class MyScenario(FixedCounts):
    """One cell a class, named as one_vs_all names it."""

    pos: ClassList

    def cells(self, n_classes):
        """One cell a class."""
        self._check_range(n_classes, self.pos)
        return [self._cell(f"pos={c}", pos=(c,), neg=((c + 1) % n_classes,)) for c in self.pos]
'''

SVM = {"solver": "exact", "kernel": "linear", "risk": "non_negative", "lam": 0.01}
TABLE = {"scenario": "one_vs_all", "dataset": "digits", "pos": [0], "seeds": 1, "configs": "published"}
COUNTS = {"n_pos_lab": 20, "n_pos_unl": 10, "n_neg_unl": 10}


class Extension(NamedTuple):
    """One file below src/puoc, and what params.yaml says of it."""

    file: str
    source: str
    entry: dict[str, Any] = {"method": "pu_svm", "encoder": "flatten", "prior": "true", "params": SVM}  # noqa: RUF012
    sections: dict[str, Any] = {}  # noqa: RUF012
    table: dict[str, Any] = {}  # noqa: RUF012

    def params(self) -> str:
        """A params file with one table of one entry."""
        table = TABLE | COUNTS | {"title": "An extension", "methods": ["extended"]} | self.table
        compute = {"workers": 1, "lane_map": "loop", "max_lanes": 8, "models": "all", "device": "cpu"}
        whole = {"compute": compute, "tables": {"small": table}, "tune": {}, "methods": {"extended": self.entry}}
        return json.dumps(whole | self.sections).replace('"true"', "true")


EXTENSIONS = {
    "method": Extension("methods/my_method.py", METHOD, {"method": "my_method", "params": {"power": 2.0}}),
    "prior": Extension(
        "methods/priors/my_prior.py",
        PRIOR,
        {"method": "pu_svm", "encoder": "flatten", "prior": "my_prior", "params": SVM},
        {"priors": {"my_prior": {"encoder": "flatten", "params": {"guess": 0.4}}}},
    ),
    "encoder": Extension(
        "methods/encoders/my_encoder.py",
        ENCODER,
        {"method": "oc_svm", "encoder": "my_encoder", "params": {"kernel": "linear", "nu": 0.5}},
        {"encoders": {"my_encoder": {"params": {"floor": 0.05}}}},
    ),
    "dataset": Extension("datasets/my_data.py", DATASET, table={"dataset": "my_data"}),
    "scenario": Extension("scenarios/my_scenario.py", SCENARIO, table={"scenario": "my_scenario"}),
}


def extended(new_project: New, extension: Extension) -> Project:
    """A project with the file and the entry of an extension."""
    project = new_project()
    project.write(f"src/puoc/{extension.file}", extension.source)
    project.write("params.yaml", extension.params())
    return project


def check_row(project: Project, kind: str) -> None:
    (row,) = project.rows("small")
    assert (row.entry, row.cell, row.status) == ("extended", "pos=0", "ok")
    assert 0.5 < row.auc <= 1, kind


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(EXTENSIONS.keys() - {"method"}))
def test_an_extension_is_one_file_and_one_entry(kind: str, new_project: New) -> None:
    project = extended(new_project, EXTENSIONS[kind])
    commands = ["plan", "fetch", "prepare", "run small"]
    if kind in ("prior", "encoder"):
        commands += fit_to_user_data(project)
    said = project.each(*commands)
    check_row(project, kind)
    assert len(said.splitlines()) > (80 if kind in ("prior", "encoder") else 0)  # a score a row


@pytest.mark.slow
def test_a_method_from_outside_goes_through_the_whole_pipeline(new_project: New) -> None:
    project = extended(new_project, EXTENSIONS["method"])
    project.repro_passes()
    check_row(project, "method")
    assert "extended" in "".join(path.read_text() for path in (project.root / "reports").rglob("*.html"))
    # puoc assess takes reference methods of its own; it must work beside an extension
    said = project.each(*fit_to_user_data(project), "assess --positives p.csv --unlabelled u.csv")
    assert len(said.splitlines()) > 80  # a score a row


def fit_to_user_data(project: Project) -> list[str]:
    """The commands that fit the entry to two tables and score one of them with the model."""
    customers(60, 1, 1.5).to_csv(project.root / "p.csv", index=False)
    customers(80, 2).to_csv(project.root / "u.csv", index=False)
    given = "--settings params.yaml --positives p.csv --unlabelled u.csv"
    return [f"fit --method extended {given} --out model", "score --model model u.csv"]
