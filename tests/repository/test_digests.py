"""Digests of code: what recomputes a result and what does not. Each is taken of real files, in a process of its own."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path
from types import FrameType

import pytest
from ruamel.yaml import YAML

from puoc import digests
from puoc.methods.training.estimator import Estimator
from puoc.registry import DATASETS, ENCODERS, METHODS, PRIORS

METHOD = '''"""A method."""

from puoc.methods.training.deep import Deep
from puoc.registry import method


@method("svm")
class SVM(Deep):
    """Support vectors."""

    C: float  # cost

    def loss(self, x):
        """The loss."""
        if x < 0:
            raise ValueError("negative")
        if x > 0.5:
            return x * 2 + self.C
        return "none"
'''

FILES = {
    "__init__.py": "",
    "registry.py": "def method(name):\n    return lambda cls: cls\n",
    "methods/__init__.py": "",
    "methods/svm.py": METHOD,
    "methods/other.py": "from puoc.methods.training.deep import Deep\n\nclass Other(Deep):\n    pass\n",
    "methods/training/deep.py": (
        "import puoc.methods.training.nets as nets\n\n"
        "class Deep:\n    width = 3 + nets.DEPTH\n\nclass Aside:\n    a = 5\n"
    ),
    "methods/training/nets.py": (
        "import a_library_that_is_not_installed\nfrom .risks import nn_risk\n\nDEPTH = nn_risk(2, 0)\n"
        "a_library_that_is_not_installed.start(7)\n"
    ),
    "methods/training/risks.py": (
        "def nn_risk(a, b):\n    from puoc.methods.training.lanes import sizes\n    return a - b * sizes\n"
    ),
    "methods/training/lanes.py": "sizes = 1\n",
    "methods/priors/__init__.py": "",
    "methods/priors/tice.py": "K = 1\n",
    "methods/encoders/__init__.py": (
        "import puoc.datasets.prepare.word_vectors, puoc.datasets.declare.texts\n\n"
        "def encode(x):\n    return x + puoc.datasets.prepare.word_vectors.V + puoc.datasets.declare.texts.rows\n"
    ),
    "scenarios/drawing/draws.py": "from puoc.datasets.prepare.arrays import Prepared\n\nSHUFFLE = 1\n",
    "datasets/prepare/arrays.py": "from puoc.datasets.prepare import ensure\n\nclass Prepared:\n    pass\n",
    "datasets/prepare/__init__.py": "def ensure():\n    return 1\n",
    "datasets/prepare/word_vectors.py": "from puoc.datasets.prepare.verify import hexdigest\n\nV = 1\n",
    "datasets/prepare/verify.py": "hexdigest = 1\n",
    "scenarios/one_vs_all.py": "from puoc.scenarios.drawing.draws import SHUFFLE\n",
    "datasets/__init__.py": "",
    "datasets/declare/dataset.py": "class Dataset:\n    pass\n",
    "datasets/digits.py": "from puoc.datasets.declare.dataset import Dataset\n\nclass Digits(Dataset):\n    n = 1\n",
    "datasets/mnist.py": "from puoc.datasets.declare.dataset import Dataset\n\nclass MNIST(Dataset):\n    n = 1\n",
    "datasets/declare/texts.py": "rows = 1\n",
    "analysis/statistics/auc.py": "def auc(a, b):\n    return a > b\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small source tree that is imported as puoc."""
    for name, text in FILES.items():
        path = tmp_path / "src" / "puoc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for folder in (tmp_path / "src" / "puoc").rglob("*/"):
        (folder / "__init__.py").touch()
    shutil.copy(digests.__file__, tmp_path / "src" / "puoc" / "digests.py")
    return tmp_path / "src"


def taken(tree: Path) -> dict[str, str]:
    """Digests of a tree, by what they cover."""
    calls = {
        "svm": "code_digest('puoc.methods.svm:SVM')",
        "other": "code_digest('puoc.methods.other:Other')",
        "encoded": "code_digest('puoc.methods.svm:SVM', 'puoc.methods.encoders:encode')",
        "digits": "draw_digest('puoc.datasets.digits:Digits')",
        "scoring": "scoring_digest()",
    }
    code = f"from puoc.digests import *; print({', '.join(calls.values())})"
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, env={"PYTHONPATH": str(tree)}, capture_output=True, text=True, check=True)
    return dict(zip(calls, ran.stdout.split(), strict=True))


