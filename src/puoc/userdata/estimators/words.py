"""Messages of ``puoc fit`` in the words of Python: arguments in the place of options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from puoc.store.extras import missing_extra

#: Whole phrases first, then single options; any other option becomes its name.
_PHRASES = (
    (r"; give (them|some) by --unlabelled FILE", r"; give \1 as X_u, or as rows with another label than the positives"),
    (r" \(--unlabelled FILE\)", " (X_u)"),
    (r"or an entry with fewer folds by --settings", "or another class_prior"),
    (r"--(repeats|encoder|scaling) (together|apart|flatten|imagenet|components|minmax|standard)\b", r'\1="\2"'),
    (r"--(?:drop|category|number) (''|'[^']*')", r"the column \1 left out or encoded before the fit"),
    (r"--params (\w+=)", r"\1"),
    (r"by --params\b", "as arguments"),
    (r"--params\b", "arguments"),
    (r"--prior\b", "class_prior"),
    (r"--seed\b", "random_state"),
    (r"--by-alpha\b", 'threshold="alpha"'),
)
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")


def in_arguments(message: str) -> str:
    """Return a message about options of a command as one about arguments of an estimator."""
    for pattern, words in _PHRASES:
        message = re.sub(pattern, words, message)
    return _OPTION.sub(lambda match: match[1].replace("-", "_"), message)


@contextmanager
def errors_in_arguments() -> Iterator[None]:
    """Raise a ValueError of the block with the names of arguments, and say what installs a library of an extra."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        changed = in_arguments(message)
        if changed == message:
            raise
        raise ValueError(changed) from error
    except ModuleNotFoundError as error:
        lacking = missing_extra(error)
        if lacking is None:
            raise
        raise ModuleNotFoundError(lacking, name=error.name) from error
