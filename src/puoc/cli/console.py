"""What every command says and how it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EISDIR, ELOOP, ENAMETOOLONG, ENOTDIR
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console

LARGEST_SEED = 2**63 - 1  # of the generators of numpy and torch, as in params.yaml
STORAGE_ERROR, INVALID_INPUT, FAILED_ROWS, INTERRUPTED = 1, 2, 3, 130


@contextmanager
def exit_on_invalid_input() -> Iterator[None]:
    """Turn a ValueError of the block into its message and exit code 2."""
    try:
        yield
    except ValueError as error:
        _fail(str(error))


@contextmanager
def exit_on_storage_error(
    then: str = "what is recorded stays, and the same command goes on from there",
) -> Iterator[None]:
    """Turn an OSError of the block, a full disk or a folder without rights, into its message and exit code 1.

    Parameters
    ----------
    then : what was written and what was not, by a command that does not go on.
    """
    try:
        yield
    except OSError as error:
        _fail(f"{error}; {then}", STORAGE_ERROR)


@contextmanager
def path_errors() -> Iterator[None]:
    """Turn an OSError that a path causes by itself, a name too long or a folder for a file, into a ValueError."""
    try:
        yield
    except OSError as error:
        if error.errno not in (ENAMETOOLONG, EISDIR, ENOTDIR, ELOOP):
            raise
        raise ValueError(f"{error.filename}: {error.strerror}; expected another path") from error


def planned(root: Path, computes: bool = False) -> None:
    """Know the own data of the plan, and tell where params.yaml or own data say something else by now.

    Parameters
    ----------
    computes : refuse a plan that is older than these. Below DVC, which sees to that, it is left to it: a long
        ``dvc repro`` may be at work while its user writes what to ask next.

    Raises
    ------
    ValueError : nothing was planned, before ``puoc plan`` or in no project; or the plan is older.
    """
    if not (root / "work" / "plan" / "compute.json").exists():
        raise ValueError(f"no work/plan in {root.resolve()}; run puoc plan in the folder of params.yaml")
    own = any((root / "work" / "plan" / "own").glob("*.json"))
    if own:
        from puoc.datasets.user.dataset import register_planned

        register_planned(root)
    if "DVC_STAGE" in os.environ:
        return
    from puoc.plan.plan_source import changed_since

    changed = changed_since(root)
    if own:
        from puoc.datasets.user.declare import changed_own

        changed += changed_own(root)
    if changed:
        told = f"{', '.join(changed)} changed since the plan in work/plan was made of it"
        if computes:
            raise ValueError(f"{told}; run puoc plan, or dvc repro, which begins with that")
        say(f"{told}: what follows is of the older plan; puoc plan makes a new one")


def _fail(message: str, code: int = INVALID_INPUT) -> NoReturn:
    console(stderr=True).print(message, style="red", highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(code)


def say(message: str) -> None:
    """Print a line as it stands."""
    console().print(message, highlight=False, markup=False, soft_wrap=True)


def console(stderr: bool = False) -> Console:
    """The terminal, loaded when something is said."""
    from rich.console import Console

    return Console(stderr=stderr)
