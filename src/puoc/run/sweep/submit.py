"""Submit the running command to a cluster's head node through Ray's Jobs API."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

_LOCAL_OPTIONS = ("--submit", "--address")  # the head node runs the command itself, on its own cluster


def submit(url: str, root: Path) -> str:
    """Submit the command of this process and return the job's id.

    Raises
    ------
    ValueError : no Jobs API answers at the URL.
    """
    from puoc.run.sweep.ray_start import jobs_client

    try:
        return str(jobs_client(url).submit_job(entrypoint=entrypoint(sys.argv[1:], root)))
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        expected = "expected the address of a head node's dashboard, as http://HOST:8265"
        raise ValueError(f"--submit: got {url}, where no Jobs API answers ({reason}); {expected}") from error


def entrypoint(words: list[str], root: Path) -> str:
    """Return the command line for the head node: the same arguments, run in the folder that all nodes share."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip or word.partition("=")[0] in _LOCAL_OPTIONS:
            skip = not skip and "=" not in word
            continue
        kept.append(word)
    return f"cd {shlex.quote(str(root.resolve()))} && puoc {shlex.join([*kept, '--address', 'auto'])}"
