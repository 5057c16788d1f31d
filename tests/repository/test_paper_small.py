"""Every table of profiles/paper_small.yaml by its own name, at a size that takes minutes: few rows, hardly an epoch.

Classes, encoders, priors and methods are the profile's; of ten methods on CIFAR-10 a table keeps one, each table
another one, and of columns the first and the last. Each tenth picture of CIFAR-10 takes part: every trial scores all
rows of the training pool and the test, which takes far longer than such fits. One table asks for CSI, and one for
ImageNet features.
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
TENTH = "cifar10_tenth"
DATASET = """
from pathlib import Path

from puoc.datasets.cifar10 import CIFAR10
from puoc.datasets.declare.dataset import Arrays
from puoc.registry import dataset


@dataset("cifar10_tenth")
class CIFAR10Tenth(CIFAR10):
    counts = {"train": (500,) * 10, "test": (100,) * 10}
    digest = "a142a10060890a3ae93e057a13c7a956"

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        arrays = CIFAR10.load(folder)
        kept = sorted(row for label in range(10) for part in (0, 1) for row in rows(arrays, label, part))
        return Arrays(arrays.X[kept], arrays.y[kept], arrays.split[kept])


def rows(arrays: Arrays, label: int, part: int) -> list[int]:
    return ((arrays.y == label) & (arrays.split == part)).nonzero()[0][::10].tolist()
"""
ALONE = {"collapse": ["pu_csi"], "elpv": ["oc_cnn", "pu_cnn"]}  # large pictures
FEW = {"epochs": 2, "warmup_epochs": 1, "ascent_steps": 2, "batch_size": 32, "batch_size_u": 16}


def reduced(profile: dict[str, Any], weights: str, vectors: str) -> dict[str, Any]:
    """The profile with fewer rows, one seed, two epochs, and the frozen files of this mirror."""
    for at, (name, table) in enumerate(profile["tables"].items()):
        table["seeds"] = 1
        table |= {key: most for key, most in ROWS.items() if key in table and not isinstance(table[key], list)}
        table |= {key: [table[key][0], table[key][-1]] for key in ENDS if len(table.get(key, ())) > 2}
        if isinstance(table.get("n_unl"), list):
            table["n_unl"] = [20, 80]
        if table["scenario"] == "one_vs_all":
            table["pos"] = table["pos"][:1]
        if table["dataset"] in (TENTH, "elpv"):
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
    (whole / TENTH).symlink_to(mirror("cifar10") / "cifar10")
    weights, vectors = (
        sha256(next((whole / folder).glob(pattern)).read_bytes()).hexdigest()[:16]
        for folder, pattern in (("weights", "mobilenet_v2*.pth"), ("glove", "*.50d.txt"))
    )
    made = fresh(tmp_path / "project", "paper_small")
    made.write(f"src/puoc/datasets/{TENTH}.py", DATASET)
    profile = yaml.safe_load((REPOSITORY / "profiles" / "paper_small.yaml").read_text().replace("cifar10", TENTH))
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
    passes(project, "puoc", "compare")
    passes(project, "puoc", "report")
    assert states() == {name: {"ok"} for name in tables}
    passes(project, "puoc", "status")
    of_birds = params["tables"]["named_shift_bird"]
    assert len(project.rows("named_shift_bird")) == len(of_birds["methods"]) * len(of_birds["shifts"])

    del params["tables"]["synth2"]
    (project.root / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    passes(project, "puoc", "plan")
    passes(project, "puoc", "report")
    assert tables["synth2"] not in shown()
    assert tables["synth1"] in shown()
