"""Digests of code: what a result depends on besides its question.

A digest is taken of syntax trees without docstrings, comments and line numbers, so a comment recomputes nothing and a
changed operator recomputes what reaches it. It is the same from a wheel, a checkout and a container.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec, resolve_name
from pathlib import Path

#: Modules of puoc whose code can change what a method learns, with all below them. Others are contracts, records and
#: plumbing. Of texts an encoder reads the bytes and the file of vectors itself, so these two count as well.
_LEARNING = frozenset(
    ("methods", "priors", "encoders", "solvers", "estimator", "deep", "lanes", "risks", "nets", "trunks", "augment")
) | {"components", "datasets.texts", "fetch.vectors"}
#: Modules of puoc that decide which rows a sample holds. Which samples a scenario asks for is in the questions.
_DRAWING = frozenset(("draws", "prepare", "datasets"))
_SCORING = frozenset(("scoring",))


def code_digest(module: str, *others: str) -> str:
    """Digest of a method's module, of others that its fit needs (an encoder's), and of all that these reach.

    Reached is what is imported, directly or by way of another module, among those that can change a result.
    """
    return _digest(_reached({module, *others}, _LEARNING))


def draw_digest(module: str) -> str:
    """Digest of what decides which rows a sample holds: draws, preparation and the dataset's module."""
    return _digest(_reached({"puoc.draws", "puoc.prepare", module}, _DRAWING))


def scoring_digest() -> str:
    """Digest of the code that turns scores into an AUC."""
    return _digest(_reached({"puoc.scoring"}, _SCORING))


def _reached(starts: set[str], among: frozenset[str]) -> set[str]:
    reached, queue = set(starts), list(starts)
    while queue:
        for module in _imports(queue.pop()):
            if module not in reached and _is_below(module, among):
                reached.add(module)
                queue.append(module)
    return reached


def _is_below(module: str, among: frozenset[str]) -> bool:
    """Whether a module of puoc is one of these, or in a package that is."""
    parts = module.split(".")[1:]
    return any(".".join(parts[:n]) in among for n in range(1, len(parts) + 1))


@cache
def _imports(module: str) -> frozenset[str]:
    """Modules of puoc that a module imports, wherever in it the import stands."""
    found: set[str] = set()
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(node, module)
            found.add(origin)
            found |= {f"{origin}.{alias.name}" for alias in node.names}
    return frozenset(name for name in found if name.startswith("puoc.") and _source(name) is not None)


def _origin(node: ast.ImportFrom, module: str) -> str:
    """The module that ``from ... import`` names, with leading dots resolved."""
    if not node.level:
        return str(node.module)
    source = _source(module)
    package = module if source and source.name == "__init__.py" else module.rpartition(".")[0]
    return resolve_name("." * node.level + (node.module or ""), package)


@cache
def _source(module: str) -> Path | None:
    """The file of a module, found without importing anything: what is installed must not decide what is found."""
    top, *inner = module.split(".")
    spec = find_spec(top)
    if spec is None:
        return None
    if not inner:
        return Path(spec.origin) if spec.origin else None
    for root in spec.submodule_search_locations or ():
        path = Path(root).joinpath(*inner)
        for source in (path / "__init__.py", path.with_name(f"{path.name}.py")):
            if source.is_file():
                return source
    return None  # "from puoc.risks import nn_risk" names no module puoc.risks.nn_risk


@cache
def _tree(module: str) -> ast.Module:
    source = _source(module)
    if source is None:
        raise ValueError(f"no source of module {module} was found; puoc needs its own source to name its results")
    return ast.parse(source.read_bytes())


def _digest(modules: Iterable[str]) -> str:
    text = "\n".join(f"{name} {_text(name)}" for name in sorted(modules))
    return blake2b(text.encode(), digest_size=8).hexdigest()


@cache
def _text(module: str) -> str:
    return _canonical(_tree(module))


def _canonical(node: ast.AST) -> str:
    """One text for equal syntax. ast.dump is not used: its form differs between Python versions."""
    parts = []
    for field, value in ast.iter_fields(node):
        if isinstance(value, list):
            kept = [item for item in value if not _is_remark(item)]
            inner = ",".join(_canonical(item) if isinstance(item, ast.AST) else repr(item) for item in kept)
            parts.append(f"{field}=[{inner}]" if kept else "")
        elif value is not None and field not in ("kind", "type_comment"):
            parts.append(f"{field}={_canonical(value) if isinstance(value, ast.AST) else repr(value)}")
    return f"{type(node).__name__}({';'.join(part for part in parts if part)})"


def _is_remark(node: object) -> bool:
    """True for a docstring, or any other constant that stands alone as a statement and does nothing."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
