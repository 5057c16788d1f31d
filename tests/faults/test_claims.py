"""Claims when processes race, are killed, are paused, or are not what they seem."""

from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from puoc.records import Fit, FitResult, Sample
from puoc.store import atomic as files
from puoc.store import claims
from puoc.store.claims import Claim, Heartbeat, claim, clear, holder, is_held
from puoc.store.ledger import Ledger

FORK = multiprocessing.get_context("fork")
SAMPLE = Sample(dataset="digits", data_digest="d", pos=(3,), n_pos_lab=50)
FIT = Fit(method="oc_svm", params={}, sample=SAMPLE, seed=0, code_digest="c", draw_digest="r")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fit.claim"


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims expire soon, here and in every child forked from here."""
    monkeypatch.setattr(claims, "HEARTBEAT", 0.05)
    monkeypatch.setattr(claims, "EXPIRES", 0.6)


def start(target: Callable[..., None], *args: object) -> multiprocessing.process.BaseProcess:
    child = FORK.Process(target=target, args=args, daemon=True)
    child.start()
    return child


def until(condition: Callable[[], object], seconds: float = 240.0) -> float:
    """Wait for a condition; how long that took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, "waited in vain"
        time.sleep(0.01)
    return time.monotonic() - began


def hold(path: Path, name: str = "held") -> None:
    """Claim, say so, and hold it with a heartbeat until killed."""
    with Heartbeat([claim(path)]):
        path.with_name(name).touch()
        time.sleep(900)


def leave(path: Path) -> None:
    """Claim and end without giving the claim back."""
    assert claim(path) is not None


def owned_by(path: Path, **changes: object) -> Path:
    """A claim as another owner would have written it."""
    path.write_text(json.dumps(claims._owner() | {"token": "other"} | changes))
    return path


