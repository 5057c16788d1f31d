"""``puoc methods`` and ``puoc datasets``: what is registered, one line each, or one method with its values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from inspect import cleandoc, getdoc
from re import split
from sys import modules
from typing import TYPE_CHECKING, Annotated

import typer

from puoc.cli.console import exit_on_invalid_input, say, working
from puoc.cli.output import is_json, result

if TYPE_CHECKING:
    from puoc.methods.training.estimator import Estimator
    from puoc.records import Params

_KINDS = {"oc": "OC", "pu": "PU", "pu_oc": "PU-OC"}


def methods(
    name: Annotated[str | None, typer.Argument(help="A method: shows what it does and its hyperparameters.")] = None,
) -> None:
    """List the methods: name, family, inputs, and what each is. The names are those of params.yaml and puoc fit."""
    from puoc.registry import METHODS

    with working("reading the methods"):
        classes = sorted(METHODS.items())
    if name is not None:
        with exit_on_invalid_input():
            _method(name, dict(classes))
        return
    result(methods=[_facts(one, cls, _first_sentence(modules[cls.__module__].__doc__)) for one, cls in classes])
    _table(
        [
            (
                name,
                _KINDS.get(cls.kind, cls.kind),
                ", ".join(sorted(cls.inputs)),
                _first_sentence(modules[cls.__module__].__doc__) + _twin(cls),
            )
            for name, cls in classes
        ]
    )


def _facts(name: str, cls: type[Estimator], about: str) -> dict[str, object]:
    return {
        "name": name,
        "family": cls.kind,
        "inputs": sorted(cls.inputs),
        "extends": cls.twin,
        "description": about,
    }


def _method(name: str, known: dict[str, type[Estimator]]) -> None:
    """Show one method: what its class says, and its hyperparameters with those of ``puoc fit``."""
    from puoc.methods import normalise
    from puoc.store.messages import listed, nearest
    from puoc.userdata.estimators.classes import class_of
    from puoc.userdata.settings import packaged_for_columns, packaged_methods

    if name not in known:
        raise ValueError(f"got {name!r}{nearest(name, list(known))}; expected a method: {listed(sorted(known))}")
    cls = known[name]
    packaged, own = dict(packaged_methods()).get(name), getattr(cls, "default_params", None)
    if packaged is None and own is not None:  # of a method of another package
        packaged = normalise(name, own)
    of_columns = packaged_for_columns(name)
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    about, more = (" ".join(_paragraph(text).split()) for text in (modules[cls.__module__].__doc__, getdoc(cls)))
    result(
        methods=[
            _facts(name, cls, about)
            | {
                "class": f"puoc.{class_of(name).__name__}",
                "hyperparameters": {one: (packaged or {}).get(one) for one in names},
                "hyperparameters_for_columns": of_columns and {one: of_columns.get(one) for one in names},
            }
        ]
    )
    if is_json():
        return
    say(f"{name}: {_KINDS.get(cls.kind, cls.kind)}{_twin(cls)}, {', '.join(sorted(cls.inputs))} rows")
    say(about)
    if more:
        say(more)
    say(f"in Python: puoc.{class_of(name).__name__}")
    say("")
    if packaged is None:
        _table([("hyperparameter", "value of puoc fit"), *((one, "none; give it by --params") for one in names)])
    elif of_columns is None:
        _table([("hyperparameter", "value of puoc fit"), *((one, _text(packaged, one)) for one in names)])
    else:
        heads = ("hyperparameter", "puoc fit, for columns and words", "with an encoder")
        _table([heads, *((one, _text(of_columns, one), _text(packaged, one)) for one in names)])


def datasets() -> None:
    """List the datasets: name, inputs, rows, classes, and what each is. docs/datasets.md has the licences."""
    from puoc.registry import DATASETS

    with working("reading the datasets"):
        classes = sorted(DATASETS.items())
    lines, in_file = [], Counter(cls.__module__ for _, cls in classes)
    for name, cls in classes:
        rows = sum(map(sum, cls.counts.values()))
        said = _first_sentence(cls.__doc__ if in_file[cls.__module__] > 1 else modules[cls.__module__].__doc__)
        lines.append((name, cls.inputs, f"{rows:,} rows", f"{len(cls.classes)} classes", said))
        facts = {"name": name, "inputs": cls.inputs, "rows": rows, "classes": len(cls.classes), "description": said}
        result(datasets=[facts])
    _table(lines)


def metrics() -> None:
    """List the metrics: name, rows, what each is, its source. Those of test rows may be metric in params.yaml."""
    from puoc.analysis.metrics import metrics as registered

    lines = []
    for one in registered().values():
        rows = "test rows" if one.rows == "test" else "withheld rows"
        direction = "" if one.higher_is_better else " (lower is better)"
        lines.append((one.name, rows, f"{one.said}{direction} [{one.source}]"))
        facts = {"name": one.name, "rows": one.rows, "higher_is_better": one.higher_is_better}
        result(metrics=[facts | {"description": one.said, "source": one.source}])
    _table(lines)


def _table(lines: Sequence[tuple[str, ...]]) -> None:
    """Print columns; the last one is not padded. With --json the document alone has the content."""
    if is_json():
        return
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        *padded, last = line
        say("  ".join([*(text.ljust(width) for text, width in zip(padded, widths, strict=False)), last]).rstrip())


def _text(params: Params, name: str) -> str:
    return "absent" if params.get(name) is None else str(params[name])


def _twin(cls: type[Estimator]) -> str:
    return f" (extends {cls.twin})" if cls.twin else ""


def _paragraph(text: str | None) -> str:
    return cleandoc(text or "").partition("\n\n")[0]


def _first_sentence(text: str | None) -> str:
    """Return the first sentence of a docstring."""
    return split(r"(?<! al)\. (?=[A-Z0-9])", " ".join(_paragraph(text).split()))[0].rstrip(".")
