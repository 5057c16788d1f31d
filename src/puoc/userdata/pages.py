"""Static pages about a user's data, which need no network. Equal results give equal bytes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

_BEGINNING: Final = 1000  # bytes


@cache
def environment() -> Environment:
    """Return the templates, compiled once for all pages of a process."""
    return Environment(
        loader=PackageLoader("puoc.reporting.page", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def check_place(path: Path, inputs: Iterable[Path], command: str = "puoc assess") -> None:
    """Check that a page of a command may be written to a path: a new file, an empty one, or an earlier page.

    Raises
    ------
    ValueError : the path is one of the inputs, another file or a folder, or it cannot be looked at.
    """
    try:
        if path.exists():
            _check_replaceable(path, inputs, command)
        if path.suffix.lower() not in (".html", ".htm"):
            got = path.suffix or "no suffix"
            raise ValueError(f"--html: got {got} ({path}); expected .html, since a page is written")
    except OSError as error:
        raise ValueError(f"--html: {path} cannot be written ({error.strerror}); name another place") from error


def _check_replaceable(path: Path, inputs: Iterable[Path], command: str) -> None:
    if path.is_dir():
        raise ValueError(f"--html: {path} is a folder; expected a file, such as {path / command.split()[-1]}.html")
    if not path.is_file():
        raise ValueError(f"--html: {path} is no plain file; name another one")
    for source in inputs:
        if source.exists() and path.samefile(source):
            raise ValueError(f"--html: {path} is to be read from; name another file")
    with path.open("rb") as file:
        beginning = file.read(_BEGINNING)
    if beginning and f"<title>{command}: ".encode() not in beginning:  # near the beginning of every page
        raise ValueError(f"--html: {path} is there already and no page of {command}; name another file")