def edit(tree: Path, name: str, old: str, new: str) -> None:
    path = tree / "puoc" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# cost", "# cost of a row on the wrong side"),
        ("            return x", "            # twice\n\n            return x"),
        ('"""A method."""\n', ""),
        ('"""Support vectors."""', '"""Support vectors, and more."""'),
        ('        """The loss."""\n', ""),
        ("    C: float", '    "a remark"\n    C: float'),
        ("x * 2 + self.C", "(x * 2) + self.C"),
        ("x * 2 + self.C", "(\n            x * 2\n            + self.C\n)"),
        ('"none"', "'none'"),
        ("0.5", "5e-1"),
        ("\n\n\n@method", "\n@method"),
        (
            "from puoc.methods.training.deep import Deep\nfrom puoc.registry import method",
            "from puoc.registry import method\nfrom puoc.methods.training.deep import Deep",
        ),
        ("from puoc.methods.training.deep import Deep", "import typing\n\nfrom puoc.methods.training.deep import Deep"),
        ("def loss(self, x):", "def loss(self, x: float) -> float | str:"),
        ('ValueError("negative")', 'ValueError(f"got {x}, expected 0 or more")'),
    ],
)
def test_what_does_nothing_recomputes_nothing(tree, old, new):
    before = taken(tree)
    edit(tree, "methods/svm.py", old, new)
    assert taken(tree) == before


def test_other_indentation_and_line_ends_recompute_nothing(tree):
    before = taken(tree)
    path = tree / "puoc" / "methods" / "svm.py"
    deeper = "\n".join(" " * (len(line) - len(line.lstrip())) + line for line in METHOD.splitlines()) + "\n"
    assert deeper != METHOD
    path.write_bytes(("\ufeff" + deeper.replace("\n", "\r\n")).encode())
    assert taken(tree) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x > 0.5", "x >= 0.5"),
        ("* 2", "* 3"),
        ("* 2", "* 2.0"),
        ("x * 2 + self.C", "x * (2 + self.C)"),
        ('"none"', '"None"'),
        ('"none"', "None"),
        ("self.C", "self.D"),
        ("def loss", "def risk"),
        ("C: float", "C: int"),
        ('@method("svm")\n', ""),
        ('return "none"', 'pass\n        return "none"'),
    ],
)
def test_what_is_computed_differently_recomputes_its_method_alone(tree, old, new):
    before = taken(tree)
    edit(tree, "methods/svm.py", old, new)
    after = taken(tree)
    assert after["svm"] != before["svm"]
    assert after["encoded"] != before["encoded"]
    assert {k: after[k] for k in ("other", "digits", "scoring")} == {
        k: before[k] for k in ("other", "digits", "scoring")
    }


@pytest.mark.parametrize(
    ("name", "old", "new", "changed"),
    [
        ("methods/training/deep.py", "3", "4", {"svm", "other", "encoded"}),
        ("methods/training/deep.py", "a = 5", "a = 6", set()),  # a class beside the one that is reached
        (
            "methods/training/nets.py",
            "start(7)",
            "start(8)",
            {"svm", "other", "encoded"},
        ),  # runs for its effect when it is imported
        ("methods/training/nets.py", "(2", "(4", {"svm", "other", "encoded"}),  # import a.b as c, in deep
        (
            "methods/training/risks.py",
            "a - b",
            "a + b",
            {"svm", "other", "encoded"},
        ),  # relative, and only by way of deep and nets
        ("methods/training/lanes.py", "1", "4", {"svm", "other", "encoded"}),  # inside a function
        ("methods/priors/tice.py", "1", "4", set()),  # reached by nobody here
        ("registry.py", "cls: cls", "cls: None", set()),  # plumbing
        ("methods/encoders/__init__.py", "return x", "return -x", {"encoded"}),
        ("scenarios/drawing/draws.py", "1", "4", {"digits"}),
        ("datasets/prepare/arrays.py", "pass", "a = 1", {"digits"}),
        ("datasets/digits.py", "n = 1", "n = 2", {"digits"}),
        ("datasets/declare/dataset.py", "pass", "a = 1", {"digits"}),  # only by way of digits
        ("datasets/mnist.py", "n = 1", "n = 2", set()),
        ("datasets/prepare/__init__.py", "1", "4", set()),  # the digest of the data says what came
        ("datasets/prepare/word_vectors.py", "V = 1", "V = 4", {"encoded"}),  # what an encoder reads beside its rows
        ("datasets/prepare/verify.py", "1", "4", set()),
        ("datasets/declare/texts.py", "1", "4", {"encoded"}),
        ("scenarios/one_vs_all.py", "SHUFFLE", "SHUFFLE as S", set()),  # what a scenario asks is in the questions
        ("analysis/statistics/auc.py", "a > b", "a < b", {"scoring"}),
    ],
)
def test_a_change_reaches_whoever_imports_it_however_far_and_nobody_else(tree, name, old, new, changed):
    before = taken(tree)
    edit(tree, name, old, new)
    after = taken(tree)
    assert {key for key in before if after[key] != before[key]} == changed


