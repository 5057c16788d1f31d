"""The digests of all learners are those of digests.csv, so a change of code that renames fits is seen in review.

After a change of learning code, ``python tests/repository/test_digest_table.py`` writes the table anew. If the change
alters no number, ``puoc ledger adopt`` keeps the old records for the new digests.
"""

from __future__ import annotations

import csv
from pathlib import Path

from puoc.digests import code_digest
from puoc.registry import ENCODERS, METHODS, PRIORS

TABLE = Path(__file__).with_name("digests.csv")


def digests() -> dict[str, str]:
    """Digest of each learner of puoc by its name."""
    learners = [pair for table in (METHODS, ENCODERS, PRIORS) for pair in sorted(table.items())]
    ours = {name: cls for name, cls in learners if cls.__module__.startswith("puoc.")}
    return {name: code_digest(cls) for name, cls in ours.items()}


def test_no_learner_changes_unseen() -> None:
    with TABLE.open(newline="") as file:
        committed = {row["learner"]: row["code_digest"] for row in csv.DictReader(file)}
    present = digests()
    changed = sorted(name for name in present.keys() | committed.keys() if present.get(name) != committed.get(name))
    assert not changed, (
        f"the code of {', '.join(changed)} differs from tests/repository/{TABLE.name}: if that is meant, run "
        f"python tests/repository/{Path(__file__).name}, which writes the table anew"
    )


if __name__ == "__main__":
    lines = [f"{name},{digest}\n" for name, digest in digests().items()]
    TABLE.write_text("".join(["learner,code_digest\n", *lines]))
