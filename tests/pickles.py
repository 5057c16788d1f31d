"""Detection of pickles, which no file of puoc may contain."""

from __future__ import annotations

import pickletools


def is_pickle(content: bytes) -> bool:
    try:
        return sum(1 for _ in pickletools.genops(content)) > 1
    except ValueError:
        return False
