"""How much a sweep may do: a time, or a number of configurations."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

_TIME = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


class Budget(NamedTuple):
    """At most so many seconds, or so many configurations with an outcome, the known ones among them."""

    seconds: float | None = None
    configurations: int | None = None

    @classmethod
    def read(cls, text: str) -> Self:
        """From ``90s``, ``30m``, ``1h30m`` or ``50``.

        Raises
        ------
        ValueError : anything else, or nothing at all.
        """
        found = _TIME.fullmatch(text.strip())
        if text.strip().isdecimal() and int(text) > 0:
            return cls(configurations=int(text))
        hours, minutes, seconds = (int(part or 0) for part in found.groups()) if found else (0, 0, 0)
        total = 3600 * hours + 60 * minutes + seconds
        if not total:
            raise ValueError(
                f"--budget: got {text!r}; expected a time such as 90s, 30m or 1h30m, or a number such as 50"
            )
        return cls(seconds=total)
