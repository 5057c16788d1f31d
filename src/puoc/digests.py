"""Digests of the code that a result depends on, besides the parameters of its fit.

A digest follows definitions, not files. It starts at a class or a function and covers every definition that this one
reaches inside the code that can change a result. The path and name of a module, the order of imports, docstrings,
comments, annotations of functions and the text of error messages do not count. So moving a class changes no id of a
fit, and a changed operator changes the ids of the fits that reach it. The digest is the same from a wheel, a checkout
and a container.

The file has more than 300 lines because it must be copied and tested alone, and imports nothing of puoc.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec, resolve_name
from pathlib import Path

#: Packages and modules of puoc whose code can change what a method learns. A text encoder reads bytes and vectors
#: itself, so the two modules for them count as well.
_LEARNING = frozenset(("methods", "datasets.declare.texts", "datasets.prepare.word_vectors"))
#: Modules that decide which rows a sample has. The plan contains the cells of a scenario, so scenarios do not count.
_DRAWING = frozenset(("scenarios.drawing.draws", "datasets", "datasets.prepare.arrays"))
#: The same for samples whose labelling is not the default; other samples do not depend on it.
_LABELLING = frozenset(("scenarios.drawing.labelled_draws", "scenarios.drawing.propensity"))
#: Parts of these that change no result: they read hyperparameters and raw files, they save and resume a training with
#: the same bits, and they keep the compiler of torch from being loaded.
_NEUTRAL = frozenset(
    (
        "methods.persistence",
        "methods.training.checkpoints",
        "methods.training.from_params",
        "methods.training.uncompiled",
        "datasets.prepare",
        "datasets.readers",
        "datasets.user.declare",
        "datasets.user.file_stamps",
        "datasets.user.leakage",
    )
)
_SCORING = frozenset(("analysis.statistics.auc",))

_DRAW_ROOTS = ("puoc.scenarios.drawing.draws", "puoc.datasets.prepare.arrays")
_LABELLING_ROOTS = ("puoc.scenarios.drawing.labelled_draws", "puoc.scenarios.drawing.propensity")
_SCORING_ROOTS = ("puoc.analysis.statistics.auc",)

# isinstance() is faster with a tuple that exists than with a union that is made in each call
_BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)
_NAMES = (ast.Name, ast.Attribute)
_IMPORTS = (ast.Import, ast.ImportFrom)

#: Code that a fit reaches besides its method: the encoder that fits nothing, and the selection of the class prior.
PLAIN_ENCODER = "puoc.methods.encoders:plain"
PRIOR = "puoc.methods.priors:class_prior"


@dataclass(frozen=True)
class Definition:
    """A name that a module defines; ``*`` stands for the statements of the module that run for their effect."""

    module: str
    name: str


@dataclass
class _Module:
    """A parsed module: its definitions, its imports and the statements that run for their effect."""

    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: dict[str, list[tuple[str, str | None]]] = field(default_factory=dict)  # alias -> (module, attribute)
    effects: list[ast.stmt] = field(default_factory=list)


def code_digest(*roots: str | type) -> str:
    """Return the digest of all learning code that the roots reach.

    Parameters
    ----------
    roots : classes, ``"module:name"`` for one definition, or ``"module"`` for all definitions of a module.
    """
    return _digest(tuple(map(_root, roots)), _LEARNING)


def draw_digest(dataset: str | type) -> str:
    """Return the digest of the code that decides which rows a sample has: draws, preparation and the dataset."""
    return _digest((*_DRAW_ROOTS, _root(dataset)), _DRAWING)


def labelled_draw_digest(dataset: str | type) -> str:
    """Return the digest of ``draw_digest`` and of the code that draws P by a propensity or with noise."""
    return _digest((*_DRAW_ROOTS, *_LABELLING_ROOTS, _root(dataset)), _DRAWING | _LABELLING)


def scoring_digest() -> str:
    """Return the digest of the code that turns scores into an AUC."""
    return _digest(_SCORING_ROOTS, _SCORING)


def _root(root: str | type) -> str:
    """Return a class as ``"module:name"``; a class made at run time counts as the class that it derives from."""
    if isinstance(root, str):
        return root
    for cls in root.__mro__:
        if cls.__module__ != "builtins" and cls.__qualname__ in _module(cls.__module__).definitions:
            return f"{cls.__module__}:{cls.__qualname__}"
    raise ValueError(f"no source of class {root.__qualname__} of module {root.__module__} was found")


@cache
def _digest(roots: tuple[str, ...], among: frozenset[str]) -> str:
    """Hash the reached definitions with their references, by colour refinement.

    Each definition begins with the hash of its own text. A round adds the hashes of the definitions that it
    refers to, in order. Rounds end when they distinguish no further definitions. So it matters which of two definitions
    with the same name is referred to.
    """
    references = reached(roots, among)
    colours = {definition: _hash(_text(definition, _homes(roots, among))[0]) for definition in references}
    distinct = 0
    while len(set(colours.values())) > distinct:
        distinct = len(set(colours.values()))
        colours = {
            definition: _hash(colours[definition], *(colours[target] for target in targets))
            for definition, targets in references.items()
        }
    starts = [colours[start] for root in roots for start in _starts(root) if start in colours]
    return _hash(*sorted(starts), "|", *sorted(set(colours.values())), size=8)


def _hash(*parts: str, size: int = 16) -> str:
    return blake2b("\n".join(parts).encode(), digest_size=size).hexdigest()


def reached(roots: Iterable[str], among: frozenset[str]) -> dict[Definition, tuple[Definition, ...]]:
    """Return each definition that the roots reach among these modules, with the definitions that it refers to."""
    roots = tuple(roots)
    homes = _homes(roots, among)
    queue = [start for root in roots for start in _starts(root)]
    references: dict[Definition, tuple[Definition, ...]] = {}
    while queue:
        definition = queue.pop()
        if definition not in references:
            references[definition] = _text(definition, homes)[1]
            queue.extend(references[definition])
    return references


@dataclass(frozen=True)
class _Homes:
    """The modules in which references are followed: some of puoc, and the packages of roots outside puoc."""

    among: frozenset[str]
    foreign: frozenset[str]

    def __contains__(self, module: str) -> bool:
        top, *parts = module.split(".")
        if top != "puoc":
            return top in self.foreign
        for n in range(len(parts), 0, -1):  # the closest package that is named decides
            name = ".".join(parts[:n])
            if name in self.among or name in _NEUTRAL:
                return name in self.among
        return False


def _homes(roots: Iterable[str], among: frozenset[str]) -> _Homes:
    return _Homes(among, frozenset(root.split(":")[0].split(".")[0] for root in roots) - {"puoc"})


def _starts(root: str) -> list[Definition]:
    module, _, name = root.partition(":")
    known = _module(module).definitions
    if not name:
        return [Definition(module, known_name) for known_name in (*known, "*")]
    if name not in known:
        raise ValueError(f"module {module} defines no {name} at its top level; expected a definition with a source")
    return [Definition(module, name)]


@cache
def _module(name: str) -> _Module:
    module = _Module()
    tree = _tree(name)
    for node in _blocks(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = (alias.name, None) if alias.asname else (alias.name.split(".")[0], None)
                module.imports.setdefault(alias.asname or bound[0], []).append(bound)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(node, name)
            for alias in node.names:
                module.imports.setdefault(alias.asname or alias.name, []).append((origin, alias.name))
    for statement in _statements(tree.body):
        for bound_name in _bound(statement):
            module.definitions.setdefault(bound_name, []).append(statement)
        if not _bound(statement) and not _is_remark(statement):
            module.effects.append(statement)
    return module


def _blocks(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what can contain or be a statement, in the order of ``ast.walk``, without the many expressions."""
    queue = deque[ast.AST]([tree])
    while queue:
        node = queue.popleft()
        queue.extend(inner for inner in ast.iter_child_nodes(node) if isinstance(inner, _BLOCKS))
        yield node


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, without imports and without code that only type checkers read."""
    for statement in body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test).endswith("TYPE_CHECKING"):
            yield from _statements(statement.orelse)
        elif not isinstance(statement, _IMPORTS):
            yield statement


def _bound(statement: ast.stmt) -> list[str]:
    """Return the names that a statement defines; none if it runs for another effect."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        parts = [part for node in targets for part in (node.elts if isinstance(node, ast.Tuple | ast.List) else [node])]
        return [part.id for part in parts if isinstance(part, ast.Name)]
    if isinstance(statement, ast.TypeAlias if hasattr(ast, "TypeAlias") else ()):
        return [ast.unparse(statement.name)]
    return []


