"""Rights of files that count for root too, as CI may run as root."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION = 0x20080522  # of the structures of capget and capset
_PAST_RIGHTS = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
_LIBC = ctypes.CDLL(None, use_errno=True)


@contextmanager
def rights_that_count() -> Iterator[None]:
    """Take from root, in this thread, the power to read and write against the rights of files."""
    if os.geteuid() != 0:
        yield
        return
    header, sets = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
    assert _LIBC.capget(header, sets) == 0, os.strerror(ctypes.get_errno())
    effective = sets[0]
    sets[0] &= ~_PAST_RIGHTS
    assert _LIBC.capset(header, sets) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        sets[0] = effective
        assert _LIBC.capset(header, sets) == 0, os.strerror(ctypes.get_errno())
