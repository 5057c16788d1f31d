"""The ``puoc fit`` command, word for word, that fits a method as an assessment did."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from puoc.datasets.readers import How
from puoc.methods import normalise

ENCODER = "components"


def command(
    method: str, params: Mapping[str, JsonValue], files: Mapping[str, Path | None], how: How, seed: int = 0
) -> str:
    """A line for the shell: files, hyperparameters and every answer about how to read that is no default.

    Parameters
    ----------
    files : positives and unlabelled, or data, by these names.

    Raises
    ------
    ValueError : the method does not take these hyperparameters.
    """
    words = ["puoc", "fit", "--method", method]
    for name, value in normalise(method, dict(params)).items():
        words += _option("params", f"{name}={value}")
    words += _option("encoder", ENCODER)
    words += [word for role, path in files.items() if path is not None for word in _option(role, path)]
    for name, value in how:
        if value != type(how).model_fields[name].default:
            words += _answer(name, value)
    words += _option("seed", seed) if seed else []
    return shlex.join([*words, *_option("out", "model")])


def _answer(name: str, value: object) -> list[str]:
    if isinstance(value, bool):
        return [f"--{'' if value else 'no-'}{name}"]
    if isinstance(value, tuple):
        return [word for one in value for word in _option(name, one)]
    return _option(name, "\\t" if value == "\t" else value)


def _option(name: str, value: object) -> list[str]:
    text = str(value)
    # what begins with a hyphen, or is nothing, would be read as no value
    return [f"--{name}={text}"] if text.startswith("-") or not text else [f"--{name}", text]
