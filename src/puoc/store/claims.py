"""Claims of fits that are being computed. A claim is a file that is created exclusively and touched by its owner.

A claim is dead if its process has ended, which is detected at once on the same machine, or if it has not been touched
for ``EXPIRES`` seconds. These are counted by the clock of the watcher, since the clocks of machines may differ. The
owner of a claim, or a watcher of a dead claim, locks the file before it removes it. So no process removes another claim
of the same name.

Claims avoid duplicate work; the ledger is correct without them. If an owner was paused, or if the file system has no
locks, two processes may compute one fit. Then the first record wins.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
import time
import uuid
from contextlib import suppress
from functools import cache
from io import BufferedIOBase
from pathlib import Path
from typing import NamedTuple, TypedDict, TypeGuard

from puoc.store.atomic import create

HEARTBEAT = 3.0  # seconds between two touches
EXPIRES = 30.0  # seconds without a touch after which a claim is dead
A_DAY = 86400.0  # seconds; clocks of machines that share a ledger differ by less

_GONE = (errno.ENOENT, errno.ESTALE)  # ESTALE: another NFS client has removed the open file
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EBADF)


class _Owner(TypedDict):
    """The process that holds a claim, as the claim's file stores it."""

    pid: int
    started: float
    host: str
    machine: str
    token: str


class _Seen(NamedTuple):
    """A claim as it was when its file was read."""

    owner: _Owner | None  # None if the file is damaged, for example after a power cut
    touched: int  # nanoseconds, by the clock of the file system

    @property
    def token(self) -> str | None:
        """Return the owner's token; None if the file is damaged."""
        return None if self.owner is None else self.owner["token"]


_watched: dict[Path, tuple[tuple[str | None, int], float, float]] = {}  # claim -> state, seconds silent, last look


class Claim:
    """A claim of this process, to be released after the record is written. Its copy in a forked child does nothing."""

    def __init__(self, path: Path, token: str):
        self.path, self.token, self._pid = path, token, os.getpid()

    def touch(self) -> None:
        """Touch the file, to show that the owner is alive. A claim that another process has taken over is kept."""
        if os.getpid() == self._pid:
            with suppress(FileNotFoundError), self.path.open("rb") as file:
                if _look(file).token == self.token:
                    os.utime(file.fileno())

    def release(self) -> None:
        """Remove the claim. A claim that another process has taken over is kept."""
        if os.getpid() == self._pid:
            _remove(self.path, self.token)


class Heartbeat:
    """Context manager that touches claims in the background and releases them at the end."""

    def __init__(self, claims: list[Claim]):
        self.claims, self._stop = claims, threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def _beat(self) -> None:
        while not self._stop.wait(HEARTBEAT):
            for own in self.claims:
                # a storage error may be gone at the next beat; otherwise the claim expires
                with suppress(OSError):
                    own.touch()

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for own in self.claims:
            with suppress(OSError):  # a claim that stays is dead with this process; an error of the block has priority
                own.release()


def claim(path: Path) -> Claim | None:
    """Create a claim at ``path``, in place of a dead one. Return None if its owner is alive.

    Raises
    ------
    OSError : the folder is not writable, or the disk is full.
    """
    owner = _owner()
    for _ in range(2):
        if create(path, json.dumps(owner).encode(), durable=False):
            return Claim(path, owner["token"])
        if not clear(path):
            return None
    return None


def holder(path: Path) -> str | None:
    """Describe the owner of a claim; None if there is no claim."""
    seen = _read(path)
    if seen is None:
        return None
    return f"process {seen.owner['pid']} on {seen.owner['host']}" if seen.owner else "an unknown process"


def is_held(path: Path) -> bool:
    """Return True for a claim that is not known to be dead."""
    seen = _read(path)
    return seen is not None and not _is_dead(path, seen)


