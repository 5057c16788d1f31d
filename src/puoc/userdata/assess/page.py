"""An assessment as one static page that needs no network. Equal assessments give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from puoc.datasets.readers import Column
from puoc.userdata.assess.alpha_bounds import percent, whole
from puoc.userdata.assess.audit_page import Section
from puoc.userdata.assess.decision import Assessment
from puoc.userdata.assess.pictures import pictures
from puoc.userdata.assess.reasons import LARGEST_LOSS, SURE, WORST, signed, to_one
from puoc.userdata.pages import environment


def page(
    assessment: Assessment,
    files: Mapping[str, str | None],
    profile: Sequence[Column],
    reading: Sequence[str],
    audit: Section | None = None,
) -> str:
    """Return the text of the page.

    Parameters
    ----------
    files : paths by role.
    profile : the columns of a table; empty for other data.
    reading : notes on the files.
    audit : of the files; absent: the page has none.
    """
    by_family = list(zip(assessment.evidence.gained, assessment.worth, strict=True))
    drawn = pictures(assessment)
    context = {
        "found": assessment,
        "drawn": drawn,
        "by_family": by_family,
        "files": files,
        "profile": profile,
        "reading": reading,
    }
    words = {"to_one": to_one, "signed": signed, "whole": whole, "share": percent}
    limits = {"largest_loss": LARGEST_LOSS, "worst": WORST, "sure": SURE}
    return environment().get_template("assess.html.j2").render(context, audit=audit, **words, **limits)
