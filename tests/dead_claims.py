"""Claims of a process that was killed between the record of a fit and the release of its claim."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable

from puoc.store.ledger import Ledger


def leave(ledger: Ledger, fit_ids: Iterable[str]) -> None:
    """Claim fits in a process that then ends."""
    killed = multiprocessing.get_context("fork").Process(target=lambda: [ledger.claim(fit_id) for fit_id in fit_ids])
    killed.start()
    killed.join()


def left(ledger: Ledger) -> set[str]:
    """Return the ids of the fits with a claim."""
    return {path.stem for path in ledger.root.rglob("*.claim")}