def test_a_definition_that_moves_to_another_module_changes_no_digest(tree):
    before = taken(tree)
    (tree / "puoc" / "methods" / "training" / "lanes.py").write_text("from puoc.methods.widths import sizes\n")
    (tree / "puoc" / "methods" / "widths.py").write_text("sizes = 1\n")
    assert taken(tree) == before  # handed on
    edit(
        tree,
        "methods/training/risks.py",
        "from puoc.methods.training.lanes import sizes",
        "from puoc.methods.widths import sizes as wide",
    )
    edit(tree, "methods/training/risks.py", "b * sizes", "b * wide")
    assert taken(tree) == before  # and imported from its new place, under another name
    edit(tree, "methods/widths.py", "1", "4")
    assert {key for key, value in taken(tree).items() if value != before[key]} == {"svm", "other", "encoded"}


def test_it_matters_which_of_two_equally_named_definitions_is_referred_to(tree):
    edit(
        tree,
        "methods/encoders/__init__.py",
        "puoc.datasets.declare.texts.rows",
        "puoc.datasets.declare.texts.rows + puoc.methods.training.lanes.sizes",
    )
    edit(
        tree,
        "methods/encoders/__init__.py",
        "puoc.datasets.declare.texts\n",
        "puoc.datasets.declare.texts, puoc.methods.training.lanes, puoc.methods.training.risks\n",
    )
    edit(tree, "methods/training/risks.py", "def nn_risk", "sizes = 1\n\ndef nn_risk")
    edit(tree, "methods/training/lanes.py", "sizes = 1", "other = 2\nsizes = other")
    before = taken(tree)
    edit(tree, "methods/encoders/__init__.py", "puoc.methods.training.lanes.sizes", "puoc.methods.training.risks.sizes")
    assert taken(tree)["encoded"] != before["encoded"]


def test_a_module_that_is_handed_on_counts_whole(tree):
    edit(
        tree,
        "methods/training/risks.py",
        "from puoc.methods.training.lanes import sizes",
        "from puoc.methods.priors import tice as sizes",
    )
    before = taken(tree)
    edit(tree, "methods/priors/tice.py", "1", "4")
    assert taken(tree)["svm"] != before["svm"]


def test_a_copy_elsewhere_has_the_same_digests(tree, tmp_path):
    shutil.copytree(tree, tmp_path / "site-packages")
    assert taken(tmp_path / "site-packages") == taken(tree)


def test_a_module_without_source_is_an_error(tree):
    (tree / "puoc" / "analysis" / "statistics" / "auc.py").unlink()
    with pytest.raises(subprocess.CalledProcessError) as raised:
        taken(tree)
    assert "no source of module puoc.analysis.statistics.auc was found" in raised.value.stderr


def test_every_method_and_dataset_of_puoc_has_digests():
    ours = [cls for cls in METHODS.values() if cls.__module__.startswith("puoc.")]
    for cls in ours:
        counted = digests.reached([digests._root(cls)], digests._LEARNING)
        assert digests.Definition(Estimator.__module__, "Estimator") in counted
    assert len({digests.code_digest(cls) for cls in ours}) == len(ours)
    of_data = {digests.draw_digest(cls) for cls in DATASETS.values() if cls.__module__.startswith("puoc.")}
    assert {len(digest) for digest in of_data} == {16}


