"""The ``puoc fit`` command that fits a method as an assessment did."""

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
    """Return a command line with the files, the hyperparameters and every option of the readers that is no default.

    Parameters
    ----------
    files : paths by role: positives and unlabelled, or data.

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
            words += _reader_option(name, value)
    words += _option("seed", seed) if seed else []
    return shlex.join([*words, *_option("out", "model")])


def _reader_option(name: str, value: object) -> list[str]:
    name = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{'' if value else 'no-'}{name}"]
    if isinstance(value, tuple):
        return [word for part in value for word in _option(name, part)]
    return _option(name, "\\t" if value == "\t" else value)


def _option(name: str, value: object) -> list[str]:
    text = str(value)
    # a value that begins with a hyphen, or an empty one, would not be read as a value
    return [f"--{name}={text}"] if text.startswith("-") or not text else [f"--{name}", text]
