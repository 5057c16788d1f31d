"""Reading YAML as version 1.2 means it, with the line of every key and the token of every number at hand.

``1e-3`` is a number, ``no`` a text. What two readers would read differently (``012``, a date) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

KeyPath = tuple[str | int, ...]

_LEADING_ZERO = re.compile(r"^[-+]?0[0-9_]+$")
_FLOAT = re.compile(r"^[-+]?(\d[\d_]*)(\.\d*)?[eE][-+]?\d+$")


class AskedWrongly(ValueError):
    """The user asked for something that cannot be: nothing was started. ``str()`` lists every fault, one a line."""

    def __init__(self, faults: list[str]):
        super().__init__("\n".join(faults))
        self.faults = faults


class YamlFile:
    """A parsed YAML file: ``data`` and where its keys stand."""

    def __init__(self, path: Path):
        self.path = path
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise AskedWrongly([f"{path}: cannot be read ({error.strerror}); expected a YAML file"]) from error
        except UnicodeDecodeError as error:
            raise AskedWrongly([f"{path}: not UTF-8 text ({error.reason} at byte {error.start})"]) from error
        try:
            root = YAML(typ="safe", pure=True).compose(text)
        except YAMLError as error:
            raise AskedWrongly([f"{path}: {_one_line(error)}"]) from error
        self.lines: dict[KeyPath, int] = {}
        faults = list(self._walk(root, ())) if root is not None else []
        if faults:
            raise AskedWrongly(faults)
        self.data: Any = YAML(typ="safe", pure=True).load(text)

    def at(self, key: KeyPath) -> str:
        """``params.yaml:12: tables.one_vs_all.seeds`` - the place of a key, or of the nearest one above it."""
        for length in range(len(key), -1, -1):
            if key[:length] in self.lines:
                return f"{self.path.name}:{self.lines[key[:length]]}: {dotted(key)}"
        return f"{self.path.name}: {dotted(key)}"

    def _walk(self, node: Node, key: KeyPath) -> Iterator[str]:
        self.lines.setdefault(key, node.start_mark.line + 1)
        if isinstance(node, MappingNode):
            seen: set[str] = set()
            for name, value in node.value:
                inner = (*key, name.value)
                self.lines[inner] = name.start_mark.line + 1
                if name.value in seen and name.value != "<<":
                    yield f"{self.at(inner)}: the key stands twice; expected each key once"
                seen.add(name.value)
                yield from self._walk(value, inner)
        elif isinstance(node, SequenceNode):
            for index, value in enumerate(node.value):
                yield from self._walk(value, (*key, index))
        elif isinstance(node, ScalarNode):
            yield from self._check(node, key)

    def _check(self, node: ScalarNode, key: KeyPath) -> Iterator[str]:
        if node.style is not None:  # quoted: a text, whatever it looks like
            return
        if node.tag.endswith(":timestamp"):
            yield f"{self.at(key)}: got the date {node.value}; expected no date anywhere (quote it if it is a text)"
        elif _LEADING_ZERO.match(node.value):
            yield (
                f"{self.at(key)}: got {node.value}; a leading zero is read as octal by some readers, so write "
                f"{int(node.value.replace('_', ''))} (or quote it if it is a text)"
            )
        elif _FLOAT.match(node.value) and not node.tag.endswith(":float"):
            yield f"{self.at(key)}: got {node.value}; expected a number that every reader knows, such as 1.0e-3"


def dotted(key: KeyPath) -> str:
    """``('tables', 'a', 'pos', 0)`` as ``tables.a.pos[0]``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).removeprefix(".")


def _one_line(error: YAMLError) -> str:
    return " ".join(str(error).split())
