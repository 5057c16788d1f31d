"""Who computes what just now. A claim is a file that is created exclusively and whose owner keeps touching it.

A claim is dead when its process is gone (seen at once on the same machine) or when it has not been touched for
``EXPIRES`` seconds by the watcher's own clock (machines' clocks may differ). Whoever removes a claim, its owner or one
of several watchers of a dead one, first locks the very file it means, so nobody removes one that has taken its place.

Claims spare work; they are not what keeps the ledger right. An owner that was paused, or a file system without locks,
may let two processes compute one fit: then the first record wins.
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

import psutil

from puoc.store.atomic import create

HEARTBEAT = 3.0  # seconds between two touches
EXPIRES = 30.0  # seconds without a touch after which the owner is taken for dead
A_DAY = 86400.0  # seconds; more than clocks of machines that share a ledger differ by

_GONE = (errno.ENOENT, errno.ESTALE)  # the second: removed on another NFS client while open here
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
    """A claim held by this process. Release it when the record is written. A forked child's copy of it does nothing."""

    def __init__(self, path: Path, token: str):
        self.path, self.token, self._pid = path, token, os.getpid()

    def touch(self) -> None:
        """Say that the owner lives. A claim taken over by somebody else is left alone."""
        if os.getpid() == self._pid:
            with suppress(FileNotFoundError), self.path.open("rb") as file:
                if _look(file).token == self.token:
                    os.utime(file.fileno())

    def release(self) -> None:
        """Give the claim back. A claim taken over by somebody else is left alone."""
        if os.getpid() == self._pid:
            _remove(self.path, self.token)


class Heartbeat:
    """Touches claims in the background while a block runs, and releases them at its end."""

    def __init__(self, claims: list[Claim]):
        self.claims, self._stop = claims, threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def _beat(self) -> None:
        while not self._stop.wait(HEARTBEAT):
            for held in self.claims:
                # a storage that fails now may answer at the next beat; if not, the claim expires
                with suppress(OSError):
                    held.touch()

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for held in self.claims:
            with suppress(OSError):  # not released, it dies with this process; what the block raised matters more
                held.release()


def claim(path: Path) -> Claim | None:
    """Claim ``path``, taking over a dead owner's claim; None while a living one holds it.

    Raises
    ------
    OSError : the folder cannot be written, or the disk is full.
    """
    owner = _owner()
    for _ in range(2):
        if create(path, json.dumps(owner).encode(), durable=False):
            return Claim(path, owner["token"])
        if not clear(path):
            return None
    return None


def holder(path: Path) -> str | None:
    """Who holds a claim, in words; None where nobody does."""
    seen = _read(path)
    if seen is None:
        return None
    return f"process {seen.owner['pid']} on {seen.owner['host']}" if seen.owner else "an unknown process"


def is_held(path: Path) -> bool:
    """True for a claim whose owner is not known to be dead."""
    seen = _read(path)
    return seen is not None and not _is_dead(path, seen)


def clear(path: Path) -> bool:
    """Remove a dead owner's claim; True if the name is free now."""
    seen = _read(path)
    if seen is None:
        return True
    return _is_dead(path, seen) and _remove(path, seen.token, seen.touched)


def _is_dead(path: Path, seen: _Seen) -> bool:
    if seen.owner is not None and seen.owner["machine"] == _machine():
        return not _lives(seen.owner["pid"], seen.owner["started"]) or _is_silent(path, seen)
    return time.time() - seen.touched / 1e9 > A_DAY or _is_silent(path, seen)


def _is_silent(path: Path, seen: _Seen) -> bool:
    """True after ``EXPIRES`` seconds of the same state.

    The time between two looks counts by half of that at most: a watcher that was itself paused, perhaps together with
    the owner, looks again before it calls anybody dead.
    """
    state, now = (seen.token, seen.touched), time.monotonic()
    known, silent, last = _watched.get(path, (None, 0.0, now))
    silent = silent + min(now - last, EXPIRES / 2) if state == known else 0.0
    _watched[path] = (state, silent, now)
    return silent > EXPIRES


def _remove(path: Path, token: str | None, touched: int | None = None) -> bool:
    """Remove the claim with this token, if it was not touched meanwhile; True if the name is free now.

    A claim is unlinked only under the lock of its file, and its name can mean another file only after that. So what is
    checked under the lock stays true until the unlinking.
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
        return False  # somebody else is removing it
    except FileNotFoundError:
        pass  # somebody else has removed it: who creates it first owns it
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
    # opening the file is what makes NFS ask the server for the time of the last touch
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
    """The space in which a process number means one process: a boot of a kernel and a namespace of process numbers.

    The host's name belongs to it because copies of one virtual machine share the rest.
    """
    host = os.uname().nodename
    try:
        boot, namespace = (
            Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
            Path("/proc/self/ns/pid").readlink(),
        )
    except OSError:  # no Linux: the host's name has to do
        return host
    return f"{host} {boot} {namespace.name}"


def _lives(pid: int, started: float) -> bool:
    """True for a running process that began when the owner did, so is no later one with its number."""
    try:
        os.kill(pid, 0)
        state, began = state_of(pid)
    except ProcessLookupError:
        return False
    except (OSError, psutil.Error):
        return True  # it is there, but another user's and hidden; its silence will tell
    return state not in ("Z", "X", psutil.STATUS_ZOMBIE) and began == started


def state_of(pid: int) -> tuple[str, float]:
    """State of a process and when it began; on Linux in ticks since the boot, which setting the clock leaves alone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        process = psutil.Process(pid)
        return process.status(), process.create_time()
    return fields[0], float(fields[19])
