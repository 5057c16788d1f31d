"""``dvc repro`` without its hints at the end of a good run, and after a kill that left DVC's lock file half written.

The hints, about a remote storage and about adding files with git, are for projects that share results by DVC. Here
they would be the last lines that a new user reads. DVC empties its lock file before it writes it; after a kill between
the two it refuses every command until the file is removed.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path
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


def _is_broken(path: Path) -> bool:
    try:
        json.loads(path.read_text())
    except ValueError:
        return True
    except OSError:  # there is none
        return False
    return False


def _remove_broken(path: Path) -> None:
    """Remove a lock file that a killed DVC left; one that a running DVC is writing is whole a second later."""
    if _is_broken(path):
        time.sleep(1)
        if _is_broken(path):
            path.unlink(missing_ok=True)


ui.write = _write_others
scm_context.logger.addFilter(_is_no_hint)
_remove_broken(Path(".dvc/tmp/rwlock"))
sys.exit(main(["repro", *sys.argv[1:]]))
