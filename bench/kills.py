"""Kill a sweep again and again at random moments, and compare what it comes to with an undisturbed one.

    PUOC_MIRROR=... python bench/kills.py --moments 200 --seed 1

The sweep, its project and the killing are those of tests/faults. A driver or a worker that computes is killed by signal
9; each sweep goes on from the ledger of the one before, and a new one begins when all sixty fits are there.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "tests" / "faults")]

from project import clone, fresh  # noqa: E402
from sweeping import answers, asks_sixty_fits, call, kill_at_random  # noqa: E402


def main() -> None:
    """Kill as often as asked; ends with 1 where an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    started, drivers, workers, rounds = time.monotonic(), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        asking = asks_sixty_fits(fresh(Path(folder) / "asking"))
        reference = clone(asking, Path(folder) / "undisturbed")
        done = call(reference, "puoc", "tune", "nnpu")
        undisturbed = answers(reference)
        if done.code:
            raise SystemExit(done.output)
        while drivers + workers < given.moments:
            rounds += 1
            project = clone(asking, Path(folder) / f"disturbed{rounds}")
            left = given.moments - drivers - workers
            killed, output = kill_at_random(
                project, left, given.seed + rounds, "--method", "nnpu", tell=sys.stderr.write
            )
            drivers, workers = drivers + killed.drivers, workers + killed.workers
            if answers(project) != undisturbed:
                raise SystemExit(f"round {rounds}: other answers than undisturbed\n{output}")
            project.end_all()
            shutil.rmtree(project.root)
            minutes = (time.monotonic() - started) / 60
            sys.stdout.write(f"{drivers} drivers and {workers} workers killed, {rounds} sweeps, {minutes:.0f} min\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
