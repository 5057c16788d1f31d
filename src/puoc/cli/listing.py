"""``puoc methods`` and ``puoc datasets``: what is registered, one line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from inspect import cleandoc
from re import split
from sys import modules
from typing import TYPE_CHECKING

from puoc.cli.console import say, working
from puoc.cli.output import is_json, result

if TYPE_CHECKING:
    from puoc.methods.training.estimator import Estimator

_KINDS = {"oc": "OC", "pu": "PU", "pu_oc": "PU-OC"}


def methods() -> None:
    """List the methods: name, family, inputs, and what each is. The names are those of params.yaml and puoc fit."""
    from puoc.registry import METHODS

    with working("reading the methods"):
        classes = sorted(METHODS.items())
    result(
        methods=[
            {
                "name": name,
                "family": cls.kind,
                "inputs": sorted(cls.inputs),
                "extends": cls.twin,
                "description": _first_sentence(modules[cls.__module__].__doc__),
            }
            for name, cls in classes
        ]
    )
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


def _twin(cls: type[Estimator]) -> str:
    return f" (extends {cls.twin})" if cls.twin else ""


def _first_sentence(text: str | None) -> str:
    """Return the first sentence of a docstring."""
    return split(r"(?<! al)\. (?=[A-Z0-9])", " ".join(cleandoc(text or "").partition("\n\n")[0].split()))[0].rstrip(".")
