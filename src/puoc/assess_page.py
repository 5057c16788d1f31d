"""An assessment as one static page that needs no network. Equal assessments give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from puoc.assess import Assessment
from puoc.own import Column


def page(found: Assessment, files: Mapping[str, str | None], profile: Sequence[Column], reading: Sequence[str]) -> str:
    """The page's text.

    Parameters
    ----------
    files : what was read, by role.
    profile : the columns of a table; empty where there are none.
    reading : what was met in the files.
    """
    environment = Environment(
        loader=PackageLoader("puoc.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    by_family = list(zip(found.evidence.gained, found.worth, strict=True))
    context = {"found": found, "by_family": by_family, "files": files, "profile": profile, "reading": reading}
    return environment.get_template("assess.html.j2").render(context)
