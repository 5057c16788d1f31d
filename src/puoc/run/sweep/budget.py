"""The budget of a sweep: a time, or a number of configurations."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

_TIME = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


class Budget(NamedTuple):
    """Largest number of seconds, or of configurations with an outcome; these include the known ones."""

    seconds: float | None = None
    configurations: int | None = None

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a budget such as ``90s``, ``30m``, ``1h30m`` or ``50``.

        Raises
        ------
        ValueError : the text has another form, or the budget is zero.
        """
        match = _TIME.fullmatch(text.strip())
        if text.strip().isdecimal() and int(text) > 0:
            return cls(configurations=int(text))
        hours, minutes, seconds = (int(part or 0) for part in match.groups()) if match else (0, 0, 0)
        total = 3600 * hours + 60 * minutes + seconds
        if not total:
            raise ValueError(
                f"--budget: got {text!r}; expected a time such as 90s, 30m or 1h30m, or a number such as 50"
            )
        return cls(seconds=total)
