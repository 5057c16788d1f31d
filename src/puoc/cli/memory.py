"""The end of a command that got too little memory: what limits it, and what would do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import typer

from puoc.cli.console import INVALID_INPUT, STORAGE_ERROR, warn

_LEAST_ADDRESS_SPACE = 10**9  # bytes; with less, OpenBLAS may ask for memory for ever while it is imported
_NEEDED = 5 * 10**9  # bytes of addresses, most of them PyTorch's libraries; measured for puoc fit and puoc assess
_REFUSALS = (  # of the system's loader, of PyTorch on the CPU
    "failed to map segment from shared object",
    "cannot allocate memory in static TLS block",
    "can't allocate memory",
    "Cannot allocate memory",
)


def address_space_limit() -> int | None:
    """Return the limit of this process's address space (``ulimit -v``) in bytes, None without one."""
    with suppress(ImportError):  # only Unix has such limits
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit

        soft, _ = getrlimit(RLIMIT_AS)
        return None if soft == RLIM_INFINITY else soft
    return None


def check_address_space() -> None:
    """End the process with exit code 2 if its address space is so limited that no command can run."""
    limit = address_space_limit()
    if limit is not None and limit < _LEAST_ADDRESS_SPACE:
        warn(f"{_limited(limit)}; nothing was started")
        raise typer.Exit(INVALID_INPUT)


@contextmanager
def exit_without_memory() -> Iterator[None]:
    """Report that the block got too little memory, and stop with exit code 1."""
    try:
        yield
    except (MemoryError, ImportError, RuntimeError, OSError) as error:
        if not _is_memory(error):
            raise
        limit = address_space_limit()
        detail = f" ({error})" if str(error) else ""
        why = "expected more memory or fewer rows" if limit is None else _limited(limit)
        warn(f"the memory is used up{detail}: {why}. What was finished before is kept")
        sys.exit(STORAGE_ERROR)


def _is_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or any(refusal in str(error) for refusal in _REFUSALS)


def _limited(limit: int) -> str:
    return (
        f"a limit allows this process {limit / 1e9:.1f} GB of addresses; expected {_NEEDED / 1e9:.0f} GB or more, or "
        "no limit: ulimit -v unlimited, or h_vmem of the queue"
    )
