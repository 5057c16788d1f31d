"""What README.md and docs/ say is tried here: their tables, their examples, their commands."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from ruamel.yaml import YAML

from puoc.analysis.compare import COMPARED
from puoc.datasets import DATASETS
from puoc.methods import METHODS, encoders, make, priors
from puoc.plan.params import read_params
from puoc.scenarios import SCENARIOS
from puoc.store.result_rows import ResultRow
from puoc.store.yaml_file import YamlFile

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def code_blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def run_as_module(source: str, path: Path, name: str) -> ModuleType:
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def registries() -> Iterator[None]:
    methods, datasets = dict(METHODS), dict(DATASETS)
    yield
    for table, before in ((METHODS, methods), (DATASETS, datasets)):
        table.clear()
        table.update(before)
    for name in ("puoc.methods.my_upu", "puoc.datasets.my_iris"):
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_tables_are_what_the_committed_rows_give() -> None:
    done = subprocess.run([sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("registries")
def test_the_method_of_the_docs_learns_an_easy_problem(tmp_path: Path) -> None:
    (source,) = code_blocks("docs/adding-a-method.md", "python")
    entry, needed, _of_other_packages = code_blocks("docs/adding-a-method.md", "yaml")
    for section, kind in (("encoders", encoders), ("priors", priors)):
        for name, asked in YAML(typ="safe").load(needed)[section].items():
            assert kind.normalise(asked.get(section.rstrip("s"), name), asked["params"]) == asked["params"]
    run_as_module(source, tmp_path / "my_upu.py", "puoc.methods.my_upu")
    params = YAML(typ="safe").load(entry)["methods"]["my_upu"]["params"]
    rng = np.random.default_rng(0)
    positive, negative = (rng.normal(shift, 1, (400, 8)).astype(np.float32) for shift in (1, -1))
    fitted = make("my_upu", params).fit(positive[:100], np.concatenate([positive[100:200], negative[:100]]), alpha=0.5)
    scores = [fitted.decision_function(rows[200:]) for rows in (positive, negative)]
    assert (scores[0][:, None] > scores[1]).mean() > 0.9


@pytest.mark.usefixtures("registries")
def test_the_dataset_of_the_docs_is_what_it_declares(tmp_path: Path) -> None:
    (source,) = code_blocks("docs/adding-a-dataset.md", "python")
    run_as_module(source, tmp_path / "my_iris.py", "puoc.datasets.my_iris")
    from puoc.datasets.prepare import ensure
    from puoc.datasets.prepare.arrays import prepare

    ensure("my_iris", tmp_path / "data")
    assert prepare("my_iris", tmp_path / "data", tmp_path / "prepared") == DATASETS["my_iris"].digest


def test_the_table_of_the_readme_is_a_valid_question(tmp_path: Path) -> None:
    (block,) = code_blocks("README.md", "yaml")
    yaml = YAML()
    params = yaml.load(ROOT / "profiles" / "quick.yaml")
    params["tables"].update(yaml.load(block)["tables"])
    yaml.dump(params, tmp_path / "params.yaml")
    shutil.copytree(ROOT / "tuning", tmp_path / "tuning")
    assert "my_table" in read_params(tmp_path / "params.yaml").tables


def test_the_page_on_results_names_every_column_and_file() -> None:
    page = (ROOT / "docs" / "results.md").read_text()
    section = page[page.index("## Rows of tables") : page.index("## Comparison")]
    first_cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(first_cells))) == sorted(field.name for field in fields(ResultRow))
    compared = re.findall(r"^\| `(\w+)\.parquet`", page, re.MULTILINE)
    assert compared == list(COMPARED)


def test_the_readme_lists_every_scenario_once() -> None:
    [line] = re.findall(r"scenario: (.*(?:\n +# .*)*)", code_blocks("README.md", "yaml")[0])
    listed = sorted(re.findall(r"[a-z]\w*_?\w*", line.replace(" # or ", "")))
    assert listed == sorted(SCENARIOS), f"README.md lists other scenarios than {', '.join(SCENARIOS)}"


def test_the_readme_counts_every_method_once() -> None:
    text = (ROOT / "README.md").read_text()
    [line] = re.findall(r"^\* \*\*Methods:\*\*(.*?)\. The formulas", text, re.DOTALL | re.MULTILINE)
    named, [further] = re.findall(r"`(\w+)`", line), re.findall(r"(\d+) further learners", line)
    by_name = {"pyod", "pulearn"}  # whose detectors and classifiers are named as a whole
    assert set(named) <= METHODS.keys() - by_name
    assert int(further) == len(METHODS.keys() - by_name - set(named))


def test_every_search_space_is_explained() -> None:
    text = (ROOT / "tuning" / "README.md").read_text()
    rows = [line.split("|")[1] for line in text.split("## The printed grids")[0].splitlines() if line.startswith("| `")]
    explained = [re.sub(r"<\w+>", r"\\w+", name) for row in rows for name in re.findall(r"`([^`]+)`", row)]
    explained += ["published_\\w+"]
    spaces = {name for path in (ROOT / "tuning" / "spaces").glob("*.yaml") for name in YamlFile(path).data}
    assert sorted(name for name in spaces if not any(re.fullmatch(one, name) for one in explained)) == []
    assert [one for one in explained if not any(re.fullmatch(one, name) for name in spaces)] == []


@pytest.mark.parametrize("profile", sorted((ROOT / "profiles").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_profile_is_valid(profile: Path, tmp_path: Path) -> None:
    shutil.copy(profile, tmp_path / "params.yaml")
    shutil.copytree(ROOT / "tuning", tmp_path / "tuning")
    assert read_params(tmp_path / "params.yaml").tables


def test_the_default_is_the_quick_profile() -> None:
    assert (ROOT / "params.yaml").read_text() == (ROOT / "profiles" / "quick.yaml").read_text()


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda path: path.name)
def test_a_link_of_the_site_is_named_after_its_page_and_not_after_a_file(page: Path) -> None:
    assert re.findall(r"\[[\w./-]+\.md\]\(", page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_and_named_files_exist(page: Path) -> None:
    text = page.read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    missing = [link for link in links if not (page.parent / link).exists()]
    named = re.findall(r"`((?:src|docs|tuning|profiles|bench|tests)/[\w./-]+)`", text)
    assert missing == []
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_commands_of_the_readme_exist() -> None:
    text = (ROOT / "README.md").read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", text)) <= targets
    from typer.main import get_command

    from puoc.cli.app import app

    known = set(get_command(app).commands)  # type: ignore[attr-defined]
    assert {word for word in re.findall(r"`?puoc ([a-z]+)", text) if word in known or f"puoc {word}`" in text} <= known


def test_the_numbered_deviations_give_the_sizes_of_the_profile() -> None:
    tables = YAML(typ="safe").load((ROOT / "profiles" / "paper.yaml").read_text())["tables"]
    text = (ROOT / "docs" / "reproduction.md").read_text()
    rows = {int(row[1]): row[0] for row in re.finditer(r"^\| (\d+) \|.*$", text, re.MULTILINE)}
    reviews, messages = tables["sequences_op_spam"], tables["sequences_sms_spam"]
    for number in (49, 59):
        assert f"{reviews['n_pos_lab']} + {reviews['n_pos_unl']}" in rows[number]
    assert f"{messages['n_pos_lab']:,} + {messages['n_pos_unl']:,} and {messages['n_neg_unl']}" in rows[48]
    assert str(messages["n_neg_unl"]) in rows[59]


def test_every_page_that_the_code_names_exists() -> None:
    named = {
        (path.name, page)
        for path in (ROOT / "src").rglob("*.py")
        for page in re.findall(r"\bdocs/[\w./-]*\w", path.read_text())
    }
    assert len(named) > 10
    assert [pair for pair in sorted(named) if not (ROOT / pair[1]).exists()] == []


def prose(text: str) -> Iterator[str]:
    """Return the paragraphs of a page without tables, code, lists and headings, with links as their words."""
    text = re.sub(r"<!-- table: \w+ -->.*?<!-- end -->|^(```|~~~).*?^\1\s*$", "\n\n", text, flags=re.S | re.M)
    for block in re.split(r"\n\s*\n", text):
        if not re.match(r"\s*([*+-] |\d+\. |[|#><!]|:::|    )", block):
            yield " ".join(re.sub(r"\]\([^)]*\)", "]", block).split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_paragraph_is_too_long_to_be_read(page: Path) -> None:
    assert [paragraph for paragraph in prose(page.read_text()) if len(paragraph) > 720] == []
