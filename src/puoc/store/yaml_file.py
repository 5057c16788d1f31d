"""Reader of YAML 1.2 that keeps the line of every key.

``1e-3`` is a number and ``no`` a text. A value that readers of YAML interpret differently (``012``, ``1_000``, a date)
is rejected.
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
from ruamel.yaml.reader import ReaderError

from puoc.store.regular_file import check_regular

KeyPath = tuple[str | int, ...]

SHOWN_FAULTS = 20  # that a message lists; one mistake can cause thousands
BEGINNING = 100_000  # bytes of a file that is too large in which faults are looked for; this takes about 2 s

_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)?")
_MAX_DEPTH = 100  # of nested lists and mappings; ruamel fails at some hundreds without naming the line
_MAX_BYTES = 250_000  # profiles/paper.yaml has 21,000; reading takes about 5 s for 500,000
_MAX_VALUES = 100_000  # values repeated by aliases count each time; profiles/paper.yaml has 1,337
_SHOWN = 60  # characters of a value that a message repeats
_SCALARS = {"int": "a whole number", "float": "a number", "bool": "true or false"}  # by tag
#: Errors of ruamel, besides its own, for a value that does not fit its tag.
_VALUE_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_TOO_DEEP = f"got lists or mappings more than {_MAX_DEPTH} deep in one another; expected fewer (a bracket too many?)"
_LIKE = "expected a line as 'key: value', 'key: [value, value]' or '- value'"
_UTF8 = "expected UTF-8, so choose this encoding when you save the file"
_OTHER_VERSION = re.compile(r"(\s*(#.*)?\n)*%YAML(?!\s+1\.2\b).*")


class InvalidInput(ValueError):  # noqa: N818 - names the input, not the exception
    """Invalid input of a user, found before anything was started.

    ``str()`` lists the faults, one on each line: the first ``SHOWN_FAULTS`` of them, and the number of the others.
    """

    def __init__(self, faults: list[str]):
        super().__init__("\n".join(self.lines(faults)))
        self.faults = faults

    def lines(self, faults: list[str]) -> list[str]:
        """Return the lines of the message."""
        more = len(faults) - SHOWN_FAULTS
        return faults if more <= 0 else [*faults[:SHOWN_FAULTS], f"and {more:,} more faults ({len(faults):,} in all)"]


class TooLargeError(InvalidInput):
    """A YAML file of more bytes than are read, with faults that were found in its beginning."""

    def __init__(self, size: str, found: list[str] | None = None):
        self.size = size
        super().__init__([*(found or []), size])

    def lines(self, faults: list[str]) -> list[str]:
        """Return the lines of the message: the first faults, how many more the beginning has, and the size."""
        *found, size = faults
        more = len(found) - SHOWN_FAULTS
        counted = [f"and {more:,} more faults in its first {BEGINNING:,} bytes"] if more > 0 else []
        return [*found[:SHOWN_FAULTS], *counted, size]


class YamlFile:
    """A parsed YAML file: ``data`` and the lines of its keys.

    ``beginning=True`` reads the whole lines among the first ``BEGINNING`` bytes alone.
    """

    def __init__(self, path: Path, beginning: bool = False):
        self.path = path
        text = _text(path, beginning)
        if directive := _OTHER_VERSION.match(text):
            got = directive[0].strip().splitlines()[-1]
            raise InvalidInput([f"{path.name}: got the directive {got}; expected YAML 1.2, without a directive"])
        self.lines: dict[KeyPath, int] = {}
        self._n_values = 0
        self._constructor = YAML(typ="safe", pure=True).constructor
        try:
            root = YAML(typ="safe", pure=True).compose(text)
            faults = list(self._walk(root, (), ())) if root is not None else []
            if faults:
                raise InvalidInput(faults)
            # from the nodes, since parsing takes nearly all of the time
            self.data: Any = None if root is None else YAML(typ="safe", pure=True).constructor.construct_document(root)
        except YAMLError as error:
            raise InvalidInput([_located(path, error, text)]) from error
        except RecursionError as error:
            raise InvalidInput([f"{path.name}:{_line_of_deepest(text)}: {_TOO_DEEP}"]) from error

    def at(self, key: KeyPath) -> str:
        """Return the place of a key, or of the nearest key above it, as ``params.yaml:12: tables.one_vs_all.seeds``."""
        for length in range(len(key), -1, -1):
            if key[:length] in self.lines:
                return f"{self.path.name}:{self.lines[key[:length]]}: {dotted(key)}"
        return f"{self.path.name}: {dotted(key)}"

    def _walk(self, node: Node, key: KeyPath, above: tuple[Node, ...]) -> Iterator[str]:
        self.lines.setdefault(key, node.start_mark.line + 1)
        self._n_values += 1
        if self._n_values > _MAX_VALUES:  # at once: a few lines of nested aliases can stand for very many values
            fault = f"the aliases repeat more than {_MAX_VALUES:,} values; expected fewer (write them out)"
            raise InvalidInput([f"{self.at(key[:1])}: {fault}"])
        if any(node is outer for outer in above):
            yield f"{self.at(key)}: the alias is inside the value that it repeats; expected one that ends before it"
        elif len(above) >= _MAX_DEPTH and not isinstance(node, ScalarNode):
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
        elif (expected := self._expected(node, tag)) is not None:
            yield f"{self.at(key)}: got {_short(node.value)}; expected {expected}"
        elif node.style is not None:  # quoted: a text in any case
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

    def _expected(self, node: ScalarNode, tag: str) -> str | None:
        """Return the expected value if a value does not fit its tag, written or resolved; None if it does."""
        if tag not in _SCALARS:
            return None
        try:
            str(self._constructor.construct_object(node))  # also fails for an integer that is too long to be written
        except _VALUE_ERRORS:
            most = (
                f" of at most {sys.get_int_max_str_digits()} digits"
                if tag == "int" and len(node.value) > _SHOWN
                else ""
            )
            return f"{_SCALARS[tag]}{most}"
        return None


def _tag(node: Node) -> str:
    """Return ``int`` for ``tag:yaml.org,2002:int``, written or resolved."""
    return str(node.tag).rpartition(":")[2]


def _is_merge(node: ScalarNode) -> bool:
    return node.style is None and node.value == "<<"


def _without_zeros(number: str) -> str:
    """Return ``-7`` for ``-0_07``, without a conversion, since Python reads no integer of thousands of digits."""
    return number[: number[0] == "-"] + (number.replace("_", "").lstrip("+-0") or "0")


def _short(value: str) -> str:
    return value or "''" if len(value) <= _SHOWN else f"{value[: _SHOWN - 20]}... ({len(value)} characters)"


def _line_of_deepest(text: str) -> int:
    """Return the line of the first list or mapping that is too deep, from events, which need no recursion."""
    depth = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > _MAX_DEPTH:
            return int(event.start_mark.line) + 1
    return 1


def dotted(key: KeyPath) -> str:
    """Return ``tables.a.pos[0]`` for ``('tables', 'a', 'pos', 0)``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).removeprefix(".")


