"""Regular expressions of puoc mean the same in each release of Python that it takes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from project import REPOSITORY


def test_no_pattern_repeats_alternatives_possessively() -> None:
    """Before Python 3.11.5, such a pattern gives back its last match, so that quoted files could not be read."""
    found = {path.name: list(faults_of(path.read_text())) for path in (REPOSITORY / "src").rglob("*.py")}
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_such_a_pattern_is_found() -> None:
    assert list(faults_of(r"""P = re.compile(rb'(?:a++|"b")*+' % x)""")) != []
    assert list(faults_of(r"""P = re.search('x(?:a|bc)++', text)""")) != []
    assert list(faults_of(r"""P = re.compile(r'a*+(?:bc|d){0,9}[x|y]++')""")) == []


def faults_of(source: str) -> Iterator[str]:
    """Yield the texts of a module in which alternatives are repeated possessively."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and len(node.value) < 1000:
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            if re.search(r"\)[*+?}]\+", text) and _repeats_alternatives(_parsed(text)):
                yield text


def _parsed(text: str) -> Any:
    try:
        return re._parser.parse(text)  # type: ignore[attr-defined]
    except re.error:  # no pattern
        return ()


def _repeats_alternatives(part: Any, within: bool = False) -> bool:
    for name, inner in part if not isinstance(part, tuple) else ():
        kind = str(name)
        if kind == "BRANCH" and within:
            return True
        parts = inner if isinstance(inner, list | tuple) else ()
        for one in [item for group in parts for item in (group if isinstance(group, list) else [group])]:
            if hasattr(one, "getwidth") and _repeats_alternatives(one, within or kind == "POSSESSIVE_REPEAT"):
                return True
    return False
