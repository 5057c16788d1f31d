"""Times as text, such as ``1h30m``: the limits that commands and params.yaml accept."""

from __future__ import annotations

import re
from math import floor

_TIME = re.compile(r"(?=\d)(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
EXPECTED = "a time such as 90s, 30m or 1h30m"


def read_time(text: str) -> int | None:
    """Return the seconds of a time such as ``90s``, ``30m`` or ``1h30m``; None if the text has another form."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + seconds


def limit_text(seconds: float) -> str:
    """Return a limit that is longer than ``seconds``, in the form that ``read_time`` reads."""
    minutes, rest = divmod(floor(seconds) + 1, 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (rest, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number)
