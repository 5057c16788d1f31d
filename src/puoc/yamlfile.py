"""Reading YAML as version 1.2 means it, with the line of every key and the token of every number at hand.

``1e-3`` is a number, ``no`` a text. What two readers would read differently (``012``, ``1_000``, a date) is refused.
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

_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)?")
_OTHER_VERSION = re.compile(r"(\s*(#.*)?\n)*%YAML(?!\s+1\.2\b).*")


class AskedWrongly(ValueError):  # noqa: N818 - it is what the user did
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
        if directive := _OTHER_VERSION.match(text):
            got = directive[0].strip().splitlines()[-1]
            raise AskedWrongly([f"{path.name}: got the directive {got}; expected YAML 1.2, without a directive"])
        self.lines: dict[KeyPath, int] = {}
        try:
            root = YAML(typ="safe", pure=True).compose(text)
            faults = list(self._walk(root, (), ())) if root is not None else []
            if faults:
                raise AskedWrongly(faults)
            self.data: Any = YAML(typ="safe", pure=True).load(text)
        except YAMLError as error:
            raise AskedWrongly([_located(path, error)]) from error

    def at(self, key: KeyPath) -> str:
        """``params.yaml:12: tables.one_vs_all.seeds`` - the place of a key, or of the nearest one above it."""
        for length in range(len(key), -1, -1):
            if key[:length] in self.lines:
                return f"{self.path.name}:{self.lines[key[:length]]}: {dotted(key)}"
        return f"{self.path.name}: {dotted(key)}"

    def _walk(self, node: Node, key: KeyPath, above: tuple[Node, ...]) -> Iterator[str]:
        self.lines.setdefault(key, node.start_mark.line + 1)
        if any(node is one for one in above):
            yield f"{self.at(key)}: the alias stands inside what it names; expected one that names something finished"
        elif isinstance(node, MappingNode):
            yield from self._walk_mapping(node, key, (*above, node))
        elif isinstance(node, SequenceNode):
            for index, value in enumerate(node.value):
                yield from self._walk(value, (*key, index), (*above, node))
        elif isinstance(node, ScalarNode):
            yield from self._check(node, key)

    def _walk_mapping(self, node: MappingNode, key: KeyPath, above: tuple[Node, ...]) -> Iterator[str]:
        seen: set[str] = set()
        for name, value in node.value:
            line = name.start_mark.line + 1
            if not isinstance(name, ScalarNode):
                below = f" below {dotted(key)}" if key else ""
                yield f"{self.path.name}:{line}: got a list or a mapping for a key{below}; expected a text"
                continue
            inner = (*key, name.value)
            if name.value in seen and not _is_merge(name):
                place = f"{self.path.name}:{line}: {dotted(inner)}"
                yield f"{place}: the key stands twice, first in line {self.lines[inner]}; expected each key once"
            self.lines.setdefault(inner, line)
            seen.add(name.value)
            yield from self._check(name, inner)
            yield from self._walk(value, inner, above)

    def _check(self, node: ScalarNode, key: KeyPath) -> Iterator[str]:
        tag = str(node.tag).rpartition(":")[2]
        if tag == "timestamp":
            yield f"{self.at(key)}: got the date {node.value}; expected no date anywhere (quote it if it is a text)"
        elif node.style is not None:  # quoted: a text, whatever it looks like
            return
        elif _LEADING_ZERO.fullmatch(node.value):
            yield (
                f"{self.at(key)}: got {node.value}; a leading zero is read as octal by some readers, so write "
                f"{int(node.value.replace('_', ''))} (or quote it if it is a text)"
            )
        elif _NUMBER.fullmatch(node.value) and (tag == "str" or ("_" in node.value and tag in ("int", "float"))):
            yield (
                f"{self.at(key)}: got {node.value}, a number to some readers and a text to others; write it "
                f"without _ and with a digit before the point (or quote it if it is a text)"
            )


def _is_merge(node: ScalarNode) -> bool:
    return node.style is None and node.value == "<<"


def dotted(key: KeyPath) -> str:
    """``('tables', 'a', 'pos', 0)`` as ``tables.a.pos[0]``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).removeprefix(".")


def _located(path: Path, error: YAMLError) -> str:
    """``params.yaml:3: found character '\\t' that cannot start any token``."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    said = [getattr(error, part, None) for part in ("context", "problem")]
    text = " ".join(", ".join(str(part) for part in said if part).split()) or " ".join(str(error).split())
    hint = "; indent with blanks, not tabs" if "'\\t'" in text else ""
    return f"{path.name}:{mark.line + 1}: {text}{hint}" if mark else f"{path.name}: {text}{hint}"
