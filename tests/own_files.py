"""Files as users have them, and commands run on them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from click.testing import Result
from typer.main import get_command
from typer.testing import CliRunner

from puoc.cli.app import app

Said = tuple[int, str]
Run = Callable[..., Said]


def puoc(*words: Any) -> Said:
    """A command's exit code and words; an error that is no answer fails the test."""
    done = invoke(*words)
    if done.exit_code == 2 and words[0] in ("assess", "fit", "score"):
        assert not (beyond := advised(done.output) - options(str(words[0]))), (beyond, done.output)
    return done.exit_code, done.output


@cache
def options(command: str) -> set[str]:
    """All options of a command."""
    found = get_command(app).commands[command]
    return {word for option in found.params for word in (*option.opts, *option.secondary_opts)}


def advised(message: str) -> set[str]:
    """Options that a refusal names. What stands in quotes is the user's, and a new model may be made by another."""
    plain = re.sub(r"(?<!\w)(?:'[^']*'|\"[^\"]*\")(?!\w)", "", message)
    plain = re.sub(r"learn\s+with\s+--[a-z-]+", "", plain)
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", plain))


def invoke(*words: Any) -> Result:
    """The same with what was printed and what was said beside it apart."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def check(path: Path, *words: Any, method: str = "oc_svm") -> Said:
    """Read a file of positives as ``puoc fit --check`` does."""
    return puoc("fit", "--method", method, "--positives", path, "--check", *words)


def refused(said: Said, *expected: str) -> str:
    """The words of a refusal: exit code 2, one paragraph or a list, nothing about this program's insides."""
    code, words = said
    assert code == 2, words
    *_, message = re.split(r"\n(?! )", words.strip())  # further lines of a message are indented
    for text in expected:
        assert text in message, message
    assert "Traceback" not in words
    return message


def customers(n: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    """Numbers, whole numbers, categories and truth values, with names that are not English."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "größe": rng.normal(shift, 1, n).round(3),
            "âge": rng.integers(10, 80, n),
            "stadt": rng.choice(["Köln", "Ulm", "Rom"], n),
            "aktiv": rng.choice([True, False], n),
        }
    )
