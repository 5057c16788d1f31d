"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any


def write_bytes(path: Path, content: bytes) -> bool:
    """Replace a file whole, by rename; an equal file is left alone. True if something was written."""
    if path.exists() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name}.{uuid.uuid4().hex[:8]}"
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def write_json(path: Path, value: Any) -> bool:
    """Replace a JSON file whole: sorted as given, indented, with a line feed at its end."""
    return write_bytes(path, (json.dumps(value, indent=1, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """A JSON file's value."""
    return json.loads(path.read_text())