@cache
def _text(definition: Definition, homes: _Homes) -> tuple[str, tuple[Definition, ...]]:
    """Return the canonical text of a definition and the definitions it refers to, in order."""
    module = _module(definition.module)
    nodes = module.effects if definition.name == "*" else module.definitions[definition.name]
    writer = _Writer(definition.module, homes)
    text = "\n".join(writer.write(node) for node in nodes)
    effects = [Definition(definition.module, "*")] if module.effects and definition.name != "*" else []
    return text, tuple(dict.fromkeys(target for target in (*writer.references, *effects) if target != definition))


class _Writer:
    """Write syntax as text that is equal for equal code, and record the definitions that it refers to.

    ``ast.dump`` is not used because its form differs between Python versions.
    """

    def __init__(self, module: str, homes: _Homes):
        self._name, self._module, self._homes = module, _module(module), homes
        self.references: list[Definition] = []
        self._in_error = False

    def write(self, node: ast.AST) -> str:
        if isinstance(node, _NAMES):
            named = self._named(node)
            if named is not None:
                return named
        if self._in_error and (isinstance(node, ast.JoinedStr) or _is_text(node)):
            return "message"
        if isinstance(node, ast.Raise):
            self._in_error = True
            text = self._fields(node)
            self._in_error = False
            return text
        return self._fields(node)

    def _fields(self, node: ast.AST) -> str:
        parts = []
        for name, value in ast.iter_fields(node):
            if _does_nothing(node, name):
                continue
            if isinstance(value, list):
                kept = [item for item in value if not _is_remark(item) and not _is_import(item)]
                inner = ",".join(self.write(item) if isinstance(item, ast.AST) else repr(item) for item in kept)
                parts.append(f"{name}=[{inner}]" if kept else "")
            elif value is not None:
                parts.append(f"{name}={self.write(value) if isinstance(value, ast.AST) else repr(value)}")
        return f"{type(node).__name__}({';'.join(part for part in parts if part)})"

    def _named(self, node: ast.Name | ast.Attribute) -> str | None:
        """Return the text of a name that the module defines or imports, and record it; None for other names."""
        if isinstance(node, ast.Name) and node.id in self._module.definitions:
            self._refer(self._name, node.id)
        texts = [self._imported(*target) for target in self._targets(node)]
        return "|".join(sorted(set(texts))) if texts else None

    def _targets(self, node: ast.AST) -> list[tuple[str, str | None]]:
        """Return the (module, attribute) that a name, or an attribute of an imported module, refers to."""
        if isinstance(node, ast.Name):
            return [_inside(*target) for target in self._module.imports.get(node.id, [])]
        if isinstance(node, ast.Attribute):
            modules = [module for module, attribute in self._targets(node.value) if attribute is None]
            return [_inside(module, node.attr) for module in modules]
        return []

    def _imported(self, module: str, attribute: str | None) -> str:
        if module not in self._homes and module.split(".")[0] != "puoc":
            return f"{module}.{attribute}" if attribute else module
        if module in self._homes and _source(module) is not None:
            if attribute is None:  # the module itself is passed on, so any definition of it may be used
                for name in _module(module).definitions:
                    self._refer(module, name)
            else:
                self._refer(module, attribute)
        return f"name {attribute}" if attribute else "module"

    def _refer(self, module: str, name: str, depth: int = 0) -> None:
        """Record a reference to a definition; an imported one is recorded in the module that defines it."""
        if module not in self._homes or _source(module) is None or depth > 20:
            return
        if name in _module(module).definitions:
            self.references.append(Definition(module, name))
            return
        for origin, attribute in _module(module).imports.get(name, []):
            if attribute is not None:
                self._refer(origin, attribute, depth + 1)