def visible(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


# one owner at a time


def test_a_claim_is_held_until_it_is_released(path):
    held = claim(path)
    assert claim(path) is None
    assert holder(path) == f"process {os.getpid()} on {os.uname().nodename}"
    held.release()
    assert holder(path) is None
    assert claim(path) is not None
    assert visible(path.parent) == [path.name]


def _take_all(folder: Path, n: int, log: Path) -> None:
    """Claim and release each of n fits until it was had once, noting when it was held and by whom."""
    wanted = set(range(n))
    while wanted:
        for number in sorted(wanted, key=lambda i: (i * 7 + os.getpid()) % n):
            held = claim(folder / f"{number}.claim")
            if held is not None:
                began = time.monotonic_ns()
                time.sleep(0.0005)
                ended = time.monotonic_ns()
                held.release()
                with log.open("a") as file:
                    file.write(f"{number} {began} {ended}\n")
                wanted.discard(number)


def test_eight_processes_hold_each_of_fifty_claims_one_at_a_time(tmp_path):
    logs = [tmp_path / f"log{i}" for i in range(8)]
    children = [start(_take_all, tmp_path / "claims", 50, log) for log in logs]
    for child in children:
        child.join(240)
        assert child.exitcode == 0
    held = [tuple(map(int, line.split())) for log in logs for line in log.read_text().splitlines()]
    assert len(held) == 8 * 50
    for number in range(50):
        spans = sorted((began, ended) for n, began, ended in held if n == number)
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert visible(tmp_path / "claims") == []


def _grab(path: Path, begin: float, log: Path) -> None:
    time.sleep(max(0.0, begin - time.monotonic()))
    held = claim(path)
    log.write_text("won" if held else "lost")
    time.sleep(900)  # a winner lives on, so that nobody may take over from it


@pytest.mark.slow
def test_of_many_watchers_of_a_dead_claim_exactly_one_takes_over(tmp_path):
    for round_ in range(8):
        folder = tmp_path / str(round_)
        start(leave, folder / "fit.claim").join()
        begin = time.monotonic() + 0.1
        logs = [folder / f"log{i}" for i in range(6)]
        children = [start(_grab, folder / "fit.claim", begin, log) for log in logs]
        until(lambda logs=logs: all(log.exists() and log.read_text() for log in logs))
        assert sorted(log.read_text() for log in logs) == ["lost"] * 5 + ["won"]
        for child in children:
            child.kill()
            child.join()


def test_a_watcher_that_saw_a_dead_claim_does_not_remove_the_living_one_in_its_place(path, monkeypatch):
    """The window between the look and the removal: meanwhile somebody else has taken over."""
    start(leave, path).join()
    looked = claims._is_dead

    def look_and_be_overtaken(at: Path, seen: object) -> bool:
        dead = looked(at, seen)
        monkeypatch.setattr(claims, "_is_dead", looked)
        overtaking = start(hold, path)
        until(path.with_name("held").exists)
        children.append(overtaking)
        return dead

    children: list[multiprocessing.process.BaseProcess] = []
    monkeypatch.setattr(claims, "_is_dead", look_and_be_overtaken)
    assert claim(path) is None
    assert holder(path) == f"process {children[0].pid} on {os.uname().nodename}"
    children[0].kill()


def test_a_watcher_does_not_remove_a_claim_that_was_touched_since_it_looked(path, monkeypatch):
    start(leave, path).join()
    looked = claims._is_dead

    def look_while_the_owner_wakes(at: Path, seen: object) -> bool:
        dead = looked(at, seen)
        os.utime(path)
        return dead

    monkeypatch.setattr(claims, "_is_dead", look_while_the_owner_wakes)
    assert not clear(path)
    assert path.exists()


def test_a_lock_on_a_claim_that_was_replaced_meanwhile_removes_nothing(path, monkeypatch):
    """The window between opening the file and locking it: the name means another file by then."""
    start(leave, path).join()
    lock = claims._lock

    def lock_too_late(file: object) -> None:
        path.rename(path.with_name("removed by another watcher"))
        owned_by(path)
        lock(file)

    monkeypatch.setattr(claims, "_lock", lock_too_late)
    assert not clear(path)
    assert json.loads(path.read_text())["token"] == "other"


def test_only_one_process_removes_a_claim_at_a_time(path):
    start(leave, path).join()
    with path.open("r+b") as another:
        fcntl.flock(another, fcntl.LOCK_EX)
        assert claim(path) is None
    assert claim(path) is not None


def test_a_claim_taken_over_is_neither_touched_nor_released_by_its_former_owner(path):
    former = claim(path)
    path.unlink()
    owned_by(path)
    os.utime(path, (1, 1))
    former.touch()
    former.release()
    assert path.stat().st_mtime == 1
    path.unlink()
    former.touch()
    former.release()


def test_a_forked_child_does_not_release_its_parents_claim(path):
    held = claim(path)
    start(held.release).join()
    assert holder(path) is not None
    with Heartbeat([held]):
        start(sys.exit).join()
        assert holder(path) is not None
    assert holder(path) is None


# owners that die


def test_a_killed_owner_is_replaced_at_once_on_the_same_machine(path):
    owner = start(hold, path)
    until(path.with_name("held").exists)
    assert claim(path) is None
    os.kill(owner.pid, signal.SIGKILL)  # not waited for: a zombie is dead too
    assert until(lambda: claim(path)) < claims.EXPIRES
    owner.join()


def test_the_child_of_a_killed_owner_does_not_keep_its_claim(path):
    code = (
        "import os, pathlib, time; from puoc.store.claims import claim; claim(pathlib.Path({!r})); pid = os.fork(); {}"
    )
    then = "print(pid, flush=True) if pid else None; time.sleep(900)"
    owner = subprocess.Popen([sys.executable, "-c", code.format(str(path), then)], stdout=subprocess.PIPE, text=True)
    child = int(owner.stdout.readline())
    assert claim(path) is None
    owner.kill()
    owner.wait()
    assert claim(path) is not None
    os.kill(child, signal.SIGKILL)
    owner.stdout.close()


def test_a_later_process_with_the_owners_number_does_not_keep_its_claim_alive(path):
    owned_by(path, started=claims.state_of(os.getpid())[1] - 1)
    assert claim(path) is not None


def test_setting_the_clock_kills_no_owner(path, monkeypatch):
    """When a process began is counted from the boot; by the clock it would seem to move with it."""
    owned_by(path)
    monkeypatch.setattr(time, "time", lambda: 1e9)
    assert is_held(path)
    monkeypatch.setattr(time, "time", lambda: 1e10)
    assert is_held(path)


def test_an_owner_of_another_machine_is_not_looked_for_on_this_one(path):
    owned_by(path, machine="another", pid=2**22 + 1)
    assert claim(path) is None
    assert is_held(path)


def test_a_claim_of_another_machine_is_dead_after_a_day(path):
    owned_by(path, machine="another")
    an_old_touch = time.time() - claims.A_DAY - 60
    os.utime(path, (an_old_touch, an_old_touch))
    assert claim(path) is not None


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("skew", [-3600, 3600])
def test_a_claim_of_another_machine_expires_by_the_watchers_clock(path, skew):
    owned_by(path, machine="another")
    os.utime(path, (time.time() + skew, time.time() + skew))
    assert 0.6 <= until(lambda: claim(path)) < 3600  # the clocks differ by an hour


def test_a_claim_that_is_touched_does_not_expire(path, monkeypatch):
    monkeypatch.setattr(claims, "HEARTBEAT", 0.02)
    monkeypatch.setattr(claims, "EXPIRES", 2.0)  # longer than a busy machine keeps the owner from its heartbeat
    owner = start(hold, path)
    until(path.with_name("held").exists)
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        assert claim(path) is None
        time.sleep(0.02)
    owner.kill()
    owner.join()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "\x00" * 50, '{"pid": 1}'], ids=["empty", "cut", "list", "zeros", "part"]
)
@pytest.mark.usefixtures("hasty")
def test_a_damaged_claim_expires_too(path, content):
    path.write_text(content)
    assert claim(path) is None
    assert holder(path) == "an unknown process"
    assert until(lambda: claim(path)) > 0.3


