"""An assessment as one static page that needs no network. Equal assessments give equal bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from puoc.datasets.readers import Column
from puoc.userdata.assess.decision import Assessment

_TITLE: Final = b"<title>puoc assess: "  # near the beginning of every page
_BEGINNING: Final = 1000  # bytes


def page(
    assessment: Assessment, files: Mapping[str, str | None], profile: Sequence[Column], reading: Sequence[str]
) -> str:
    """Return the text of the page.

    Parameters
    ----------
    files : paths by role.
    profile : the columns of a table; empty for other data.
    reading : notes on the files.
    """
    by_family = list(zip(assessment.evidence.gained, assessment.worth, strict=True))
    context = {"found": assessment, "by_family": by_family, "files": files, "profile": profile, "reading": reading}
    return _environment().get_template("assess.html.j2").render(context)


@cache
def _environment() -> Environment:
    """Return the templates, compiled once for all pages of a process."""
    return Environment(
        loader=PackageLoader("puoc.reporting.page", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def check_place(path: Path, inputs: Iterable[Path]) -> None:
    """Check that a page may be written to a path: a new file, an empty one, or an earlier page.

    Raises
    ------
    ValueError : the path is one of the inputs, another file or a folder, or it cannot be looked at.
    """
    try:
        if path.exists():
            _check_replaceable(path, inputs)
        if path.suffix.lower() not in (".html", ".htm"):
            got = path.suffix or "no suffix"
            raise ValueError(f"--html: got {got} ({path}); expected .html, since a page is written")
    except OSError as error:
        raise ValueError(f"--html: {path} cannot be written ({error.strerror}); name another place") from error


def _check_replaceable(path: Path, inputs: Iterable[Path]) -> None:
    if path.is_dir():
        raise ValueError(f"--html: {path} is a folder; expected a file, such as {path / 'assess.html'}")
    if not path.is_file():
        raise ValueError(f"--html: {path} is no plain file; name another one")
    for source in inputs:
        if source.exists() and path.samefile(source):
            raise ValueError(f"--html: {path} is to be read from; name another file")
    with path.open("rb") as file:
        beginning = file.read(_BEGINNING)
    if beginning and _TITLE not in beginning:
        raise ValueError(f"--html: {path} is there already and no page of puoc assess; name another file")
