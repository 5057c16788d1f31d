"""Both AUCs of the same models, by the paper's protocol and ours, for the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from puoc.analysis.paper.protocol import ProtocolRow
from puoc.analysis.tables.summary import SummaryRow


class ProtocolView(NamedTuple):
    """The average of an entry over the cells, and the gain from scoring on the training pool."""

    average: SummaryRow
    protocol: ProtocolRow


def protocol_views(summary: Sequence[SummaryRow], protocol: Sequence[ProtocolRow]) -> list[ProtocolView]:
    """Return both AUCs of the same models, averaged over cells, and their difference; empty without a training pool."""
    averages = [row for row in summary if row.is_average]
    if not any(row.n_train_pool for row in averages):
        return []
    gains = {row.entry: row for row in protocol}
    return [ProtocolView(row, gains[row.entry]) for row in averages]
