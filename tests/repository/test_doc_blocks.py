"""Each block of README.md, CONTRIBUTING.md and docs/ is run, here or by a test that it names, or says why not."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import test_tutorials
from pages import Block, blocks, run_page
from PIL import Image
from planned import plan
from project import REPOSITORY
from ruamel.yaml import YAML

from puoc.analysis import metrics
from puoc.analysis.compare import compare
from puoc.run.stages import run_part

PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "SECURITY.md",
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]
#: Pages with a block that runs, but for those that test_tutorials runs.
RUN = [
    page
    for page in PAGES
    if page not in test_tutorials.RUN and any(not (one.not_run or one.run_by) for one in blocks(page))
]
#: Pages whose commands ask about a project with results.
OF_A_PROJECT = ("cluster", "ledger", "results")


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory, prepared_data: Callable[[str], Path]) -> Path:
    """A project with two tables of the default profile, at a small size. To be read, not changed."""
    root = tmp_path_factory.mktemp("computed")
    yaml = YAML(typ="safe")
    params = yaml.load((REPOSITORY / "profiles" / "quick.yaml").read_text())
    small = {"n_pos_lab": 20, "seeds": 2, "configs": "published", "methods": ["oc_svm", "pu_svm"]}
    tables = params["tables"]
    params["tables"] = {
        "one_vs_all": tables["one_vs_all"] | small | {"pos": [3, 5], "n_pos_unl": 20, "n_neg_unl": 20},
        "size_sweep": tables["size_sweep"] | small | {"n_unl": [20, 40]},
    }
    yaml.dump(params, root / "made.yaml")
    shutil.copytree(REPOSITORY / "tuning", root / "tuning")
    plan((root / "made.yaml").read_text(), root)
    shutil.copytree(prepared_data("mnist5k"), root / "work" / "prepared" / "mnist5k")
    for table in params["tables"]:
        assert run_part(root, "tables", table)["failed"] == 0
    compare(root)
    return root


@pytest.fixture
def of_the_page() -> Iterator[None]:
    """Forget the metric of a page."""
    yield
    metrics._REGISTERED.pop("youden", None)


@pytest.mark.slow
@pytest.mark.usefixtures("of_the_page")
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_every_block_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    folder = tmp_path / "project"
    if page.stem in OF_A_PROJECT:
        shutil.copytree(request.getfixturevalue("computed"), folder)
    else:
        folder.mkdir()
    _files_of_a_reader(folder)
    run_page(page, folder, monkeypatch)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_a_marker_gives_a_reason_or_a_test_that_exists(page: Path) -> None:
    assert [fault for block in blocks(page) for fault in faults_of(block)] == []
    markers = re.findall(r"<!-- (?:not run|run by)\b", page.read_text())
    assert len(markers) == sum(bool(one.not_run or one.run_by) for one in blocks(page)), "a marker before no block"


def test_faults_of_markers_are_found() -> None:
    for marker, fault in (
        ({"not_run": "long"}, "expected a reason"),
        ({"run_by": "tests/repository/test_none.py"}, "no file"),
        ({"run_by": "docs/generate.py"}, "no file"),
        ({"run_by": "tests/repository/test_docs.py::test_none"}, "no test"),
    ):
        [found] = faults_of(Block(**{"not_run": "", "run_by": "", "language": "sh", "title": "", "text": ""} | marker))
        assert fault in found
    assert list(faults_of(Block("takes a whole night", "", "sh", "", ""))) == []
    assert list(faults_of(Block("", "tests/repository/test_doc_blocks.py", "sh", "", ""))) == []


def faults_of(block: Block) -> Iterator[str]:
    """Yield what is wrong with the marker of a block."""
    if block.not_run and len(block.not_run.split()) < 3:
        yield f"not run: got {block.not_run!r}; expected a reason of three words or more"
    if block.run_by:
        name, _, test = block.run_by.partition("::")
        path = REPOSITORY / name
        if not re.fullmatch(r"tests/([\w/]+/)?test_\w+\.py", name) or not path.is_file():
            yield f"run by: there is no file of tests {name}"
        elif test and not re.search(rf"^def {re.escape(test)}\(", path.read_text(), re.MULTILINE):
            yield f"run by: {name} has no test {test}"


def payments(fraud: int, honest: int, seed: int) -> pd.DataFrame:
    """Draw payments in random order, with their label in the column ``fraud``."""
    drawn = np.random.default_rng(seed)
    label = drawn.permutation(np.arange(fraud + honest) < fraud)
    return pd.DataFrame(
        {
            "amount": np.exp(drawn.normal(np.where(label, 4.8, 3.5), 0.7)).round(2),
            "hour": (drawn.normal(np.where(label, 3.5, 14.0), 3.0) % 24).round(1),
            "attempts": drawn.poisson(np.where(label, 2.0, 0.6)),
            "country": np.where(drawn.random(len(label)) < np.where(label, 0.5, 0.15), "abroad", "home"),
            "alarm": 0,
            "fraud": np.where(label, "yes", "no"),
        }
    )


def _files_of_a_reader(folder: Path) -> None:
    """Write the files that pages name: payments in several files, and pictures."""
    labelled, unlabelled, new = payments(150, 0, 1), payments(60, 540, 2), payments(30, 270, 3)
    named = {"p": labelled, "P": labelled, "u": unlabelled, "U": unlabelled, "new": new, "V": new}
    for name, rows in named.items():
        rows.drop(columns="fraud").to_csv(folder / f"{name}.csv", index=False)
    new.rename(columns={"fraud": "y"}).to_csv(folder / "t.csv", index=False)
    both = pd.concat([labelled.assign(y=1), unlabelled.assign(y=0)]).drop(columns="fraud")
    both.sample(frac=1, random_state=0).to_csv(folder / "all.csv", index=False)
    later = new.drop(columns="fraud").assign(alarm=7, amount=(new["amount"] * 100).round())
    later.loc[:20, "country"] = "online"
    later.loc[:8, "hour"] = np.nan
    later.to_csv(folder / "later.csv", index=False)
    drawn = np.random.default_rng(0)
    for name, number in (("p", 6), ("u", 8)):
        (folder / "pictures" / name).mkdir(parents=True)
        for at in range(number):
            values = drawn.integers(0, 256, (12, 12), dtype=np.uint8)
            Image.fromarray(values).save(folder / "pictures" / name / f"{at}.png")
