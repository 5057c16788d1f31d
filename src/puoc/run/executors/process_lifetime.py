"""End processes on a signal, and children with their parent, so that no process is left that computes or claims."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from puoc.store.claims import state_of

if TYPE_CHECKING:
    import psutil

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)  # loaded before any fork
_SHELLS = {"sh", "bash", "dash", "zsh", "ash"}
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_INTERRUPTED = 130  # exit code
_AUTOGROUP = Path("/proc/self/autogroup")
_AUTOGROUP_TRIES = 50

_interrupted = threading.Event()


def interrupt_on_signals() -> None:
    """Turn SIGTERM, like Ctrl-C, into a KeyboardInterrupt, and remember that one came."""
    for number in _SIGNALS:
        signal.signal(number, _interrupt)


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt again, since Python drops one in a callback of a fork or of garbage collection."""
    if _interrupted.is_set():
        raise KeyboardInterrupt


def _interrupt(*_: object) -> None:
    _interrupted.set()
    raise KeyboardInterrupt


@contextmanager
def signals_held() -> Iterator[None]:
    """Delay signals until the end of a block that forks; a child calls ``leave_signals_to_parent``."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_signals_to_parent() -> None:
    """Ignore Ctrl-C in a worker, since the parent gets it too and ends its workers; SIGTERM ends this worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def give_way_to_other_sessions() -> None:
    """Let a worker of low priority (``os.nice``) give way to the programs of other terminals too.

    Linux with autogroups divides the processor among sessions first, and a nice value counts only inside its session.
    So the worker begins a session of its own, which gets the same nice value.
    """
    priority = os.nice(0)
    if priority <= 0 or not _AUTOGROUP.exists():
        return
    os.setsid()
    for _ in range(_AUTOGROUP_TRIES):
        try:
            _AUTOGROUP.write_text(str(priority))
        except BlockingIOError:  # the kernel allows one such change in a tenth of a second, for all users together
            time.sleep(0.2)
        except OSError:
            return
        else:
            return


def die_with_parent(parent: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when the process that forked it ends."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:  # it ended before the line above
        os._exit(1)


def session() -> str:
    """Return a name for the ``dvc repro`` around this process, or for this process.

    A failed fit is tried once in each session.
    """
    owner = os.getpid()
    if "DVC_STAGE" in os.environ and (dvc := _dvc()) is not None:
        owner = dvc.pid
    # the start time by ``state_of`` does not change if somebody sets the clock
    return f"{os.uname().nodename} {owner} {state_of(owner)[1]:.0f}"


def die_with_dvc() -> None:
    """End a DVC stage when ``dvc`` ends, even if ``dvc`` was killed and a shell is between the two.

    If ``dvc`` has ended already, the parent of this process is init or another reaper, which has its own session.
    """
    if "DVC_STAGE" not in os.environ or not hasattr(os, "pidfd_open"):
        return
    dvc = _dvc()
    if dvc is None:
        os._exit(_INTERRUPTED)
    threading.Thread(target=_end_after, args=(dvc.pid,), daemon=True).start()


def _dvc() -> psutil.Process | None:
    import psutil  # slow to import

    ancestors = psutil.Process().parents()
    return next((found for found in ancestors if found.name() not in _SHELLS and _may_be_dvc(found)), None)


def _may_be_dvc(ancestor: psutil.Process) -> bool:
    import psutil

    try:
        same_session = os.getsid(ancestor.pid) == os.getsid(0)
        return same_session and (ancestor.pid != 1 or "dvc" in " ".join(ancestor.cmdline()))
    except (OSError, psutil.Error):
        return False


def _end_after(pid: int) -> None:
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        os._exit(_INTERRUPTED)
    poll = select.poll()
    poll.register(watched, select.POLLIN)
    poll.poll()
    os._exit(_INTERRUPTED)  # workers follow by die_with_parent
