"""Messages and exit codes that all commands share."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EACCES, EISDIR, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, EPERM, EROFS
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

import typer

from puoc.cli.output import forget_result, is_json, is_quiet

if TYPE_CHECKING:
    from rich.console import Console

    from puoc.cli.progress import Working

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # no tab or line feed
LARGEST_SEED = 2**63 - 1  # the limit of the generators of numpy and torch, as in params.yaml
_DENIED = (EACCES, EPERM, EROFS)
STORAGE_ERROR, INVALID_INPUT, FAILED_ROWS, INTERRUPTED = 1, 2, 3, 130


@contextmanager
def exit_on_invalid_input() -> Iterator[None]:
    """Report a ValueError of the block, or a missing library of an extra, and stop with exit code 2."""
    try:
        yield
    except ValueError as error:
        _fail(str(error))
    except ModuleNotFoundError as error:
        exit_on_missing_extra(error)
        raise


def exit_on_missing_extra(error: ModuleNotFoundError) -> None:
    """Report the pip line for a library of an extra and stop with exit code 2; return for any other library."""
    from puoc.store.extras import missing_extra

    message = missing_extra(error)
    if message is not None:
        _fail(message)


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
        if error.errno in _DENIED:
            option = _option_of(error)
            _fail(f"{_denied(error, option)}; {consequence}", INVALID_INPUT if option else STORAGE_ERROR)
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
    """Convert an OSError caused by the path itself (no right, name too long, a folder for a file) to a ValueError."""
    try:
        yield
    except OSError as error:
        if error.errno in _DENIED:
            raise ValueError(_denied(error, _option_of(error))) from error
        if error.errno not in (ENAMETOOLONG, EISDIR, ENOTDIR, ELOOP):
            raise
        raise ValueError(f"{error.filename}: {error.strerror}; expected another path") from error


def _denied(error: OSError, option: str | None) -> str:
    """Return the message about a path that may not be read or written."""
    place = os.fsdecode(error.filename) if error.filename else str(error)
    named = f"{option}: {place}" if option else place
    return f"{named}: {error.strerror}; expected a path that you may read and write: change its rights or name another"


def _option_of(error: OSError) -> str | None:
    """Return the option or argument of the running command whose path lies above or below that of an error."""
    try:  # typer has click's code inside, from version 0.26 on
        from typer._click.globals import get_current_context
    except ImportError:
        from click import get_current_context  # type: ignore[no-redef]
    context = get_current_context(silent=True)
    if context is None or not error.filename:
        return None
    failed = Path(os.fsdecode(error.filename)).absolute()
    for param in context.command.params:
        given = context.params.get(param.name or "")
        for path in given if isinstance(given, list | tuple) else [given]:
            if isinstance(path, Path) and path.absolute() != Path.cwd():
                around = (path.absolute(), *path.absolute().parents)
                draft = failed.name.startswith(f".{path.name}.") and failed.parent == path.absolute().parent
                if draft or failed in around or path.absolute() in failed.parents:
                    return max(param.opts, key=len) if param.opts[0].startswith("-") else str(param.name).upper()
    return None


@contextmanager
def folders_as_before(*paths: Path | None) -> Iterator[None]:
    """Remove the folders above files to be written that the block made, if it fails and they are empty."""
    new = [folder for path in paths if path is not None for folder in path.absolute().parents if not folder.exists()]
    try:
        yield
    except BaseException:
        for folder in sorted(new, key=lambda each: len(each.parts), reverse=True):
            with suppress(OSError):  # it was not made, or something is in it
                folder.rmdir()
        raise


def check_free(*paths: Path | None) -> None:
    """Raise a ValueError for a path that exists or that lies below a file."""
    for path in filter(None, paths):
        if path.exists():
            raise ValueError(f"{path}: already exists; name another path, or remove it first")
        above = next(folder for folder in path.absolute().parents if folder.exists())
        if not above.is_dir():
            raise ValueError(f"{path}: {above.name} is a file; expected a folder, or a path that does not exist yet")


def check_writable(option: str, path: Path | None) -> None:
    """Check that a file can be written below the nearest folder that exists, before a long command starts.

    Raises
    ------
    ValueError : the folder is not writable.
    """
    if path is None:
        return
    folder = next(above for above in path.absolute().parents if above.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = "" if error.errno == ENOENT else f" ({error.strerror})"  # as in /proc, where no file can be made
        raise ValueError(
            f"{option}: {path} cannot be written, since {folder} takes no file{reason}; expected a path in a folder "
            "that you may write"
        ) from error


def planned(root: Path, computes: bool = False, note: Callable[[str], None] | None = None) -> None:
    """Check that there is a plan, register its user data, and report changes of params.yaml or data since then.

    Parameters
    ----------
    computes : whether an outdated plan is an error. Inside a DVC stage the age of the plan is not checked, because DVC
        tracks it: params.yaml may be edited for the next run while a long ``dvc repro`` is running.
    note : prints the changes; ``say`` by default. A command whose output may be piped passes ``warn``.

    Raises
    ------
    ValueError : there is no plan in this folder, or the plan is outdated and ``computes`` is set. Where puoc is
        installed without the libraries that make a plan, the message says what to install.
    """
    if not (root / "work" / "plan" / "compute.json").exists():
        from puoc.store.extras import check_installed

        check_installed("optuna")
        here = root.resolve()
        if not (root / "params.yaml").exists():
            raise ValueError(f"no params.yaml here, in {here}; run this command in the folder of params.yaml")
        raise ValueError(f"no work/plan in {here}; run puoc plan first")
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
        (note or say)(f"{message}: the output below belongs to the older plan; run puoc plan to make a new one")


def _fail(message: str, code: int = INVALID_INPUT) -> NoReturn:
    forget_result()
    console(stderr=True).print(printable(message), style="red", highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(code)


def printable(text: str) -> str:
    """Return a text with its control characters written out, since those of a file could command the terminal."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def say(message: str) -> None:
    """Print a line without markup or wrapping: with --json on the standard error, with --quiet nowhere."""
    if is_quiet():
        return
    console(stderr=is_json()).print(printable(message), highlight=False, markup=False, soft_wrap=True)


def hint(message: str) -> None:
    """Print what to do next, for a person at a terminal; not in a stage of DVC, which does the next step itself."""
    if "DVC_STAGE" not in os.environ and console(stderr=is_json()).is_terminal:
        say(f"next: {message}")


def warn(warning: str | None) -> None:
    """Print a warning, if there is one, on the standard error."""
    if warning is not None:
        console(stderr=True).print(printable(warning), style="bold red", highlight=False, markup=False, soft_wrap=True)


def show_own_warnings() -> None:
    """Print what puoc warns about without the line of code that did so; warnings of libraries stay as they are."""
    usual, own = warnings.showwarning, str(Path(__file__).parents[1])

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if category is UserWarning and filename.startswith(own):
            warn(str(message))
        else:
            usual(message, category, filename, lineno, file, line)

    warnings.showwarning = show


def working(title: str, total: float | None = None) -> Working:
    """Return a context manager that shows on the standard error that a step of over two seconds is running."""
    from puoc.cli.progress import Working

    return Working(title, shown_console(), total)


def shown_console(stderr: bool = True) -> Console:
    """Return the console for progress: that of the standard error with --json, and one that prints nothing if quiet."""
    from rich.console import Console

    return Console(stderr=stderr or is_json(), quiet=is_quiet())


def console(stderr: bool = False) -> Console:
    """Return the console; rich is imported at the first call."""
    from rich.console import Console

    return Console(stderr=stderr)
