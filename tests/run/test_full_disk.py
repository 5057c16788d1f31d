"""A disk that takes no more ends the run at once: it is no failure of fits, whose attempts it would use up."""

from __future__ import annotations

import re
import resource
import signal
from pathlib import Path

import pytest
from forked import forked
from planned import Data, Planned
from shift_project import PARAMS

from puoc.run.stages import run_part
from puoc.store.checked_parquet import read_rows
from puoc.store.ledger import Ledger
from puoc.store.result_rows import ResultRow

ASKED = PARAMS.replace("seeds: 2", "seeds: 4").replace("[oc_svm, nnpu]", "[nnpu]").replace("epochs: 1", "epochs: 2")
LIMIT = 50_000  # bytes that a file may have: a record does, a network's model does not


def limited() -> None:
    """Let no large file be written. The signal would end the process; without it a write fails as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))


@pytest.mark.parametrize("how", ["max_lanes: 1", "max_lanes: 2"])
def test_a_full_disk_uses_up_no_attempt_and_the_next_run_goes_on(how: str, tmp_path: Path, prepared_data: Data) -> None:
    root = Planned(ASKED.replace("lane_map: loop", f"lane_map: vmap, {how}"), "digits").at(tmp_path, prepared_data)
    told = [forked(root, "run", "shift", before=limited, DVC_STAGE="run@shift", COLUMNS="500") for _ in range(2)]
    ledger = Ledger(root / "ledger")
    assert [run.code for run in told] == [1] * 2, told
    assert all("File too large" in run.output and "finished results are kept" in run.output for run in told), told
    assert not list(ledger.ids())
    # Scores that no record names, claims, and drafts of workers that were ended in a write, as a kill leaves them.
    suffixes = {path.suffix for path in (root / "ledger").rglob("*") if path.is_file()}
    assert [suffix for suffix in suffixes if not re.fullmatch(r"\.(npy|claim|[0-9a-f]{8})", suffix)] == []
    assert run_part(root, "tables", "shift")["ok"] == 4
    rows = read_rows(root / "results" / "tables" / "shift.parquet", ResultRow)
    assert [(row.status, row.attempts) for row in rows] == [("ok", 1)] * 4
    assert all(ledger.model_path(entry.result).stat().st_size > LIMIT for entry in map(ledger.get, ledger.ids()))
