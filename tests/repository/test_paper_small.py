"""Every table of profiles/paper_small.yaml by its own name, at a size that takes minutes: few rows, hardly an epoch.

Classes, encoders, priors and methods are the profile's; of ten methods on CIFAR-10 a table keeps one, each table
another one, and of columns the first and the last. Each twentieth picture of CIFAR-10 and each fifth solar cell takes
part: every trial scores all rows of the training pool and the test, and ImageNet features are those of all pictures,
which takes far longer than such fits. One table asks for CSI, and one for ImageNet features.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from project import REPOSITORY, Project, fresh
from site_pages import site_text

PARTS = ("cifar10", "elpv", "pendigits", "pendigits_odds", "op_spam", "sms_spam", "cresci2017", "glove", "weights")
ROWS = {"n_pos_lab": 50, "n_pos_unl": 40, "n_neg_unl": 40, "n_unl": 80}
ENDS = ("n", "k", "alphas", "shifts")
LONG = ("csi", "pu_csi", "oc_cnn", "pu_cnn")
CIFAR, ELPV = "cifar10_twentieth", "elpv_fifth"
DATASETS = {
    CIFAR: """
from pathlib import Path

from puoc.datasets.cifar10 import CIFAR10
from puoc.datasets.declare.dataset import Arrays
from puoc.registry import dataset


@dataset("cifar10_twentieth")
class CIFAR10Twentieth(CIFAR10):
    counts = {"train": (250,) * 10, "test": (50,) * 10}
    digest = "097138f1f68ff720f4a9a900229c8bc8"

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        arrays = CIFAR10.load(folder)
        kept = sorted(row for label in range(10) for part in (0, 1) for row in rows(arrays, label, part))
        return Arrays(arrays.X[kept], arrays.y[kept], arrays.split[kept])


def rows(arrays: Arrays, label: int, part: int) -> list[int]:
    return ((arrays.y == label) & (arrays.split == part)).nonzero()[0][::20].tolist()
""",
    ELPV: """
from pathlib import Path

import numpy as np

from puoc.datasets.declare.dataset import Arrays
from puoc.datasets.elpv import ELPV
from puoc.registry import dataset


@dataset("elpv_fifth")
class ELPVFifth(ELPV):
    counts = {"all": (263, 22)}
    digest = "31196c66f868400b5bf87c260dd27a7b"

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        arrays = ELPV.load(folder)
        kept = np.concatenate([(arrays.y == label).nonzero()[0][::5] for label in (0, 1)])
        return Arrays(arrays.X[kept], arrays.y[kept])
""",
}
ALONE = {"collapse": ["pu_csi"], "elpv": ["oc_cnn", "pu_cnn"]}  # large pictures
FEW = {"epochs": 2, "warmup_epochs": 1, "ascent_steps": 2, "batch_size": 32, "batch_size_u": 16}


def reduced(profile: dict[str, Any], weights: str, vectors: str) -> dict[str, Any]:
    """The profile with fewer rows, one seed, two epochs, and the frozen files of this mirror."""
    for at, (name, table) in enumerate(profile["tables"].items()):
        table["seeds"] = 1
        table |= {key: most for key, most in ROWS.items() if key in table and not isinstance(table[key], list)}
        table |= {key: [table[key][0], table[key][-1]] for key in ENDS if len(table.get(key, ())) > 2}
        if table["dataset"] == ELPV:
            table["n_neg_unl"] = 10  # of 22, of which the test has some
        if isinstance(table.get("n_unl"), list):
            table["n_unl"] = [20, 80]
        if table["scenario"] == "one_vs_all":
            table["pos"] = table["pos"][:1]
        if table["dataset"] in (CIFAR, ELPV):
            quick = [method for method in table["methods"] if method not in LONG]
            every = len(quick) if len(table["methods"]) == 10 else 3
            table["methods"] = ALONE.get(name, quick[at % every :: every])
    _shorten(profile)
    profile["encoders"]["imagenet"]["params"]["weights"] = weights
    for name in ("words", "mean_word"):
        profile["encoders"][name]["params"]["vectors"] = vectors
    return profile


def _shorten(node: Any) -> None:
    if isinstance(node, dict):
        node |= {key: min(few, node[key]) for key, few in FEW.items() if isinstance(node.get(key), int)}
        for below in node.values():
            _shorten(below)


@pytest.fixture
def project(mirror: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    whole = tmp_path / "mirror"
    whole.mkdir()
    for part in PARTS:
        (whole / part).symlink_to(mirror(part) / part)
    for name, of in ((CIFAR, "cifar10"), (ELPV, "elpv")):
        (whole / name).symlink_to(mirror(of) / of)
    weights, vectors = (
        sha256(next((whole / folder).glob(pattern)).read_bytes()).hexdigest()[:16]
        for folder, pattern in (("weights", "mobilenet_v2*.pth"), ("glove", "*.50d.txt"))
    )
    made = fresh(tmp_path / "project", "paper_small")
    for name, source in DATASETS.items():
        made.write(f"src/puoc/datasets/{name}.py", source)
    text = (REPOSITORY / "profiles" / "paper_small.yaml").read_text().replace("cifar10", CIFAR)
    for place in ("dataset: elpv\n", "      elpv: {0: "):  # the table keeps its name
        assert place in text
        text = text.replace(place, place.replace("elpv", ELPV))
    profile = yaml.safe_load(text)
    (made.root / "params.yaml").write_text(yaml.safe_dump(reduced(profile, weights, vectors), sort_keys=False))
    (made.root / "data").mkdir(exist_ok=True)
    for folder in ("weights", "glove"):
        shutil.copytree(whole / folder, made.root / "data" / folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Project(made.root, {"PUOC_MIRROR": str(whole)})


def passes(project: Project, *words: str) -> str:
    """The output of a command that must end with 0, however long it takes."""
    process = project.start(*words)
    output, _ = process.communicate(timeout=2400)
    assert process.returncode == 0, output
    return output


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_every_table_runs_by_its_name_and_stands_in_the_report(project: Project) -> None:
    params = yaml.safe_load((project.root / "params.yaml").read_text())
    tables = {name: f">{table['title']}</h1>" for name, table in params["tables"].items()}

    def states() -> dict[str, set[str]]:
        rows = pd.read_parquet(project.root / "results" / "compare" / "summary.parquet")
        return {str(name): set(part["state"]) for name, part in rows.groupby("table")}

    def shown() -> str:
        return site_text(project.root)

    passes(project, "dvc", "repro", "run@twitter")
    passes(project, "puoc", "report")
    assert states() == {name: {"ok"} if name == "twitter" else {"not run"} for name in tables}
    assert all(title in shown() for title in tables.values())

    passes(project, "dvc", "repro", "prepare", "select")
    passes(project, "puoc", "run", *tables)  # a stage of DVC for each would import all libraries for each
    project.each("compare", "report", "status")
    assert states() == {name: {"ok"} for name in tables}
    of_birds = params["tables"]["named_shift_bird"]
    assert len(project.rows("named_shift_bird")) == len(of_birds["methods"]) * len(of_birds["shifts"])

    del params["tables"]["synth2"]
    (project.root / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    project.each("plan", "report")
    assert tables["synth2"] not in shown()
    assert tables["synth1"] in shown()
