"""A disk that takes no more ends the run at once: it is no failure of fits, whose attempts it would use up."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from planned import Data, Planned
from test_runner import PARAMS

from puoc.run.stages import run_part
from puoc.store.checked_parquet import read_rows
from puoc.store.ledger import Ledger
from puoc.store.result_rows import ResultRow

ASKED = PARAMS.replace("seeds: 2", "seeds: 4").replace("[oc_svm, nnpu]", "[nnpu]").replace("epochs: 1", "epochs: 2")
LIMIT = 50_000  # bytes that a file may have: a record does, a network's model does not

#: The signal would end the process; without it a write fails with an errno, as on a full disk.
LIMITED = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, resource.RLIM_INFINITY))
from puoc.__main__ import main_and_leave
main_and_leave()
"""


@pytest.mark.parametrize("how", ["max_lanes: 1", "max_lanes: 2"])
def test_a_full_disk_uses_up_no_attempt_and_the_next_run_goes_on(how: str, tmp_path: Path, prepared_data: Data) -> None:
    root = Planned(ASKED.replace("lane_map: loop", f"lane_map: vmap, {how}"), "digits").at(tmp_path, prepared_data)
    told = [run(root) for _ in range(3)]
    ledger = Ledger(root / "ledger")
    assert [code for code, _ in told] == [1] * 3
    assert all("File too large" in said and "finished results are kept" in said for _, said in told), told
    assert not list(ledger.ids())
    # Scores that no record names, claims, and drafts of workers that were ended in a write, as a kill leaves them.
    suffixes = {path.suffix for path in (root / "ledger").rglob("*") if path.is_file()}
    assert [suffix for suffix in suffixes if not re.fullmatch(r"\.(npy|claim|[0-9a-f]{8})", suffix)] == []
    assert run_part(root, "tables", "shift")["ok"] == 4
    rows = read_rows(root / "results" / "tables" / "shift.parquet", ResultRow)
    assert [(row.status, row.attempts) for row in rows] == [("ok", 1)] * 4
    assert all(ledger.model_path(entry.result).stat().st_size > LIMIT for entry in map(ledger.get, ledger.ids()))


def run(root: Path) -> tuple[int, str]:
    """Exit code and words of ``puoc run shift`` where no large file can be written."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "run", "shift"],
        cwd=root,
        env=os.environ | {"DVC_STAGE": "run@shift", "COLUMNS": "500"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr
