"""Children die with their parent, so that a killed run leaves nothing behind that still computes or holds a claim."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import threading

import psutil

_PR_SET_PDEATHSIG = 1
_SHELLS = {"sh", "bash", "dash", "zsh", "ash"}


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the process that forked it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the line above
        os._exit(1)


def die_with_dvc() -> None:
    """Inside a DVC stage: end when ``dvc`` ends, even when it was killed and a shell stands between."""
    if "DVC_STAGE" not in os.environ or not hasattr(os, "pidfd_open"):
        return
    for ancestor in psutil.Process().parents():
        if ancestor.name() not in _SHELLS:
            threading.Thread(target=_end_after, args=(ancestor.pid,), daemon=True).start()
            return


def _end_after(pid: int) -> None:
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        os._exit(130)
    poll = select.poll()
    poll.register(watched, select.POLLIN)
    poll.poll()
    os._exit(130)  # workers follow by die_with_parent
