"""The budget of a sweep: a time, or a number of configurations."""

from __future__ import annotations

from typing import NamedTuple, Self

from puoc.store.times import EXPECTED, read_time


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
        if text.strip().isdecimal() and int(text) > 0:
            return cls(configurations=int(text))
        total = read_time(text)
        if not total:
            raise ValueError(f"--budget: got {text!r}; expected {EXPECTED}, or a number such as 50")
        return cls(seconds=total)
