"""``dvc repro`` without its hints at the end of a good run: about a remote storage, and about adding files with git.

They are for projects that share results by DVC. Here they would be the last lines that a new user reads.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

from dvc.cli import main
from dvc.repo import scm_context
from dvc.ui import ui

_HINT = "Use `dvc push` to send your updates to remote storage."

_write = ui.write


def _write_others(*objects: Any, **options: Any) -> None:
    if objects != (_HINT,):
        _write(*objects, **options)


def _is_no_hint(record: logging.LogRecord) -> bool:
    return record.levelno > logging.INFO  # faults stay


ui.write = _write_others
scm_context.logger.addFilter(_is_no_hint)
sys.exit(main(["repro", *sys.argv[1:]]))
