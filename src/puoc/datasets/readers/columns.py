"""Types of a table's columns, found from the training rows. A doubtful column raises an error with the options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from puoc.datasets.audit.result import Audited
from puoc.datasets.readers.cells import Cells
from puoc.datasets.readers.column_kinds import kind_of
from puoc.datasets.readers.column_origin import check_origin, remark_on
from puoc.datasets.readers.doubts import NEW_ROWS, Doubt, DoubtfulColumn, DoubtfulColumns, doubt, settled
from puoc.datasets.readers.no_measurements import of_numbers, of_texts
from puoc.datasets.readers.options import MISSING, How
from puoc.datasets.readers.raw_table import RawTable
from puoc.datasets.readers.side_audit import SideAudit, doubts_of
from puoc.datasets.readers.values import texts_of
from puoc.records import Record
from puoc.store.counting import cut, noun


class Column(Record):
    """One column in the profile of a table."""

    name: str
    read_as: Literal["number", "category", "constant", "left out"]
    missing: int
    distinct: int  # values, missing ones not counted
    first: tuple[str, ...]  # different values, in the order of the file
    note: str = ""

    @property
    def is_fixed(self) -> bool:
        """Return True if all rows are alike: they have the same value, or all of them have none."""
        return self.distinct + (self.missing > 0) <= 1


def check_columns(files: Sequence[RawTable], how: How, audit: SideAudit) -> Audited:
    """Check the columns of whole files, before their rows are split or withheld.

    Raises
    ------
    DoubtfulColumns : as ``profile_of``; or a column seems to identify or date the rows (see ``no_measurements``), or
        to say from which file a row is (see ``puoc.datasets.audit.signs``).
    ValueError : as ``profile_of``, except that no column is left.
    """
    profile, doubts, audited = looked_at(files, how, audit)
    _raise(files, doubts, profile)
    return audited


def looked_at(files: Sequence[RawTable], how: How, audit: SideAudit) -> tuple[list[Column], list[Doubt], Audited]:
    """Return the columns of whole files, the doubts about them and their audit.

    Raises
    ------
    ValueError : as ``check_columns``, except for doubtful columns.
    """
    profile, doubts = _profile(files, how, audit)
    audited = audit.done(how)
    places = {name: place for place, name in enumerate((*files[0].columns, *files[0].unread))}
    found = [*doubts, *doubts_of(audited, files[0].where, {doubt.column for doubt in doubts})]
    found = _settled(sorted(found, key=lambda doubt: places.get(doubt.column, len(places))), profile)
    return profile, found, audited


def profile_of(tables: Sequence[RawTable], how: How, *, one_class: bool = False) -> list[Column]:
    """Return the profile of every column of tables with the same columns.

    Parameters
    ----------
    one_class : the rows are labelled positives alone. Columns with one value are then used, since other rows may have
        another one; they are left out unless some column varies.

    Raises
    ------
    DoubtfulColumns : columns hold infinite values, both numbers and texts, or too many different texts.
    ValueError : the columns differ between the tables; a column named by an option is missing; or no column is left.
    """
    profile, doubts = _profile(tables, how, None, one_class)
    _raise(tables, doubts, profile)
    if all(column.read_as == "left out" or column.is_fixed for column in profile):
        reasons = "; ".join(f"{column.name!r} {column.note}" for column in profile)
        n = sum(map(len, tables))
        raise ValueError(
            f"{tables[0].where}: no column is left to learn from {n} {noun(n, 'row')}: {reasons}.{tables[0].hint}"
        )
    return profile


def _raise(tables: Sequence[RawTable], doubts: Sequence[Doubt], profile: Sequence[Column]) -> None:
    """Raise DoubtfulColumns if there are doubts; ``profile`` holds the columns that could be read."""
    if not doubts:
        return
    doubts, asked = _settled(doubts, profile), {doubt.column for doubt in doubts}
    with_hint = [table for table in tables if table.hint and asked & {*table.columns, *table.unread}]
    raise DoubtfulColumns(tables[0].where, doubts, with_hint[0].hint if with_hint else "")


def _settled(doubts: Sequence[Doubt], profile: Sequence[Column]) -> list[Doubt]:
    """Return the doubts with answers that go together and with the columns that could be read."""
    asked = {doubt.column for doubt in doubts}
    return settled(doubts, others=any(c.read_as != "left out" and c.name not in asked for c in profile))


def _profile(
    tables: Sequence[RawTable], how: How, audit: SideAudit | None, one_class: bool = False
) -> tuple[list[Column], list[Doubt]]:
    """Return the columns and the doubts about others; with an audit, of whole files."""
    names = _same_columns(tables, how)
    there = {name for table in tables for name in (*table.columns, *table.unread)}
    for option, given in (("drop", how.drop), ("category", how.category), ("number", how.number)):
        for name in given:
            if name not in there:
                has = ", ".join(map(repr, names))
                raise ValueError(f"--{option}: {tables[0].where}: no column {name!r}; it has {has}")
    for name in how.number:
        if name in how.category:
            raise ValueError(f"--number: got {name!r}, which --category names too; expected one of them")
    profile: list[Column] = []
    doubts: list[Doubt] = []
    for name in names:
        try:
            profile.append(_column(tables, name, how, audit, one_class))
        except DoubtfulColumn as error:
            doubts.append(error.doubt)
    return profile, doubts


def unmet(tables: Sequence[RawTable], how: How) -> list[str]:
    """Return a warning for every text of ``how.missing`` that equals no cell of the columns in use."""
    waiting = [text for text in how.missing if text.strip().lower() not in MISSING]  # those are always missing values
    for table in tables:
        for name in table.columns:
            if not waiting:
                return []
            if name not in how.drop:
                cells = pc.unique(table.texts(name))
                present = len(cells) - cells.null_count
                waiting = [text for text in waiting if pc.count(texts_of(cells, [text])).as_py() == present]
    return [
        f"{text!r} was said to mean a missing value, and no cell of the training rows equals it" for text in waiting
    ]


def _same_columns(tables: Sequence[RawTable], how: How) -> list[str]:
    """Return all columns, those to drop last. Raises ValueError if another column is not in all tables."""
    drop = set(how.drop)
    beside = {name: None for table in tables for name in table.unread if name not in drop}
    first = [name for name in tables[0].columns if name not in drop and name not in beside]
    for other in tables[1:]:
        names = [name for name in other.columns if name not in drop and name not in beside]
        lacking = [
            f"{lacks.where}: no column {', '.join(map(repr, beyond))}, which {has.where} has"
            for one, has, lacks in ((first, tables[0], other), (names, other, tables[0]))
            if (beyond := [name for name in one if name not in lacks.places])
        ]
        if lacking:
            hints = f"{tables[0].hint}{other.hint}"
            raise ValueError(f"{'; '.join(lacking)}; expected the same columns in both, or --drop.{hints}")
    there = {name for table in tables for name in (*table.columns, *table.unread)}
    return [*first, *beside, *(name for name in dict.fromkeys(how.drop) if name in there)]


def _column(tables: Sequence[RawTable], name: str, how: How, audit: SideAudit | None, one_class: bool) -> Column:
    for table in tables:
        if name in table.unread:
            why = table.unread[name]
            if name in how.drop:
                return Column(
                    name=name, read_as="left out", missing=0, distinct=0, first=(), note=f"as asked; it {why}"
                )
            doubt(name, f"{table.where}: the column {name!r} {why}. Mend the file, or use --drop {name!r}")
    with_it = [table for table in tables if name in table.places]
    cells = Cells(with_it, name, how)
    plain = cells.measured() if audit is not None and name and name not in how.drop else None
    if audit is not None and plain is not None and not of_numbers(name, plain):  # as most columns are
        check_origin(cells)
        audit.look(cells, "number")
        return Column(name=name, read_as="number", missing=0, distinct=0, first=())
    try:
        facts = cells.facts()
    except ValueError as error:
        if name not in how.drop:
            doubt(name, f"{error}, by --drop {name!r}")
        return Column(name=name, read_as="left out", missing=0, distinct=0, first=(), note="as asked; cannot be read")
    if name in how.drop:
        if audit is not None and facts["distinct"] > 1:
            audit.look_at_dropped(cells, _names_rows(cells))
        return Column(read_as="left out", note="as asked", **facts)
    if facts["distinct"] == 0 or (facts["distinct"] == 1 and not facts["missing"]):
        why = "the same value in all rows" if facts["distinct"] else "all values are missing"
        if not one_class or _names_rows(cells):
            return Column(read_as="left out", note=why, **facts)
        return Column(read_as="constant", note=f"{why}: another value counts as unlike them", **facts)
    check_origin(cells)
    asked = name in how.category
    if audit is not None and not asked and name not in how.number:
        try:
            _check_measures(cells)
        except DoubtfulColumn:
            audit.look_at_id(cells)
            raise
    kind = "category" if asked else kind_of(cells, facts["distinct"])
    if audit is not None:
        audit.look(cells, kind)
    note = remark_on(cells, kind)
    # one number gives no scale for others
    return Column(read_as="constant" if kind == "number" and facts["distinct"] == 1 else kind, note=note, **facts)


def _names_rows(cells: Cells) -> bool:
    """Return True for a column that is an id or a date, which new rows have others of, and that no option keeps."""
    if not cells.name or pa.types.is_temporal(cells.tables[0].type_of(cells.name)):
        return True
    if cells.name in (*cells.how.category, *cells.how.number):
        return False
    numbers = cells.numbers()
    return bool(of_texts(cells.name, cells.texts) if numbers is None else of_numbers(cells.name, numbers))


def _check_measures(cells: Cells) -> None:
    """Raise DoubtfulColumn for a column that seems to identify or date the rows."""
    name, where = cells.name, cells.tables[0].where
    if not name:
        doubt(
            name,
            f"{where}: column {cells.tables[0].places[name] + 1} has no name, as an index that a program has written. "
            "If it counts the rows, use --drop ''; else give it a name in the file",
        )
    kind = cells.tables[0].type_of(name)
    numbers = cells.numbers()
    if pa.types.is_temporal(kind):
        why, keep = f"holds dates or times ({kind})", "category"
    elif numbers is not None:
        why, keep = of_numbers(name, numbers), "number"
    else:
        why, keep = of_texts(name, cells.texts), "category"
    dated = "; to learn from a date, write what it measures as a number, such as an age in days"
    if why:
        doubt(
            name,
            f"{where}: column {name!r} {why}, such as {', '.join(map(cut, cells.facts()['first']))}. {NEW_ROWS}"
            f"Use --drop {name!r}, or --{keep} {name!r} if it measures something"
            f"{dated if 'dates or times' in why else ''}",
        )
