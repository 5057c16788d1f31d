"""Messages and exit codes that all commands share."""

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

    from puoc.cli.progress import Working

LARGEST_SEED = 2**63 - 1  # the limit of the generators of numpy and torch, as in params.yaml
STORAGE_ERROR, INVALID_INPUT, FAILED_ROWS, INTERRUPTED = 1, 2, 3, 130


@contextmanager
def exit_on_invalid_input() -> Iterator[None]:
    """Report a ValueError of the block and stop with exit code 2."""
    try:
        yield
    except ValueError as error:
        _fail(str(error))


@contextmanager
def exit_on_storage_error(
    consequence: str = "finished results are kept; run the same command again to continue",
) -> Iterator[None]:
    """Report an OSError of the block, such as a full disk or missing rights, and stop with exit code 1.

    Parameters
    ----------
    consequence : the second half of the message. A command that cannot be continued states here what it has written.
    """
    try:
        yield
    except OSError as error:
        _fail(f"{error}; {consequence}", STORAGE_ERROR)


@contextmanager
def collected(failures: list[str]) -> Iterator[None]:
    """Append the message of a ValueError of the block to ``failures``, so that the next block runs all the same."""
    try:
        yield
    except ValueError as error:
        failures.append(str(error))


@contextmanager
def path_errors() -> Iterator[None]:
    """Convert an OSError caused by the path itself (name too long, folder in place of a file) to a ValueError."""
    try:
        yield
    except OSError as error:
        if error.errno not in (ENAMETOOLONG, EISDIR, ENOTDIR, ELOOP):
            raise
        raise ValueError(f"{error.filename}: {error.strerror}; expected another path") from error


def planned(root: Path, computes: bool = False) -> None:
    """Check that there is a plan, register its user data, and report changes of params.yaml or data since then.

    Parameters
    ----------
    computes : whether an outdated plan is an error. Inside a DVC stage the age of the plan is not checked, because DVC
        tracks it: params.yaml may be edited for the next run while a long ``dvc repro`` is running.

    Raises
    ------
    ValueError : there is no plan in this folder, or the plan is outdated and ``computes`` is set.
    """
    if not (root / "work" / "plan" / "compute.json").exists():
        raise ValueError(f"no work/plan in {root.resolve()}; run puoc plan in the folder of params.yaml")
    has_user_data = any((root / "work" / "plan" / "own").glob("*.json"))
    if has_user_data:
        from puoc.datasets.user.dataset import register_planned

        register_planned(root)
    if "DVC_STAGE" in os.environ:
        return
    from puoc.plan.plan_source import changed_since

    changed = changed_since(root)
    if has_user_data:
        from puoc.datasets.user.declare import changed_own

        changed += changed_own(root)
    if changed:
        message = f"{', '.join(changed)} changed since the plan in work/plan was made"
        if computes:
            raise ValueError(f"{message}; run puoc plan, or dvc repro, which makes a new plan first")
        say(f"{message}: the output below belongs to the older plan; run puoc plan to make a new one")


def _fail(message: str, code: int = INVALID_INPUT) -> NoReturn:
    console(stderr=True).print(message, style="red", highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(code)


def say(message: str) -> None:
    """Print a line without markup or wrapping."""
    console().print(message, highlight=False, markup=False, soft_wrap=True)


def working(title: str, total: float | None = None) -> Working:
    """Return a context manager that shows on the standard error that a step of over two seconds is running."""
    from puoc.cli.progress import Working

    return Working(title, console(stderr=True), total)


def console(stderr: bool = False) -> Console:
    """Return the console; rich is imported at the first call."""
    from rich.console import Console

    return Console(stderr=stderr)
