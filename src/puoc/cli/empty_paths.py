"""What all commands share: the JSON document at their end, and the refusal of an empty path or of too little memory.

An unset variable of a shell gives an empty path, and ``Path("")`` would be the current folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from puoc.cli.console import exit_on_invalid_input
from puoc.cli.memory import check_address_space
from puoc.cli.output import print_result


class Command(TyperCommand):
    """A command that refuses an empty text for each of its paths, and prints its JSON document at its end."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and print its JSON document at the end, also if it ends with another exit code than 0."""
        try:
            check_address_space()
            return super().invoke(ctx)
        finally:
            print_result()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of a command line. An empty path ends the process with exit code 2."""
        given = list(args)
        rest: list[str] = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            with exit_on_invalid_input():
                for param in self.params:
                    if isinstance(ctx.params.get(str(param.name)), Path):
                        _check(param, given)
        return rest


def _check(param: Any, words: Sequence[str]) -> None:
    """Raise ValueError if the words of a command line have an empty text for a path."""
    before = ("", *words)
    if param.param_type_name == "argument":
        name = str(param.name).upper()
        empty = any(not word and not last.startswith("-") for last, word in zip(before, words, strict=False))
    else:
        name = max(param.opts, key=len)
        joined = any(word == f"{option}=" for option in param.opts for word in words)
        empty = joined or any(not word and last in param.opts for last, word in zip(before, words, strict=False))
    if empty:
        about = str(getattr(param, "help", "")).lower()
        kinds = [kind for kind in ("file", "folder") if kind in about] or ["file"]
        raise ValueError(
            f"{name}: got an empty path; expected {' or '.join(f'a {kind}' for kind in kinds)}. If the path comes from "
            "a variable, check that it is set"
        )
