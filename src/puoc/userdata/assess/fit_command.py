"""The ``puoc fit`` command that fits a method as an assessment did."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from puoc.datasets.readers import How
from puoc.datasets.readers.options import option_words
from puoc.methods import normalise

ENCODER = "components"


def command(
    method: str,
    params: Mapping[str, JsonValue],
    files: Mapping[str, Path | None],
    how: How,
    seed: int = 0,
    encoder: str = ENCODER,
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
        words += option_words("params", f"{name}={value}")
    words += option_words("encoder", encoder)
    words += [word for role, path in files.items() if path is not None for word in option_words(role, path)]
    for name, value in how:
        if value != type(how).model_fields[name].default:
            words += _reader_option(name, value)
    words += option_words("seed", seed) if seed else []
    return shlex.join([*words, *option_words("out", "model")])


def _reader_option(name: str, value: object) -> list[str]:
    name = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{'' if value else 'no-'}{name}"]
    if isinstance(value, tuple):
        return [word for part in value for word in option_words(name, part)]
    return option_words(name, "\\t" if value == "\t" else value)
