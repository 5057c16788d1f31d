"""One estimator class for each registered method, with its hyperparameters as arguments."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from inspect import Parameter, Signature, getdoc
from sys import modules
from typing import Any

from puoc.registry import METHODS
from puoc.userdata.estimators.base import COMMON, PUEstimator
from puoc.userdata.estimators.general import OneClassDetector, PUClassifier
from puoc.userdata.settings import packaged_for_columns, packaged_methods


def hyperparameter_names(method: str) -> dict[str, str]:
    """Return the argument of each hyperparameter of a method: its name, after the method's if the class has it."""
    general = _general(method)
    taken = {name for name in dir(general) if not name.startswith("_")} | COMMON.keys() | {"threshold"}
    names = [field.name for field in fields(METHODS[method])]  # type: ignore[arg-type]
    return {name: f"{method}_{name}" if name in taken else name for name in names}


def _general(method: str) -> type[PUEstimator]:
    return OneClassDetector if METHODS[method].kind == "oc" else PUClassifier


def _names() -> dict[str, str]:
    """Return the methods by the name of their estimator: that of the method's class, if it is the only one of it."""
    found: dict[str, list[str]] = {}
    for method, cls in METHODS.items():
        found.setdefault(cls.__name__, []).append(method)
    names: dict[str, str] = {}
    for name, of in found.items():
        for method in of:
            alone = len(of) == 1 and name not in ("PUClassifier", "OneClassDetector")
            names[name if alone else "".join(part.capitalize() for part in method.split("_"))] = method
    return names


def all_estimators() -> dict[str, type[PUEstimator]]:
    """Return the class of each registered method by its name, sorted.

    Returns
    -------
    The classes by name, such as ``PUSVM``.

    Source: ours; the name is that of ``sklearn.utils.all_estimators``.

    Examples
    --------
    >>> import puoc
    >>> puoc.all_estimators()["PUSVM"] is puoc.PUSVM
    True
    """
    return {name: class_of(method) for name, method in sorted(_names().items())}


def class_named(name: str) -> type[PUEstimator] | None:
    """Return the class of a method by the name of the class; None if there is none."""
    method = _names().get(name)
    return None if method is None else class_of(method)


def class_of(method: str) -> type[PUEstimator]:
    """Return the class of a registered method."""
    [name] = [name for name, of in _names().items() if of == method]
    return _made(method, name, METHODS[method])


@cache
def _made(method: str, name: str, of: type) -> type[PUEstimator]:
    """Make the class of a method, once for each class that is registered under its name."""
    general = _general(method)
    names = hyperparameter_names(method)
    defaults = dict.fromkeys(names.values()) | COMMON
    defaults["threshold"] = Signature.from_callable(general).parameters["threshold"].default

    def initialise(self: Any, **arguments: Any) -> None:
        unknown = sorted(arguments.keys() - defaults.keys())
        if unknown:
            raise TypeError(
                f"{name}: got unknown arguments {', '.join(unknown)}; expected some of {', '.join(defaults)}"
            )
        for argument, default in defaults.items():
            setattr(self, argument, arguments.get(argument, default))

    parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
    parameters += [Parameter(one, Parameter.KEYWORD_ONLY, default=value) for one, value in defaults.items()]
    initialise.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    content = {
        "__init__": initialise,
        "__doc__": _doc(method, name, names),
        "__module__": "puoc",
        "_method": lambda self: method,
        "_hyperparameters": lambda self: {one: getattr(self, argument) for one, argument in names.items()},
    }
    return type(name, (general,), content)


def _doc(method: str, name: str, names: dict[str, str]) -> str:
    """Return the docstring of a class: that of the method, then its arguments with the packaged values."""
    packaged, of_columns = dict(packaged_methods()).get(method, {}), packaged_for_columns(method) or {}
    general = _general(method).__name__
    lines = [
        f"``{general}({method!r})``, with the hyperparameters as arguments.",
        "",
        *(getdoc(METHODS[method]) or "").splitlines(),
        "",
        "Parameters",
        "----------",
    ]
    for one, argument in names.items():
        value = f"{packaged[one]!r} by default, as in ``puoc fit``" if one in packaged else "absent by default"
        if of_columns.get(one) != packaged.get(one) and of_columns:
            value += f" with an encoder, and {of_columns[one]!r} for columns without one"
        lines.append(f"{argument} : hyperparameter ``{one}``; None: {value}.")
    lines.append(f"{', '.join(COMMON)}, threshold : as for ``{general}``.")
    about = (getdoc(modules[METHODS[method].__module__]) or "").split("\n\n")[0]
    rows = (
        "X: (n, d) positives" if general == "OneClassDetector" else "y: 1 for labelled positives, 0 for unlabelled rows"
    )
    lines += [
        "",
        "Raises",
        "------",
        f"ValueError : in ``fit``, as for ``{general}``.",
        "",
        f"Source: {about}",
        "",
        "Examples",
        "--------",
        f">>> from puoc import {name}",
        f">>> model = {name}(random_state=1)  # then model.fit(X{', y' * (general == 'PUClassifier')}); {rows}",
        ">>> model.random_state",
        "1",
    ]
    return "\n".join(lines)
