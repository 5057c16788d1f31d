"""The files below ``work/pending``, which change when a stage of DVC has to compute fits that it lacks."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from puoc.run.stages import Part, names, result_path
from puoc.store.atomic import write_json
from puoc.store.checked_json import read_form
from puoc.store.checked_parquet import read_rows
from puoc.store.ledger import Ledger
from puoc.store.result_rows import OutcomeRow

MISSING = "runs that left trials missing"
_PENDING = TypeAdapter(dict[str, int | str])


def pending(root: Path) -> dict[str, dict[str, int | str]]:
    """Write the failed fits that are due for another attempt, and whether trials of a table are missing.

    DVC stages depend on the file of their table.

    A file contains the number of retries of each fit. It changes when an attempt falls due and not when it is made, so
    the next ``dvc repro`` retries the due fits and the one after that runs nothing. For a fit that has a record and
    could not be scored, attempts are not counted: scoring is due once for each scoring code, and once more for each
    extra attempt that was allowed.

    If trials of a table are missing, because its budget was used up, the number at ``MISSING`` grows by one. So the
    next ``dvc repro`` runs the table again. The number stays when all trials are there.

    Returns
    -------
    The content of each file, by ``tables/TABLE`` or ``tune/ENTRY``.
    """
    ledger = Ledger(root / "ledger")
    pending_by_part: dict[str, dict[str, int | str]] = {}
    parts: tuple[Part, ...] = ("tables", "tune")
    for part in parts:
        for name in names(root, part):
            path = result_path(root, part, name)
            rows = read_rows(path, OutcomeRow) if path.exists() else []
            retried = {r.fit_id for r in rows if r.status == "failed" or r.attempts > 1}
            due: dict[str, int | str] = {fit_id: ledger.retries(fit_id) for fit_id in retried}
            # such a fit may be scored meanwhile, which must not change the file
            before, fit_ids = _pending_before(root, part, name), {r.fit_id for r in rows}
            due |= {fit_id: text for fit_id, text in before.items() if isinstance(text, str) and fit_id in fit_ids}
            for r in rows:
                if r.status == "failed" and ledger.is_final(r.fit_id):
                    due[r.fit_id] = f"scoring {r.scoring_digest}, {1 + ledger.extra_attempts(r.fit_id)}"
            left = any(r.status == "missing" for r in rows)
            n_before = before.get(MISSING)
            due[MISSING] = (n_before if isinstance(n_before, int) else 0) + (left and part == "tables")
            pending_by_part[f"{part}/{name}"] = {fit_id: value for fit_id, value in sorted(due.items()) if value}
    for below, rows_of in _FOLDERS.items():
        note = root / "results" / below / "README"
        note.parent.mkdir(parents=True, exist_ok=True)
        if not note.exists():
            note.write_text(f"Rows of {rows_of}.\n")
    folder = root / "work" / "pending"
    for key, value in pending_by_part.items():
        write_json(folder / f"{key}.json", value)
    for path in folder.rglob("*.json"):
        if str(path.relative_to(folder).with_suffix("")) not in pending_by_part:
            path.unlink()
    return pending_by_part


#: Folders of results on which stages depend, before they have rows. DVC warns of an empty one.
_FOLDERS = {
    "tune/val": "the sweeps that params.yaml plans, without test columns",
    "sweeps": "sweeps that params.yaml does not plan",
}


def _pending_before(root: Path, part: Part, name: str) -> dict[str, int | str]:
    path = root / "work" / "pending" / part / f"{name}.json"
    again = "expected numbers or texts by fit; delete it, and puoc pending writes it again"
    return read_form(path, _PENDING, again) if path.exists() else {}
