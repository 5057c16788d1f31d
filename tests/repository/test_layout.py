"""The layout of the package: few packages, a purpose and public names for each, and no circle of imports."""

from __future__ import annotations

import ast
import subprocess
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
PACKAGES = sorted(path.parent for path in SOURCE.glob("puoc/**/__init__.py"))


def test_the_top_has_at_most_ten_packages_and_five_modules() -> None:
    packages = [path for path in (SOURCE / "puoc").iterdir() if (path / "__init__.py").exists()]
    modules = [path for path in (SOURCE / "puoc").glob("*.py") if path.name not in ("__init__.py", "__main__.py")]
    assert len(packages) <= 10
    assert len(modules) <= 5


def test_the_repository_has_no_stray_file_at_its_top() -> None:
    """A command that is tried in the repository leaves its output there, and it is soon committed."""
    known = {
        ".ci",
        ".dvc",
        ".github",
        "bench",
        "docs",
        "mlruns",
        "own",
        "profiles",
        "published",
        "src",
        "tests",
        "tuning",
    }
    known |= {"CHANGELOG.md", "CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"}
    known |= {".dockerignore", ".dvcignore", ".gitignore", ".pre-commit-config.yaml", "Dockerfile", "LICENSE"}
    known |= {"Makefile", "constraints.txt", "data.dvc", "dvc.lock", "dvc.yaml", "params.yaml", "pyproject.toml"}
    known |= {"mkdocs.yml"}
    asked = subprocess.run(["git", "ls-files"], cwd=SOURCE.parent, capture_output=True, text=True, check=False)
    if asked.returncode:
        pytest.skip("no git checkout")
    assert {line.partition("/")[0] for line in asked.stdout.splitlines()} <= known


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_package_says_its_purpose_and_its_public_names(package: Path) -> None:
    tree = ast.parse((package / "__init__.py").read_text())
    doc = ast.get_docstring(tree)
    assert doc
    assert doc.split("\n\n")[0].rstrip().endswith(".")
    [names] = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    defined = {
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    defined |= {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    defined |= {
        target.id
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    defined |= _loaded_later(tree)
    modules = {path.stem for path in package.glob("*.py")} | {
        path.parent.name for path in package.glob("*/__init__.py")
    }
    assert set(names) <= defined | modules
    assert names
    # a package without names of its own lists all its public modules
    if not set(names) & defined:
        assert set(names) == {name for name in modules if not name.startswith("_")}


def _loaded_later(tree: ast.Module) -> set[str]:
    """Names that __getattr__ of puoc loads at their first use."""
    values = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_PUBLIC"
    ]
    return {ast.literal_eval(key) for value in values if isinstance(value, ast.Dict) for key in value.keys if key}


def test_no_packages_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.glob("puoc/*/**/*.py"):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for name in _imported(ast.parse(path.read_text())):
            source, target = _package(module), _package(name)
            if target != source and target != "puoc":
                graph[source].add(target)
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"a circle of packages: {' <- '.join(error.args[1])}")


def _imported(tree: ast.Module) -> list[str]:
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("puoc"):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names if alias.name.startswith("puoc")]
    return names


def _package(name: str) -> str:
    """Return the innermost package that a dotted name is in, or the package itself."""
    parts = name.split(".")
    while not (SOURCE.joinpath(*parts) / "__init__.py").exists():
        parts.pop()
    return ".".join(parts)