#: Modules that methods, encoders and priors import and that no result depends on, with the reason.
HARMLESS = {
    "puoc.registry": "names",
    "puoc.records": "identities",
    "puoc.scenarios.drawing.draws": "stands in a fit's draw_digest",
    "puoc.methods.training.from_params": "hyperparameters, which are in the question as they were understood",
    "puoc.methods.training.checkpoints": "state of a training that is resumed, to the same bits",
    "puoc.methods.training.uncompiled": "compiles nothing, as without it",
    "puoc.datasets.prepare.weights": "finds the file whose digest is asked",
    "puoc.datasets.prepare.verify": "whether a file has a digest",
    "puoc.digests": "names what is kept of a file by the code that reads it",
}


def _learners() -> list[str]:
    classes = [cls for table in (METHODS, ENCODERS, PRIORS) for cls in table.values()]
    return sorted(
        {cls.__module__ for cls in classes if cls.__module__.startswith("puoc.")}
        | {digests.PLAIN_ENCODER.split(":")[0], digests.PRIOR.split(":")[0]}
    )


def _counted(modules: list[str]) -> set[str]:
    return {one.module for one in digests.reached(modules, digests._LEARNING)}


def _imported(module: str) -> set[str]:
    """Modules of puoc that a module imports, wherever in it the import stands."""
    pairs = [digests._inside(*pair) for pairs in digests._module(module).imports.values() for pair in pairs]
    return {name for name, _ in pairs if name.startswith("puoc.")}


def test_what_learners_import_counts_or_is_known_not_to_change_a_result() -> None:
    counted = _counted(_learners())
    assert "puoc.methods.solvers.hinge" in counted
    assert {name for module in counted for name in _imported(module)} - counted == set(HARMLESS)


#: Where a fault changes no fit: readers of own data, model files, thresholds of fitted models, metrics of their scores.
NOT_LEARNING = ("datasets/readers/", "methods/persistence/", "userdata/", "analysis/")


def test_each_deliberate_fault_changes_what_a_digest_covers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A golden test sees each of these faults, so no digest may overlook one."""
    tree, package = digests._tree, Path(digests.__file__).parent
    every = YAML(typ="safe", pure=True).load(Path(__file__).parent / "mutations.yaml")
    faults = [fault for fault in every if not fault["file"].startswith(NOT_LEARNING)]
    drawing = (*digests._DRAW_ROOTS, *digests._LABELLING_ROOTS), digests._DRAWING | digests._LABELLING
    covered = [
        (digests.reached(roots, among), digests._homes(roots, among))
        for roots, among in ((_learners(), digests._LEARNING), drawing)
    ]

    def texts(module: str) -> list[str]:
        digests._module.cache_clear()
        digests._text.cache_clear()
        return [digests._text(one, homes)[0] for counted, homes in covered for one in counted if one.module == module]

    overlooked = []
    for fault in faults:
        module = ".".join(("puoc", *Path(fault["file"]).with_suffix("").parts)).removesuffix(".__init__")
        before = texts(module)
        mutated = ast.parse((package / fault["file"]).read_text().replace(fault["old"], fault["new"]))
        with monkeypatch.context() as patch:
            patch.setattr(digests, "_tree", lambda name, m=module, t=mutated: t if name == m else tree(name))
            overlooked += [fault["fault"]] if texts(module) == before else []
    digests._module.cache_clear()
    digests._text.cache_clear()
    assert len(faults) > 40
    assert overlooked == []


def test_code_that_runs_while_texts_are_encoded_counts_or_is_known_to_change_nothing(glove: str) -> None:
    """By what runs and not by what is written: an import that is found by no reading of the source would show."""
    from puoc.datasets.declare.texts import to_rows
    from puoc.methods import encoders

    ran: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            ran.add(str(frame.f_globals.get("__name__")))

    for name, params in (("word_vectors", {"length": 4}), ("mean_word_vector", {})):
        made = encoders.make(name, {"vectors": glove, "steps": "paper"} | params)
        ran.clear()
        sys.setprofile(note)
        try:
            made.encode(to_rows(["An excellent hotel", "free entry, call now"], 40))
        finally:
            sys.setprofile(None)
        ours = {module for module in ran if module.startswith("puoc.")}
        counted = _counted([digests._root(type(made))])
        assert {
            "puoc.datasets.prepare.word_vectors",
            "puoc.datasets.declare.texts",
            "puoc.methods.encoders.words",
        } <= ours
        assert ours - counted <= set(HARMLESS)
