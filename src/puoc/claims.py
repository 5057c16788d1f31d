"""Who computes what just now. A claim is a file that is created exclusively and whose owner keeps touching it.

A claim is dead when its process is gone (seen at once on the same machine) or when it has not been touched for
``EXPIRES`` seconds by the watcher's own clock (machines' clocks may differ). A dead claim is taken over by renaming it
away, which only one of several watchers can do.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from functools import cache
from pathlib import Path
from typing import Any

import psutil

HEARTBEAT = 3.0  # seconds between two touches
EXPIRES = 30.0  # seconds without a touch after which the owner is taken for dead

_seen: dict[Path, tuple[tuple[str, int], float]] = {}  # claim -> (its token and last touch, when we first saw that)


class Claim:
    """A claim held by this process. Release it when the record is written."""

    def __init__(self, path: Path, token: str):
        self.path, self.token = path, token

    def touch(self) -> None:
        """Say that the owner lives. A claim taken over by somebody else is left alone."""
        if _token(self.path) == self.token:
            os.utime(self.path)

    def release(self) -> None:
        """Give the claim back."""
        if _token(self.path) == self.token:
            self.path.unlink(missing_ok=True)


class Heartbeat:
    """Touches claims in the background while a block runs, and releases them at its end."""

    def __init__(self, claims: list[Claim]):
        self.claims, self._stop = claims, threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def _beat(self) -> None:
        while not self._stop.wait(HEARTBEAT):
            for held in self.claims:
                held.touch()

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for held in self.claims:
            held.release()


def claim(path: Path) -> Claim | None:
    """Claim ``path``, taking over a dead owner's claim; None while a living one holds it."""
    owner = _owner()
    temporary = path.parent / f".{path.name}.{owner['token']}"
    temporary.write_text(json.dumps(owner))
    try:
        for _ in range(2):
            try:
                os.link(temporary, path)
            except FileExistsError:
                if not _is_dead(path) or not _bury(path):
                    return None
            else:
                return Claim(path, owner["token"])
        return None
    finally:
        temporary.unlink()


def holder(path: Path) -> str | None:
    """Who holds a claim, in words; None where nobody does."""
    owner = _read(path)
    return f"process {owner['pid']} on {owner['host']}" if owner else None


def _is_dead(path: Path) -> bool:
    owner, touched = _read(path), _touched(path)
    if owner is None or touched is None:
        return False  # released just now; the next try will see
    if owner["machine"] == _machine():
        return not _lives(owner["pid"], owner["started"]) or _silent(path, owner["token"], touched)
    return _silent(path, owner["token"], touched)


def _silent(path: Path, token: str, touched: int) -> bool:
    now = time.monotonic()
    state, since = _seen.get(path, (None, now))
    if state != (token, touched):
        _seen[path] = ((token, touched), now)
        return False
    return now - since > EXPIRES


def _bury(path: Path) -> bool:
    """Rename a dead claim away. If a living one was caught meanwhile, put it back."""
    expected = _token(path)
    grave = path.parent / f".{path.name}.{uuid.uuid4().hex[:8]}.dead"
    try:
        path.rename(grave)
    except FileNotFoundError:
        return True  # released or buried by somebody else; who links first owns it
    try:
        if _token(grave) != expected:
            os.link(grave, path)
            return False
    except FileExistsError:
        return False
    finally:
        grave.unlink()
    return True


def _owner() -> dict[str, Any]:
    me = psutil.Process()
    return {
        "pid": me.pid,
        "started": me.create_time(),
        "host": os.uname().nodename,
        "machine": _machine(),
        "token": uuid.uuid4().hex,
    }


@cache
def _machine() -> str:
    """The space in which a process number means one process: a boot of a kernel and a namespace of process numbers."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + Path("/proc/self/ns/pid").readlink().name
    except OSError:  # no Linux: the host's name has to do
        return os.uname().nodename


def _lives(pid: int, started: float) -> bool:
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - started) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text())  # type: ignore[no-any-return]
    except FileNotFoundError:
        return None


def _token(path: Path) -> str | None:
    owner = _read(path)
    return owner["token"] if owner else None


def _touched(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return None
