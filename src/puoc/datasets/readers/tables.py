"""Tables of CSV, TSV or Parquet files, read whole or in blocks of rows, with cells as they are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from puoc.datasets.readers.csv_dialect import Layout, doubled, layout_of, shown
from puoc.datasets.readers.csv_lines import Lines
from puoc.datasets.readers.options import How
from puoc.datasets.readers.parquet import parquet_blocks
from puoc.datasets.readers.raw_table import AT_ONCE, RawTable, check_there
from puoc.store.regular_file import check_regular

_MAX_SEARCHED = 1 << 28  # bytes that are searched for an unclosed quotation mark after the parser has failed
_BYTES = 1 << 23  # of delimited text parsed at once


def read_table(path: Path, how: How | None = None) -> RawTable:
    """Read a whole file.

    Raises
    ------
    ValueError : the file is missing, no table, has no rows, or can be read in two ways; the message names the options.
    """
    parts = list(stream_table(path, how))
    notes = tuple(note for part in parts for note in part.notes)
    whole = replace(parts[0], cells=pa.concat_tables([part.cells for part in parts]), notes=notes)
    if not len(whole):
        raise ValueError(f"{path}: no row below the names of the columns; expected at least 1.{whole.hint}")
    return whole


def stream_table(
    path: Path,
    how: How | None = None,
    columns: Sequence[str] | None = None,
    at_once: int = AT_ONCE,
    *,
    if_there: Sequence[str] = (),
) -> Iterator[RawTable]:
    """Read a file in blocks, so that it may be larger than the memory. There is at least one block, maybe empty.

    Parameters
    ----------
    columns : the columns to read, in this order; absent: all.
    at_once : maximum number of rows of a block.
    if_there : further columns, read if the file has them once.

    Raises
    ------
    ValueError : as ``read_table``, or a column is missing.
    """
    path, how = Path(path), how or How()
    if path.is_dir():
        advice = "folders are for pictures (of the kind images)"
        raise ValueError(f"{path}: a folder; expected a file (CSV, TSV or Parquet); {advice}")
    check_regular(path, "a file with these rows")
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); expected CSV, TSV or Parquet") from error
    parts = parquet_blocks(path, columns, if_there) if start == b"PAR1" else _delimited(path, how, columns, if_there)
    for part in parts:
        for first in range(0, max(len(part), 1), at_once):
            notes = () if first else part.notes
            yield replace(part, cells=part.cells.slice(first, at_once), start=part.start + first, notes=notes)


def _delimited(path: Path, how: How, columns: Sequence[str] | None, if_there: Sequence[str]) -> Iterator[RawTable]:
    from pyarrow import csv

    layout = layout_of(path, how, columns)
    check_there(path, layout.columns, columns)
    unread = {} if columns else doubled(layout.columns)
    counts = Counter(layout.columns)
    further = [name for name in if_there if counts[name] == 1 and name not in (columns or ())]
    lines = Lines(path, layout.encoding, layout.separator)
    try:
        reader = csv.open_csv(
            lines,
            csv.ReadOptions(
                use_threads=False,  # so that an error has the number of its row
                block_size=_BYTES,
                column_names=list(layout.columns),
                skip_rows_after_names=layout.before,
            ),
            csv.ParseOptions(
                delimiter=layout.separator,
                newlines_in_values=True,
                ignore_empty_lines=len(layout.columns) > 1,  # in a single column they are missing values
            ),
            csv.ConvertOptions(
                column_types={name: pa.string() for name in layout.columns},
                include_columns=[*columns, *further] if columns else [n for n in layout.columns if n not in unread],
            ),
        )
        part = RawTable(str(path), reader.schema.empty_table(), layout.decimal, layout.first_line, unread=unread)
        for batch in reader:
            if len(part):
                yield part
            start = part.start + len(part)
            part = replace(part, cells=pa.Table.from_batches([batch]), start=start)
        lines.check_closed()
        yield replace(part, notes=lines.warnings(part.start + len(part), layout.before))
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise _not_parsed(path, layout, lines, error) from error
    finally:
        lines.close()


def _not_parsed(path: Path, layout: Layout, lines: Lines, error: Exception) -> ValueError:
    """Return the error of a file that cannot be parsed: an unclosed quotation mark, or the parser's own message."""
    try:
        lines.check_closed(_MAX_SEARCHED)
    except UnicodeDecodeError:
        pass
    except ValueError as unclosed:
        return unclosed
    reason = " ".join(str(error).replace("CSV parse error: ", "").split())
    reason = reason if len(reason) <= 200 else reason[:197] + "..."  # it ends with the text of the row
    if reason.startswith("Empty CSV") or "Expected or fewer" in reason:
        return ValueError(f"{path}: no row below the names of the columns; expected at least 1")
    return ValueError(
        f"{path}: cannot be parsed as columns separated by {layout.separator!r} ({reason}); the first line is "
        f"{shown(layout.first_line)}. Mend the row, or use another --separator or --encoding"
    )
