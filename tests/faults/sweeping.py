"""A project whose sweep has sixty small fits, its undisturbed answers, and what a disturbed one must come to."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from project import File, Project, Repro

from puoc.store.ledger import Ledger

HERE = Path(__file__).parent
CONFIGURATIONS = 30  # the published one among them; two seeds each
SWEEP = """
tune:
  nnpu:
    scenario: one_vs_all
    dataset: digits
    pos: [2]
    n_pos_lab: 40
    n_pos_unl: 30
    n_neg_unl: 30
    seeds: 2
    holdout: 0.2
    space: thirty
    search: grid
"""
SPACE = "\nthirty:\n  lr: {low: 1.0e-3, high: 3.0e-2, step: 1.0e-3}\n"
EPOCHS = 10

Answers = dict[str, tuple[str, float | None]]


def asks_sixty_fits(project: Project) -> Project:
    """Make the project ask the sweep, with its data prepared."""
    text = (project.root / "params.yaml").read_text()
    text = re.sub(r"\ntune:\n.*?\nmethods:", f"{SWEEP}\nmethods:", text, flags=re.DOTALL)
    text = text.replace("epochs: 3,", f"epochs: {EPOCHS},").replace("configs: selected", "configs: published")
    (project.root / "params.yaml").write_text(text)
    spaces = project.root / "tuning" / "spaces" / "nnpu.yaml"
    spaces.write_text(spaces.read_text() + SPACE)
    project.each("plan", "fetch", "prepare")
    return project


def call(project: Project, *words: str) -> Repro:
    """Run a command of .venv to its end, which on a busy machine is minutes away."""
    started = time.monotonic()
    process = project.start(*words)
    output, _ = process.communicate(timeout=1200)
    return Repro(process.returncode, output, time.monotonic() - started)


def answers(project: Project) -> Answers:
    """Status and validation value of every fit in the ledger."""
    ledger = Ledger(project.root / "ledger")
    found = {fit_id: ledger.get(fit_id) for fit_id in ledger.ids()}
    return {key: (entry.result.status, entry.result.auc_val_pu) for key, entry in found.items() if entry is not None}


def records(project: Project) -> dict[str, File]:
    """Final records by name; a file that was written twice would differ."""
    return {name: file for name, file in project.records().items() if ".failed-" not in name}


def wait_for(condition: Callable[[], Any], process: subprocess.Popen[str], seconds: float = 1200) -> Any:
    """Wait until a condition holds, or the process has ended, whichever comes first."""
    until = time.monotonic() + seconds
    while not (found := condition()) and process.poll() is None:
        assert time.monotonic() < until, "nothing happened for minutes"
        time.sleep(0.02)
    return found


def claimants(project: Project) -> list[int]:
    """Processes that compute a fit just now. A claim outlives its owner; that of a dead one is not meant."""
    found = []
    for path in (project.root / "ledger").rglob("*.claim"):
        with suppress(OSError, ValueError, KeyError):
            found.append(int(json.loads(path.read_bytes())["pid"]))
    return sorted(set(found) & {process.pid for process in project.processes()})


class Kills(NamedTuple):
    """What was killed."""

    drivers: int
    workers: int


def kill_at_random(
    project: Project, moments: int, seed: int, *words: str, tell: Callable[[str], object] = lambda _: None
) -> tuple[Kills, str]:
    """Sweep again and again, killing the driver or a worker that computes at random moments; output of the last.

    Every record that stands when something is killed must stand unchanged when the next thing is.
    """
    rng, killed, known = random.Random(seed), [0, 0], dict[str, File]()
    while True:
        process = project.start("puoc", "sweep", *words)
        while sum(killed) < moments:
            pids = wait_for(lambda: claimants(project), process)
            if not pids or process.poll() is not None:
                break
            time.sleep(rng.random() / 2)
            now = records(project)
            assert {name: now.get(name) for name in known} == known
            known = now
            is_driver = rng.random() < 0.3
            with suppress(ProcessLookupError):
                os.kill(process.pid if is_driver else rng.choice(pids), signal.SIGKILL)
                killed[not is_driver] += 1
            if is_driver:
                break
        output = process.communicate()[0]
        tell(f"{killed[0]} drivers and {killed[1]} workers killed, {len(records(project))} fits recorded\n")
        if process.returncode == 0:
            return Kills(*killed), output
        if process.returncode == 3:  # a fit that was killed twice is left alone until somebody allows it
            assert call(project, "puoc", "retry", "all").code == 0
        # on a machine that is too busy for Ray's patience it does not start, and is started again
        assert process.returncode in (-signal.SIGKILL, 3) or "Ray does not start" in output, output


@contextmanager
def two_nodes(project: Project) -> Iterator[tuple[str, dict[str, str], Callable[[str], None]]]:
    """Two Ray nodes: their address, the environment of who uses them, and what says ``kill`` or ``add`` to them."""
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid.uuid4().hex * 2, "RAY_USAGE_STATS_ENABLED": "0"}
    token["RAY_prestart_worker_first_driver"] = "0"  # processes that no trial takes
    process = subprocess.Popen(
        [project.root / ".venv" / "bin" / "python", HERE / "ray_nodes.py"],
        cwd=project.root,
        env=project.env | token,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def heard(start: str) -> str:
        for line in stdout:
            if line.startswith(start):
                return line.strip().removeprefix(start).strip()
        raise AssertionError("the nodes are gone")

    def tell(word: str) -> None:
        stdin.write(f"{word}\n")
        stdin.flush()
        heard("done")

    try:
        yield heard("address"), token, tell
    finally:
        process.kill()
        process.wait()
