"""Notes on rows of other code, of an earlier plan and of published results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd

from puoc.analysis.tables.results import earlier_words
from puoc.store.atomic import read_json
from puoc.store.counting import counted


def stale_notes(root: Path, table: str, rows: pd.DataFrame | None) -> list[tuple[str, str]]:
    """Return a note on rows that were scored before the scoring code changed; empty if there are none."""
    planned_digest = read_json(root / "work" / "plan" / "tables" / f"{table}.json").get("scoring_digest")
    if rows is None or planned_digest is None or "scoring_digest" not in rows:
        return []
    stale = int(((rows["status"] == "ok") & (rows["scoring_digest"] != planned_digest)).sum())
    if not stale:
        return []
    return [("scoring", f"{stale} trials were scored by other code than the current; dvc repro scores them again")]


def adopted_notes(rows: pd.DataFrame | None) -> list[tuple[str, str]]:
    """Return a note on rows whose records were adopted from earlier code; none for others."""
    if rows is None or "adopted_from" not in rows:
        return []
    adopted = int(rows["adopted_from"].notna().sum())
    if not adopted:
        return []
    trials = counted(adopted, "trial was", "trials were")
    text = f"{trials} computed by earlier code; a sample computed by the current code was equal to the last bit"
    return [("adopted", f"{text} (puoc ledger adopt; ledger/adopted has the comparison)")]


def published_notes(rows: pd.DataFrame | None) -> list[tuple[str, str]]:
    """Return a note for each published result and each version that rows come from; none for rows of the project."""
    if rows is None:
        return []
    origins = rows.reindex(columns=["imported_from", "computed_by"]).astype(object).fillna("")
    counts = Counter((str(imported), str(computed)) for imported, computed in origins.itertuples(index=False))
    notes = []
    for (imported, computed), n in sorted(counts.items()):
        verb = "come" if n > 1 else "comes"
        parts = [f"{verb} from the published results {imported}"] if imported else []
        parts += [f"{'were' if n > 1 else 'was'} computed by {computed}"] if computed else []
        if parts:
            notes.append(("published", f"{counted(n, 'trial')} {' and '.join(parts)}"))
    return notes


def earlier_note(recorded: pd.DataFrame | None, present: pd.DataFrame | None) -> str:
    """Return a note on rows that the plan no longer contains; empty if there are none."""
    earlier = sum(len(rows) * sign for rows, sign in ((recorded, 1), (present, -1)) if rows is not None)
    return earlier_words(earlier)
