"""Registries of methods, encoders, priors, datasets and scenarios by the names in params.yaml.

Files register themselves. A registry imports the files of its package at its first use, not when puoc is imported, so a
command that needs no method does not load torch. It then imports what other installed packages name in an entry point
of its group, such as ``puoc.methods``.

What precedes each fit and each score of a registered class is here too: labels in the place of rows are refused,
DataFrames become arrays, and garbage is collected as usual from the first fit on. It changes no result, and the code of
the classes is part of the ids of fits.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import wraps
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from puoc.datasets.declare.dataset import Dataset
    from puoc.methods.training.estimator import Encoder, Estimator, PriorEstimator
    from puoc.scenarios.drawing.scenario import Scenario

B = TypeVar("B")
C = TypeVar("C", bound=type)
V = TypeVar("V")


class Registry(MutableMapping[str, type[B]], Generic[B]):
    """Subclasses of B by the name that params.yaml uses, from the files at the top of one package.

    Attributes
    ----------
    group : entry points by which other packages add classes; each names a module that registers them.
    """

    def __init__(self, kind: str, package: str):
        self.kind = kind
        self.group = f"puoc.{kind}s"
        self._package = package
        self._classes: dict[str, Any] = {}  # decorators of type checkers hide the base class
        self._loaded = False

    def _load(self) -> dict[str, type[B]]:
        if not self._loaded:
            from importlib.metadata import entry_points  # slow to import

            self._loaded = True  # a file may use the registry while it is being imported
            try:
                package = import_module(self._package)
                for module in iter_modules(package.__path__):
                    if not module.ispkg:
                        import_module(f"{self._package}.{module.name}")
                for point in entry_points(group=self.group):
                    _load_point(point)
            except BaseException:
                self._loaded = False
                raise
        return self._classes

    def registered(self, name: str) -> type[B] | None:
        """Return the class that is registered under a name so far, without an import; None if there is none."""
        return self._classes.get(name)

    def add(self, name: str, cls: type) -> None:
        """Register a class without importing the others."""
        self._classes[name] = cls

    def __getitem__(self, name: str) -> type[B]:
        return self._load()[name]

    def __setitem__(self, name: str, cls: type) -> None:
        self._load()
        self.add(name, cls)

    def __delitem__(self, name: str) -> None:
        del self._load()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())

    def __or__(self, other: Mapping[str, type[V]]) -> dict[str, type[B] | type[V]]:
        return {**self, **other}


def _load_point(point: EntryPoint) -> None:
    """Import the module of an entry point. Raises ValueError that names its package, if that fails."""
    try:
        point.load()
    except Exception as error:  # code of another package may fail in any way
        package = point.dist.name if point.dist else "an installed package"
        raise ValueError(
            f"{package}: its entry point {point.name} = {point.value} of {point.group} cannot be loaded "
            f"({type(error).__name__}: {error}); expected a module that registers a class. Mend or uninstall {package}"
        ) from error


class _Garbage:
    """Thresholds of the garbage collector that were in force before ``collect_rarely``; None if they still are."""

    usual: tuple[int, int, int] | None = None


def collect_rarely() -> None:
    """Collect garbage rarely until the first fit of this process, or of one that is forked from it.

    A command first imports a million objects that stay. To look at them again and again for garbage takes a sixth of
    the time of the imports. Fits are different: training with second derivatives leaves arrays in cycles at each step.
    """
    if _Garbage.usual is None:
        _Garbage.usual = gc.get_threshold()
        gc.set_threshold(100_000, 20, 10)


def _collect_as_usual() -> None:
    if _Garbage.usual is not None:
        gc.freeze()  # what was imported stays, so that collections during fits need not look at it
        gc.set_threshold(*_Garbage.usual)
        _Garbage.usual = None


METHODS: Registry[Estimator] = Registry("method", "puoc.methods")
ENCODERS: Registry[Encoder] = Registry("encoder", "puoc.methods.encoders")
PRIORS: Registry[PriorEstimator] = Registry("prior", "puoc.methods.priors")
DATASETS: Registry[Dataset] = Registry("dataset", "puoc.datasets")
SCENARIOS: Registry[Scenario] = Registry("scenario", "puoc.scenarios")


def _registrar(registry: Registry[B], name: str) -> Callable[[C], C]:
    learns = not any(registry is other for other in (DATASETS, SCENARIOS))  # == would load all files
    # the method of a fit may be a method, an encoder or a prior, so a name may be used once among these
    sharing = (METHODS, ENCODERS, PRIORS) if learns else (registry,)

    def register(cls: C) -> C:
        for known in (other.registered(name) for other in sharing):
            if known is None:
                continue
            if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
                places = f"in {known.__module__} and {cls.__module__}"
                raise ValueError(f"{registry.kind} {name!r} is defined twice, {places}; expected once")
        setattr(cls, "kind" if registry is SCENARIOS else "name", name)
        for learn in ("fit_lanes", "estimate") if learns else ():
            if hasattr(cls, learn):
                setattr(cls, learn, _refusing_labels(getattr(cls, learn)))
        if registry is METHODS and hasattr(cls, "decision_function"):
            scores = "decision_function"
            setattr(cls, scores, _taking_frames(getattr(cls, scores)))
        registry.add(name, cls)
        return cls

    return register


def _refusing_labels(learn: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse texts, and labels in the place of unlabelled rows, as ``fit(X, y)`` elsewhere passes them.

    One-class methods do not look at unlabelled rows, so they would take labels and train on all rows without a word.
    This is here and not in the classes, because it changes no result, and their code is part of the id of a fit.

    Parameters
    ----------
    learn : ``fit_lanes`` of a method or an encoder, or ``estimate`` of a class prior.
    """

    @wraps(learn)
    def checked(self: object, samples: Any, *args: Any, **kwargs: Any) -> Any:
        _collect_as_usual()
        alone = hasattr(samples, "X_u")
        given_samples = [samples] if alone else samples
        read = [_numbers(sample) for sample in given_samples]
        if any(one is not sample for one, sample in zip(read, given_samples, strict=True)):
            samples = read[0] if alone else read
        for sample in read:
            if sample.X_u is None:
                continue
            rows, given = sample.X_p.shape, sample.X_u.shape
            if len(given) < 2 or given[1:] != rows[1:] or _labels_of_one_column(sample.X_p, sample.X_u):
                raise ValueError(
                    f"X_u has shape {given}; expected unlabelled rows (n_u, {', '.join(map(str, rows[1:]))}), as rows "
                    f"of X_u have the shape of those of X_p, {rows[1:]}. Methods take no labels y: pass the labelled "
                    "positives as X_p, and the unlabelled rows as X_u"
                )
        return learn(self, samples, *args, **kwargs)

    return checked