# owners that pause


def _compute(root: Path, device: str) -> None:
    """Claim a fit, and record it when its result is asked for."""
    ledger = Ledger(root)
    held: list[Claim] = []
    until(lambda: held.extend(filter(None, [ledger.claim(FIT.id)])) or held)
    with Heartbeat(held):
        (root / f"{device}.began").touch()
        until((root / f"{device}.asked").exists)
        stands = ledger.put(FitResult(fit=FIT, status="ok", device=device))
    (root / f"{device}.{stands}").touch()


@pytest.mark.usefixtures("hasty")
def test_a_paused_owner_is_replaced_and_when_it_wakes_the_first_record_stands(tmp_path):
    paused = start(_compute, tmp_path, "paused")
    until((tmp_path / "paused.began").exists)
    os.kill(paused.pid, signal.SIGSTOP)
    other = start(_compute, tmp_path, "other")
    assert until((tmp_path / "other.began").exists) >= 0.6
    os.kill(paused.pid, signal.SIGCONT)  # both compute now
    (tmp_path / "paused.asked").touch()
    until((tmp_path / "paused.True").exists)
    assert Ledger(tmp_path).holder(FIT.id) == f"process {other.pid} on {os.uname().nodename}"
    (tmp_path / "other.asked").touch()
    until((tmp_path / "other.False").exists)
    assert Ledger(tmp_path).get(FIT.id).result.device == "paused"
    for child in (paused, other):
        child.join(240)
        assert child.exitcode == 0
    assert Ledger(tmp_path).holder(FIT.id) is None


@pytest.mark.usefixtures("hasty")
def test_a_watcher_that_was_paused_with_the_owner_looks_twice(path):
    """Both were paused for long. The first look after that must not take an owner for dead that wakes just as well."""
    owned_by(path, machine="another")
    assert claim(path) is None
    time.sleep(1.5)
    assert claim(path) is None
    os.utime(path)
    assert claim(path) is None


# storage that fails


def test_a_heartbeat_outlives_a_claim_that_is_gone_and_a_storage_that_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "HEARTBEAT", 0.02)
    gone, broken, held = (claim(tmp_path / f"{name}.claim") for name in ("gone", "broken", "held"))
    with Heartbeat([gone, broken, held]):
        gone.path.unlink()
        broken.path.unlink()
        broken.path.mkdir()  # reading it is an error that no claim expects
        os.utime(held.path, (1, 1))
        until(lambda: held.path.stat().st_mtime > 1)
    assert visible(tmp_path) == ["broken.claim"]


def _claim_without_space(path: Path, answers: multiprocessing.Queue) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))  # writing more than that fails as on a full disk
    try:
        claim(path)
    except OSError as error:
        answers.put(str(error))


def test_a_claim_that_finds_no_space_is_an_error_and_leaves_nothing(path):
    answers = FORK.Queue()
    child = start(_claim_without_space, path, answers)
    assert "File too large" in answers.get(timeout=240)
    child.join()
    assert visible(path.parent) == []


def test_a_file_system_without_hard_links_is_named(path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(OSError, match=r"no hard links.*fit\.claim"):
        claim(path)


def test_a_link_whose_answer_was_lost_is_still_a_claim(path, monkeypatch):
    """As NFS does it: the link is made, the answer is lost, the client asks again and hears that the name is taken."""
    link = os.link

    def made_but_answered_wrongly(source: Path, target: Path) -> None:
        link(source, target)
        raise FileExistsError(errno.EEXIST, "File exists", str(target))

    monkeypatch.setattr(files.os, "link", made_but_answered_wrongly)
    assert claim(path) is not None


def test_a_storage_without_locks_still_lets_dead_claims_be_taken_over(path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    start(leave, path).join()
    held = claim(path)
    held.release()
    assert not path.exists()