def _text(path: Path, beginning: bool) -> str:
    """Return the text of a file. Raises InvalidInput unless it is a regular file of UTF-8 and of a size to be read."""
    try:
        check_regular(path, "a YAML file")
    except ValueError as error:
        raise InvalidInput([str(error)]) from error
    if path.is_dir():
        raise InvalidInput([f"{path}: a folder; expected a YAML file"])
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            content = file.read(BEGINNING if beginning else _MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput([f"{path}: cannot be read ({error.strerror}); expected a YAML file"]) from error
    if beginning and size > BEGINNING:
        content = content[: content.rfind(b"\n") + 1]
    elif len(content) > _MAX_BYTES:
        expected = f"expected a YAML file of at most {_MAX_BYTES:,} bytes"
        raise TooLargeError(f"{path}: has {size:,} bytes; {expected}. Is it another file, or written by a program?")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or content.count(b"\0") > len(content) // 4:
        raise InvalidInput([f"{path.name}: not UTF-8 text but UTF-16; {_UTF8}"])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        got = _short(content.splitlines()[line - 1].decode("utf-8", "backslashreplace"))
        raise InvalidInput([f"{path.name}:{line}: not UTF-8 text, got '{got}'; {_UTF8}"]) from error


def _located(path: Path, error: YAMLError, text: str) -> str:
    """Return the message of an error as ``params.yaml:3: found character '\\t'; got ...; expected ...``."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    parts = [getattr(error, part, None) for part in ("context", "problem")]
    words = " ".join(", ".join(str(part) for part in parts if part).split()) or " ".join(str(error).split())
    hint = " (indent with blanks, not tabs)" if "'\\t'" in words else ""
    if isinstance(error, ReaderError):
        line = text.count("\n", 0, error.position) + 1
        got = f"{text.split(chr(10))[line - 1].strip():.60}"
        return (
            f"{path.name}:{line}: the character U+{ord(text[error.position]):04X} is not allowed in YAML; got {got!r}; "
            "expected a line without it"
        )
    lines = text.splitlines()
    if mark is None or not lines:
        return f"{path.name}: {words}; {_LIKE}{hint}"
    line = min(mark.line, len(lines) - 1)
    return f"{path.name}:{line + 1}: {words}; got {_short(lines[line].strip())!r}; {_LIKE}{hint}"