def _taking_frames(score: Callable[..., Any]) -> Callable[..., Any]:
    """Let ``decision_function`` take what ``fit`` takes: DataFrames and lists of numbers too."""

    @wraps(score)
    def scored(self: object, X: Any, *args: Any, **kwargs: Any) -> Any:
        return score(self, _as_numbers("X", X), *args, **kwargs)

    return scored


def _numbers(sample: Any) -> Any:
    """Return the sample with arrays of numbers; the same one if it has these already."""
    read = {name: _as_numbers(name, X) for name in ("X_p", "X_u") if (X := getattr(sample, name)) is not None}
    same = all(X is getattr(sample, name) for name, X in read.items())
    return sample if same else sample._replace(**read)


def _as_numbers(name: str, X: Any) -> Any:
    """Return a DataFrame or a list as an array, and an array as it is.

    Raises
    ------
    ValueError : the values are no numbers. Some solvers would parse texts as numbers without a word.
    """
    import numpy as np

    read = X if isinstance(X, np.ndarray) else np.asarray(X, order="C")  # as the same rows in an array
    if read.dtype.kind not in "biuf":
        kinds = getattr(X, "dtypes", None)
        columns = (
            [] if kinds is None else [str(c) for c, kind in kinds.items() if getattr(kind, "kind", "O") not in "biuf"]
        )
        where = f" (columns {', '.join(columns[:5])})" if columns else ""
        raise ValueError(
            f"{name} has values of type {read.dtype}{where}; expected an array of numbers (n, *shape). Encode texts "
            "and categories first, or use puoc fit, which reads tables"
        )
    return read


def _labels_of_one_column(X_p: Any, X_u: Any) -> bool:
    """Return True if X_u looks like labels y of shape (n, 1) of the rows X_p of one column."""
    import numpy as np

    if X_u.shape != X_p.shape or X_u.shape[1:] != (1,):
        return False
    found = set(np.unique(X_u).tolist())
    return len(found) == 2 and found in ({0, 1}, {-1, 1}) and not set(np.unique(X_p).tolist()) <= found


def method(name: str) -> Callable[[C], C]:
    """Register a method class under the name that params.yaml uses."""
    return _registrar(METHODS, name)


def encoder(name: str) -> Callable[[C], C]:
    """Register an encoder class under the name that params.yaml uses."""
    return _registrar(ENCODERS, name)


def prior(name: str) -> Callable[[C], C]:
    """Register a class-prior estimator under the name that params.yaml uses."""
    return _registrar(PRIORS, name)


def dataset(name: str) -> Callable[[C], C]:
    """Register a dataset class under the name that params.yaml uses."""
    return _registrar(DATASETS, name)


def scenario(name: str) -> Callable[[C], C]:
    """Register a scenario under the name that params.yaml uses."""
    return _registrar(SCENARIOS, name)
