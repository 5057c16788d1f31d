"""Output of ``puoc fit`` about the data: the profile of the columns, and rows that occur on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from puoc.cli.console import console, say

if TYPE_CHECKING:
    from rich.text import Text

    from puoc.datasets.readers import Pair
    from puoc.datasets.user.leakage import Audit


def print_profile(pair: Pair) -> None:
    """Print the profile of the columns and the warnings about each file."""
    if pair.profile:
        from rich.table import Table

        table = Table("column", "read as", "missing", "different", "first values", "note", box=None, pad_edge=False)
        for column in pair.profile:
            shown = ", ".join(value if len(value) <= 20 else value[:17] + "..." for value in column.first)
            cells = (column.name, column.read_as, str(column.missing), str(column.distinct), shown, column.note)
            table.add_row(*(_plain(cell) for cell in cells))
        console().print(table)
        indicators = [column.name for column in pair.preparing.columns if column.indicator]  # type: ignore[union-attr]
        if indicators:
            say(
                f"missing values of {', '.join(indicators)}: filled with the median or no category; a column marks them"
            )
    roles = ("labelled positives", "positives withheld", "unlabelled rows", "test rows")
    parts = (pair.positives, pair.held, pair.unlabelled, pair.test)
    for rows, role in zip(parts, roles, strict=True):
        if rows is None:
            continue
        say(f"{rows.where}: {len(rows)} {role}")
        for note in rows.notes:
            say(f"  {note}")
    for note in pair.notes:
        say(note)
    say(f"the method gets {pair.preparing.inputs} rows of shape {pair.preparing.shape}")


def _plain(cell: str) -> Text:
    from rich.text import Text

    return Text(cell)


def audit_rows(pair: Pair, allowed: bool) -> Audit:
    """Find rows that occur on both sides and print them. Raises ValueError for those that are not allowed."""
    from puoc.datasets.user.leakage import audit

    audited = audit(pair)
    for note in (*audited.notes, *audited.repeats):
        say(f"note: {note}")
    if audited.leaks and not allowed:
        lines = "; ".join(map(str, audited.leaks))
        raise ValueError(
            f"{lines}. A test on training rows overestimates the quality on new rows. Remove the rows from one file, "
            "or pass --allow-overlap, which adds a warning to the model and its scores"
        )
    for leak in audited.leaks:
        say(f"allowed: {leak}")
    return audited


def warn_of_biased_threshold(audited: Audit, from_positives: bool) -> None:
    """Print why withheld positives may get other scores than new positives."""
    for overlap in audited.withheld_in_p:
        say(
            f"note: {overlap}; they may get higher scores than new positives, which then miss the threshold more "
            "often than requested"
        )
    for overlap in () if from_positives else audited.withheld_in_u:
        say(
            f"note: {overlap}, from which the method learns; they may get lower scores than new positives. The "
            "threshold is then too low: fewer positives than requested miss it, and more negatives reach it"
        )
