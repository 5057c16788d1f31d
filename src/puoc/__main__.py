"""The command ``puoc``, also as ``python -m puoc``."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn

from puoc.cli.app import main
from puoc.registry import collect_rarely


def main_and_leave() -> NoReturn:
    """Run the command line as a process of its own, and leave it at once when it is done.

    Taking torch and mlflow apart costs a second in every stage, and there is nothing left to do: files are synced when
    they are written, workers ended with their executor.
    """
    collect_rarely()
    code: str | int | None = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    if code is not None and not isinstance(code, int):
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):
            stream.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    main_and_leave()
