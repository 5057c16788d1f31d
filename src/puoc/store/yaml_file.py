"""Reading YAML as version 1.2 means it, with the line of every key and the token of every number at hand.

``1e-3`` is a number, ``no`` a text. What two readers would read differently (``012``, ``1_000``, a date) is refused.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

KeyPath = tuple[str | int, ...]

_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)?")
_DEEPEST = 100  # lists and mappings inside one another; the reader itself ends at some hundreds, without a place
_MOST = 100_000  # values, those that aliases repeat counted each time; profiles/paper.yaml has 1,337
_SHOWN = 60  # characters of a value that a message repeats
_SCALARS = {"int": "a whole number", "float": "a number", "bool": "true or false"}  # what a tag promises
#: What ruamel raises besides its own error where a value is not what its tag promises.
_UNMADE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_TOO_DEEP = f"got lists or mappings more than {_DEEPEST} deep in one another; expected fewer (a bracket too many?)"
_OTHER_VERSION = re.compile(r"(\s*(#.*)?\n)*%YAML(?!\s+1\.2\b).*")


class InvalidInput(ValueError):  # noqa: N818 - names the input, not the exception
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
            raise InvalidInput([f"{path}: cannot be read ({error.strerror}); expected a YAML file"]) from error
        except UnicodeDecodeError as error:
            raise InvalidInput([f"{path}: not UTF-8 text ({error.reason} at byte {error.start})"]) from error
        if directive := _OTHER_VERSION.match(text):
            got = directive[0].strip().splitlines()[-1]
            raise InvalidInput([f"{path.name}: got the directive {got}; expected YAML 1.2, without a directive"])
        self.lines: dict[KeyPath, int] = {}
        self._met = 0
        self._made = YAML(typ="safe", pure=True).constructor
        try:
            root = YAML(typ="safe", pure=True).compose(text)
            faults = list(self._walk(root, (), ())) if root is not None else []
            if faults:
                raise InvalidInput(faults)
            self.data: Any = YAML(typ="safe", pure=True).load(text)
        except YAMLError as error:
            raise InvalidInput([_located(path, error)]) from error
        except RecursionError as error:
            raise InvalidInput([f"{path.name}:{_line_of_deepest(text)}: {_TOO_DEEP}"]) from error

    def at(self, key: KeyPath) -> str:
        """``params.yaml:12: tables.one_vs_all.seeds`` - the place of a key, or of the nearest one above it."""
        for length in range(len(key), -1, -1):
            if key[:length] in self.lines:
                return f"{self.path.name}:{self.lines[key[:length]]}: {dotted(key)}"
        return f"{self.path.name}: {dotted(key)}"

    def _walk(self, node: Node, key: KeyPath, above: tuple[Node, ...]) -> Iterator[str]:
        self.lines.setdefault(key, node.start_mark.line + 1)
        self._met += 1
        if self._met > _MOST:  # at once: a few lines of nested aliases stand for more values than can be walked
            raise InvalidInput(
                [f"{self.at(key[:1])}: the aliases repeat more than {_MOST:,} values; expected fewer (write them out)"]
            )
        if any(node is one for one in above):
            yield f"{self.at(key)}: the alias stands inside what it names; expected one that names something finished"
        elif len(above) >= _DEEPEST and not isinstance(node, ScalarNode):
            yield f"{self.path.name}:{node.start_mark.line + 1}: {_TOO_DEEP}"
        elif _tag(node) in (*_SCALARS, "timestamp") and not isinstance(node, ScalarNode):
            yield f"{self.at(key)}: got a list or a mapping that is tagged {_tag(node)}; expected it without a tag"
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
        tag = _tag(node)
        if tag == "timestamp":
            yield f"{self.at(key)}: got the date {node.value}; expected no date anywhere (quote it if it is a text)"
        elif (expected := self._unmade(node, tag)) is not None:
            yield f"{self.at(key)}: got {_short(node.value)}; expected {expected}"
        elif node.style is not None:  # quoted: a text, whatever it looks like
            return
        elif _LEADING_ZERO.fullmatch(node.value):
            yield (
                f"{self.at(key)}: got {_short(node.value)}; a leading zero is read as octal by some readers, so write "
                f"{_short(_without_zeros(node.value))} (or quote it if it is a text)"
            )
        elif _NUMBER.fullmatch(node.value) and (tag == "str" or ("_" in node.value and tag in ("int", "float"))):
            yield (
                f"{self.at(key)}: got {_short(node.value)}, a number to some readers and a text to others; write it "
                f"without _ and with a digit before the point (or quote it if it is a text)"
            )

    def _unmade(self, node: ScalarNode, tag: str) -> str | None:
        """What was expected of a value that its tag, written or resolved, cannot be made of; None where it can."""
        if tag not in _SCALARS:
            return None
        try:
            str(self._made.construct_object(node))  # an integer too long to be written cannot be told of, either
        except _UNMADE:
            most = (
                f" of at most {sys.get_int_max_str_digits()} digits"
                if tag == "int" and len(node.value) > _SHOWN
                else ""
            )
            return f"{_SCALARS[tag]}{most}"
        return None


def _tag(node: Node) -> str:
    """``int`` of ``tag:yaml.org,2002:int``, whether it was written or resolved."""
    return str(node.tag).rpartition(":")[2]


def _is_merge(node: ScalarNode) -> bool:
    return node.style is None and node.value == "<<"


def _without_zeros(number: str) -> str:
    """``-0_07`` as ``-7``; in text, since Python reads no integer of thousands of digits."""
    return number[: number[0] == "-"] + (number.replace("_", "").lstrip("+-0") or "0")


def _short(value: str) -> str:
    return value or "''" if len(value) <= _SHOWN else f"{value[: _SHOWN - 20]}... ({len(value)} characters)"


def _line_of_deepest(text: str) -> int:
    """The line where the first list or mapping begins that stands too deep; events need no recursion."""
    depth = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > _DEEPEST:
            return int(event.start_mark.line) + 1
    return 1


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
