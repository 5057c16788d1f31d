"""``dvc repro`` without its hints at the end of a good run, and after a kill that left a file of DVC half written.

The hints, about a remote storage and about adding files with git, are for projects that share results by DVC. Here
they would be the last lines that a new user reads. DVC empties ``.dvc/tmp/rwlock`` and ``dvc.lock`` before it writes
them; after a kill between the two it refuses every command until the file is removed. Without ``dvc.lock`` every stage
starts again and finds its fits in the ledger.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dvc.cli import main
from dvc.repo import scm_context
from dvc.schema import COMPILED_LOCKFILE_SCHEMA
from dvc.ui import ui
from dvc.utils.serialize import ParseError, parse_yaml
from voluptuous import Invalid

# The last line of a whole lock, whose newline an editor may have left out. DVC works with fewer digits of it too.
_LAST = re.compile(r" +(size|nfiles): \d+")

_HINT = "Use `dvc push` to send your updates to remote storage."

_write = ui.write


def _write_others(*objects: Any, **options: Any) -> None:
    if objects != (_HINT,):
        _write(*objects, **options)


def _is_no_hint(record: logging.LogRecord) -> bool:
    return record.levelno > logging.INFO  # faults stay


def _read_rwlock(text: str) -> None:
    json.loads(text)


def _read_stages(text: str) -> None:
    if "<<<<<<< " in text:  # a conflict of git is for its user to resolve
        return
    last = text.rpartition("\n")[2]
    if last and not _LAST.fullmatch(last):  # a cut value, such as "hash: m", fits the schema and stops DVC later
        raise ValueError("the last line is cut")
    COMPILED_LOCKFILE_SCHEMA(parse_yaml(text, "dvc.lock"))


def _is_broken(path: Path, read: Callable[[str], None]) -> bool:
    try:
        read(path.read_text(encoding="utf-8"))
    except (ValueError, ParseError, Invalid):
        return True
    except OSError:  # there is none
        return False
    return False


def _remove_broken(path: Path, read: Callable[[str], None]) -> None:
    """Remove a file that a killed DVC left; one that a running DVC is writing is whole a second later."""
    if _is_broken(path, read):
        time.sleep(1)
        if _is_broken(path, read):
            path.unlink(missing_ok=True)
            ui.error_write(f"removed {path}: a run was killed while it wrote the file")


ui.write = _write_others
scm_context.logger.addFilter(_is_no_hint)
_remove_broken(Path(".dvc/tmp/rwlock"), _read_rwlock)
_remove_broken(Path("dvc.lock"), _read_stages)
sys.exit(main(["repro", *sys.argv[1:]]))
