"""Output of ``puoc fit`` about the data: the profile of the columns, and rows that occur on both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from puoc.cli.console import printable, say, shown_console

if TYPE_CHECKING:
    from rich.text import Text

    from puoc.datasets.readers import Column, Pair
    from puoc.datasets.user.leakage import Audit


_MAX_LISTED: Final = 40  # columns of a wide table


def print_profile(pair: Pair) -> None:
    """Print the profile of the columns and the warnings about each file."""
    if pair.profile:
        from rich.table import Table

        table = Table("column", "read as", "missing", "different", "first values", "note", box=None, pad_edge=False)
        listed, summary = _listed(pair.profile)
        for column in listed:
            shown = ", ".join(value if len(value) <= 20 else value[:17] + "..." for value in column.first)
            cells = (column.name, column.read_as, str(column.missing), str(column.distinct), shown, column.note)
            table.add_row(*(_plain(cell) for cell in cells))
        shown_console(stderr=False).print(table)
        if summary:
            say(summary)
        indicators = [column.name for column in pair.preparing.columns if column.indicator]  # type: ignore[union-attr]
        if indicators:
            say(f"missing values of {_some(indicators)}: filled with the median or no category; a column marks them")
    roles = ("labelled positives", "positives withheld", "unlabelled rows", "test rows")
    parts = (pair.positives, pair.held, pair.unlabelled, pair.test)
    for rows, role in zip(parts, roles, strict=True):
        if rows is None:
            continue
        say(f"{rows.where}: {len(rows)} {role}")
        for note in rows.notes:
            say(f"  {note}")
    for note in (*pair.notes, *pair.remarks()):
        say(note)
    say(f"the method gets {pair.preparing.inputs} rows of shape {pair.preparing.shape}")


def _listed(profile: Sequence[Column]) -> tuple[list[Column], str]:
    """Return the columns to list, and a line on the others of a wide table: those with a note are listed first."""
    if len(profile) <= _MAX_LISTED:
        return list(profile), ""
    noted = [place for place, column in enumerate(profile) if column.note][:_MAX_LISTED]
    plain = [place for place, column in enumerate(profile) if not column.note]
    places = sorted({*noted, *plain[: _MAX_LISTED - len(noted)]})
    shown = set(places)
    others = Counter(
        f"{column.read_as}{', with a note' if column.note else ''}{', with missing values' if column.missing else ''}"
        for place, column in enumerate(profile)
        if place not in shown
    )
    kinds = "; ".join(f"{n} read as {kind}" for kind, n in others.items())
    return [profile[place] for place in places], f"{len(profile) - len(places)} further columns: {kinds}"


def _some(names: Sequence[str]) -> str:
    """Return names with commas between them, the first ten of many."""
    return ", ".join(names) if len(names) <= 10 else f"{', '.join(names[:10])} and {len(names) - 10} further columns"


def _plain(cell: str) -> Text:
    from rich.text import Text

    return Text(printable(cell.replace("\t", "\\t").replace("\n", "\\n")))


def check_overlap(pair: Pair, allowed: bool) -> Audit:
    """Find rows that occur on both sides and print them. Raises ValueError for those that are not allowed."""
    from puoc.datasets.user.leakage import audit

    audited = audit(pair)
    for note in (*audited.notes, *audited.repeats):
        say(f"note: {note}")
    if audited.refused and not allowed:
        lines = "; ".join(map(str, audited.leaks))
        raise ValueError(
            f"{lines}: {audited.effect}. A test on training rows overestimates the quality on new rows. Remove the "
            "rows from one file, or pass --allow-overlap, which adds a warning to the AUC and to the model"
        )
    for leak in audited.leaks:
        say(f"{'allowed' if audited.refused else 'note'}: {leak}")
    if audited.leaks:
        say(f"note: {audited.effect}")
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
