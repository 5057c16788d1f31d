"""Doubtful columns of user data, all of which one message asks about, with the options that answer it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Literal, NamedTuple, NoReturn

Option = Literal["drop", "category", "missing", "text", "number"]

#: Reason to leave out a column that identifies or dates the rows; a message states it once.
NEW_ROWS = "New rows have other values there. "
_ANSWERS = "These options answer"


class Doubt(NamedTuple):
    """A column that can be read in two ways or that seems to be no measurement."""

    column: str
    reason: str  # one or more sentences, with the options that settle it
    option: Option = "drop"  # the suggested answer
    value: str | None = None  # of that option; absent: the column

    @property
    def answer(self) -> tuple[Option, str]:
        """Return the suggested option and its value."""
        return self.option, self.column if self.value is None else self.value


def settled(doubts: Sequence[Doubt], others: bool) -> list[Doubt]:
    """Return doubts with answers that go together: ``--text`` for one column, and only if no other column is left.

    Parameters
    ----------
    others : whether columns are left that are not in doubt. With ``--text``, they would not be read.
    """
    others = others or any(doubt.option not in ("drop", "text") for doubt in doubts)
    texts = [] if others else [doubt for doubt in doubts if doubt.option == "text"]
    return [
        doubt._replace(option="drop") if doubt.option == "text" and doubt not in texts[:1] else doubt
        for doubt in doubts
    ]


class DoubtfulColumn(ValueError):  # noqa: N818 - names the column
    """Raised while one column is read; ``DoubtfulColumns`` collects these."""

    def __init__(self, doubt: Doubt):
        super().__init__(doubt.reason)
        self.doubt = doubt


class DoubtfulColumns(ValueError):  # noqa: N818 - names the columns
    """Raised with all doubtful columns of the files. ``str()`` has a line for each, and the options in the last one."""

    def __init__(self, where: str, doubts: Sequence[Doubt], hint: str = ""):
        self.where, self.doubts, self.hint = where, tuple(doubts), hint.strip()
        options = shlex.join(word for option, value in self.answers for word in (f"--{option}", value))
        super().__init__(self.with_answer(f"{_ANSWERS} {self._all}: {options}"))

    @property
    def answers(self) -> list[tuple[Option, str]]:
        """Return the suggested options with their values, each once."""
        return list(dict.fromkeys(doubt.answer for doubt in self.doubts))

    def with_answer(self, answer: str) -> str:
        """Return the message with another last line, such as a whole command."""
        if len(self.doubts) == 1:
            lines = [self.doubts[0].reason]
        else:
            n = len(self.doubts)
            lines = [f"{self.where}: {n} columns need a decision before a method sees them:"]
            reasons = [doubt.reason.removeprefix(f"{self.where}: ") for doubt in self.doubts]
            lines += [f"  {reason.replace(NEW_ROWS, '')}" for reason in reasons]
            if any(NEW_ROWS in reason for reason in reasons):
                lines.append("  New rows have other values in columns that identify or date a row.")
        return "\n".join([*lines, *([f"  {self.hint}"] if self.hint else []), f"  {answer}"])

    def with_command(self, command: str) -> str:
        """Return the message with a command that answers all doubts as suggested."""
        return self.with_answer(f"This command answers {self._all} as suggested: {command}")

    @property
    def _all(self) -> str:
        return "it" if len(self.doubts) == 1 else "all of them"


def doubt(column: str, reason: str, option: Option = "drop", value: str | None = None) -> NoReturn:
    """Raise DoubtfulColumn with one doubt; the parameters are those of ``Doubt``."""
    raise DoubtfulColumn(Doubt(column, reason, option, value))
