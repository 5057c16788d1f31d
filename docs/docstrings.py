"""An extension of griffe, which reads docstrings for mkdocstrings: it reads those of puoc as those of numpydoc.

In docstrings of puoc a parameter and its meaning are in one line, ``name : meaning``. numpydoc has the type there and
the meaning below it. The source of a function becomes a paragraph before its parameters.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Function, Object

_SECTION = re.compile(r"^(Parameters|Attributes|Raises|Returns|Yields)\n-+\n(.*?)(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"^([\w, *]+?) : (.*(?:\n +.*)*)", re.MULTILINE)
_SOURCE = re.compile(r"\n\n(Source: .*?)(?=\n\n|\Z)", re.DOTALL)


class OneLine(Extension):
    """Rewrite the docstring of each object before it is parsed."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            returns = str(obj.returns or "") if isinstance(obj, Function) else ""
            obj.docstring.value = as_numpydoc(obj.docstring.value, returns)


def as_numpydoc(text: str, returns: str = "") -> str:
    """Return a docstring as numpydoc has it; ``returns`` is the type of what a function returns."""

    def rewritten(found: re.Match[str]) -> str:
        title, body = found[1], found[2]
        if title in ("Returns", "Yields"):
            body = f"{returns or 'object'}\n" + "\n".join(f"    {line.strip()}" for line in body.splitlines())
        else:
            body = _ENTRY.sub(_entries, body)
        return f"{title}\n{'-' * len(title)}\n{body}"

    source = _SOURCE.search(text)
    text = _SECTION.sub(rewritten, _SOURCE.sub("", text))
    if source is None:
        return text
    before, mark, after = text.partition("\n\nParameters\n")
    return f"{before}\n\n{source[1]}{mark}{after}"


def _entries(found: re.Match[str]) -> str:
    """Return an entry for each name: names that share a meaning have defaults and types of their own."""
    return "\n".join(f"{name}\n{_indented(found[2])}" for name in found[1].split(", "))


def _indented(text: str) -> str:
    return "\n".join(f"    {line.strip()}" for line in text.splitlines())