def _inside(module: str, attribute: str | None) -> tuple[str, str | None]:
    """Return a module of a package as (module, None): ``from puoc import risks`` imports no attribute of puoc."""
    if attribute is not None and module.split(".")[0] == "puoc" and _source(f"{module}.{attribute}") is not None:
        return f"{module}.{attribute}", None
    return module, attribute


def _does_nothing(node: ast.AST, name: str) -> bool:
    """Return True for a field that changes no result: hints for type checkers, contexts, the message of an assert."""
    if name in ("kind", "type_comment", "ctx", "type_params"):
        return True
    if name == "returns" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return True
    if name == "annotation" and isinstance(node, ast.arg):
        return True
    return name == "msg" and isinstance(node, ast.Assert)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_import(node: object) -> bool:
    return isinstance(node, _IMPORTS)


def _is_remark(node: object) -> bool:
    """Return True for a docstring, or any other constant that stands alone as a statement and does nothing."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _origin(node: ast.ImportFrom, module: str) -> str:
    """Return the module that ``from ... import`` names, with leading dots resolved."""
    if not node.level:
        return str(node.module)
    source = _source(module)
    package = module if source and source.name == "__init__.py" else module.rpartition(".")[0]
    return resolve_name("." * node.level + (node.module or ""), package)


@cache
def _source(module: str) -> Path | None:
    """Return the file of a module, found without an import, so that installed packages cannot change the result."""
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
    return None  # "from puoc.methods.training.risks import nn_risk" names no module puoc.methods.training.risks.nn_risk


@cache
def _tree(module: str) -> ast.Module:
    source = _source(module)
    if source is None:
        raise ValueError(f"no source of module {module} was found; puoc needs its own source to name its results")
    return ast.parse(source.read_bytes())
