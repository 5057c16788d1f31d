"""Digests of code: what a result depends on besides its question.

A digest is taken of syntax trees without docstrings, comments and line numbers, so a comment recomputes nothing and a
changed operator recomputes what reaches it. It is the same from a wheel, a checkout and a container.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

#: Modules of puoc whose code can change what a method learns. Others are contracts, records and plumbing.
_LEARNING = ("methods", "priors", "encoders", "estimator", "deep", "lanes", "risks", "nets", "augment")
_SCORING = ("puoc.scoring",)
_DRAWING = ("puoc.draws", "puoc.prepare")


def code_digest(module: str) -> str:
    """Digest of a method's module and of every module it reaches among those that can change a result."""
    return _digest(_reached(module))


def draw_digest(module: str) -> str:
    """Digest of what decides which rows a sample holds: scenarios, preparation and the dataset's module."""
    return _digest({*_DRAWING, module})


def scoring_digest() -> str:
    """Digest of the code that turns scores into an AUC."""
    return _digest(set(_SCORING))


def _reached(start: str) -> set[str]:
    reached, queue = {start}, [start]
    while queue:
        for module in _imports(queue.pop()):
            if module not in reached and _is_learning(module):
                reached.add(module)
                queue.append(module)
    return reached


def _is_learning(module: str) -> bool:
    parts = module.split(".")
    return len(parts) > 1 and parts[0] == "puoc" and parts[1] in _LEARNING


@cache
def _imports(module: str) -> frozenset[str]:
    """Modules of puoc that a module imports, wherever in it the import stands."""
    found: set[str] = set()
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(name for name in found if name.startswith("puoc.") and _source(name) is not None)


@cache
def _source(module: str) -> Path | None:
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # "from puoc.risks import nn_risk" names no module puoc.risks.nn_risk
        return None
    return Path(spec.origin) if spec and spec.origin else None


@cache
def _tree(module: str) -> ast.Module:
    source = _source(module)
    if source is None:
        raise ValueError(f"no source of module {module} was found; puoc needs its own source to name its results")
    return ast.parse(source.read_bytes())


def _digest(modules: Iterable[str]) -> str:
    text = "\n".join(f"{name} {_canonical(_tree(name))}" for name in sorted(modules))
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _canonical(node: ast.AST) -> str:
    """One text for equal syntax. ast.dump is not used: its form differs between Python versions."""
    parts = []
    for field, value in ast.iter_fields(node):
        if field == "body" and isinstance(value, list):
            value = _without_docstring(node, value)
        if isinstance(value, list):
            inner = ",".join(_canonical(item) if isinstance(item, ast.AST) else repr(item) for item in value)
            parts.append(f"{field}=[{inner}]" if value else "")
        elif value is not None and field not in ("kind", "type_comment"):
            parts.append(f"{field}={_canonical(value) if isinstance(value, ast.AST) else repr(value)}")
    return f"{type(node).__name__}({';'.join(part for part in parts if part)})"


def _without_docstring(node: ast.AST, body: list[ast.stmt]) -> list[ast.stmt]:
    holds_docstring = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    if holds_docstring and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return body[1:]
    return body