def clear(path: Path) -> bool:
    """Remove a dead claim. Return True if the name is free now."""
    seen = _read(path)
    if seen is None:
        return True
    return _is_dead(path, seen) and _remove(path, seen.token, seen.touched)


def _is_dead(path: Path, seen: _Seen) -> bool:
    if seen.owner is not None and seen.owner["machine"] == _machine():
        return not _lives(seen.owner["pid"], seen.owner["started"]) or _is_silent(path, seen)
    return time.time() - seen.touched / 1e9 > A_DAY or _is_silent(path, seen)


def _is_silent(path: Path, seen: _Seen) -> bool:
    """Return True if a claim has had the same state for ``EXPIRES`` seconds.

    The time between two calls counts up to half of that. So a watcher that was paused, perhaps together with the owner,
    calls again before a claim is dead.
    """
    state, now = (seen.token, seen.touched), time.monotonic()
    known, silent, last = _watched.get(path, (None, 0.0, now))
    silent = silent + min(now - last, EXPIRES / 2) if state == known else 0.0
    _watched[path] = (state, silent, now)
    return silent > EXPIRES


def _remove(path: Path, token: str | None, touched: int | None = None) -> bool:
    """Remove the claim with this token if it was not touched meanwhile. Return True if the name is free now.

    A claim is unlinked only under the lock of its file, and its name can refer to another file only after that. So the
    checks under the lock stay valid until the file is unlinked.
    """
    try:
        with path.open("r+b") as file:
            _lock(file)
            seen = _look(file)
            same = seen.token == token and touched in (None, seen.touched)
            if not same or not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return False
            path.unlink()
    except BlockingIOError:
        return False  # another process is removing it
    except FileNotFoundError:
        pass  # another process has removed it; the first process that creates it owns it
    _watched.pop(path, None)
    return True


def _lock(file: BufferedIOBase) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


def _read(path: Path) -> _Seen | None:
    # NFS requests the time of the last touch from the server when the file is opened
    try:
        with path.open("rb") as file:
            return _look(file)
    except OSError as error:
        if error.errno in _GONE:
            return None
        raise


def _look(file: BufferedIOBase) -> _Seen:
    try:
        owner = json.loads(file.read())
    except ValueError:
        owner = None
    return _Seen(owner if _is_owner(owner) else None, os.fstat(file.fileno()).st_mtime_ns)


def _is_owner(value: object) -> TypeGuard[_Owner]:
    return isinstance(value, dict) and value.keys() >= _Owner.__annotations__.keys()


def _owner() -> _Owner:
    pid = os.getpid()
    return {
        "pid": pid,
        "started": state_of(pid)[1],
        "host": os.uname().nodename,
        "machine": _machine(),
        "token": uuid.uuid4().hex,
    }


@cache
def _machine() -> str:
    """Return an id of the space of process numbers: a boot of a kernel and a namespace of process numbers.

    The id includes the name of the host, because copies of one virtual machine share the rest.
    """
    host = os.uname().nodename
    try:
        boot, namespace = (
            Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
            Path("/proc/self/ns/pid").readlink(),
        )
    except OSError:  # not Linux: only the name of the host is known
        return host
    return f"{host} {boot} {namespace.name}"


def _lives(pid: int, started: float) -> bool:
    """Return True for a running process with the start time of the owner, so not a later one with its number."""
    try:
        os.kill(pid, 0)
        state, began = state_of(pid)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # the process of another user, whose state is hidden; a dead one stops touching the claim
    return state not in ("Z", "X", "zombie") and began == started


def state_of(pid: int) -> tuple[str, float]:
    """Return state and start time of a process; on Linux in ticks since the boot, which the clock does not change.

    Raises
    ------
    OSError : they cannot be read.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        import psutil  # slow to import, and not needed on Linux

        try:
            process = psutil.Process(pid)
            return process.status(), process.create_time()
        except psutil.Error as error:
            raise OSError(str(error)) from error
    return fields[0], float(fields[19])
