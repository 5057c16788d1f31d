"""An audit of a user's files as a static page, or as the head of the page of ``puoc assess``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from puoc.datasets.audit.kin import Copies, Kin
from puoc.datasets.audit.result import Audited, ColumnAudit, Told
from puoc.datasets.audit.row_groups import SHORT, WORDS
from puoc.datasets.readers.audit_unseen import UnseenRows
from puoc.datasets.readers.doubts import Doubt
from puoc.datasets.readers.file_differences import FileDifferences
from puoc.datasets.readers.options import option_words
from puoc.userdata.assess.audit_bars import Bars, bars_of, short
from puoc.userdata.assess.column_effect import Effect, Effects, Outcome
from puoc.userdata.pages import environment

SHOWN: Final = 100  # columns before the button
_LINES: Final = 30  # columns with values that training does not have
_PLACES: Final = 5  # numbers of rows
_UNSEEN: Final[Mapping[str, str]] = {
    "constant": "another value than the only one of training",
    "category": "unknown category",
    "range": "far outside the training range",
    "factor": "another unit?",
    "missing": "missing, as none is in training",
}
_IN_WORDS: Final = {"asked": "asked about", "noted": "noted", "shown": "shown"}


class Commands(NamedTuple):
    """The command whose answer depends on the columns, in words for a shell."""

    base: tuple[str, ...]  # with the files and the options that say how to read them
    answers: tuple[tuple[str, tuple[str, ...]], ...] = ()  # to the doubts: the column, and the option


class Row(NamedTuple):
    """A column in the table."""

    name: str
    read_as: str
    verdict: str
    rank: int  # of the verdict
    bars: Bars | None
    most: Told | None
    column: ColumnAudit
    why: str  # the verdict in words
    no_bars: str  # why there is no histogram
    leave_out: str  # options for a shell
    keep: str  # the same; empty: nothing is asked
    effect: Effect | None  # on the answer, if it was measured


class OutcomeRow(NamedTuple):
    """Answers with some of the columns."""

    columns: str
    outcome: Outcome
    group: int  # of rows that are compared with each other
    matters: bool  # differs from the other one of its group


class CopiesRow(NamedTuple):
    """A comparison of rows in the table of copies."""

    rows: str
    copies: Copies
    examples: str


class UnseenLine(NamedTuple):
    """Values of a column that the training rows do not have."""

    column: str
    what: str
    rows: int
    share: float | None
    training: str
    examples: str  # values
    places: str  # numbers of the first rows
    used: bool


class UnseenSection(NamedTuple):
    """What rows of one group hold that the training rows do not."""

    rows: UnseenRows
    words: str  # of the group
    lines: tuple[UnseenLine, ...]
    further: int  # columns that are not listed
    expected: int  # columns with values that new rows of the same distribution may have


class Section(NamedTuple):
    """What the template shows of an audit."""

    audited: Audited
    rows: tuple[Row, ...]
    doubts: tuple[Doubt, ...]
    counts: Mapping[str, int]  # columns by verdict
    base: str
    answers: Mapping[str, str]  # options by column
    whole: str  # the command with all answers
    copies: tuple[CopiesRow, ...]
    kin: Kin | None
    differences: tuple[FileDifferences, ...]
    effects: Effects | None
    outcomes: tuple[OutcomeRow, ...]
    unseen: tuple[UnseenSection, ...]
    shown: int = SHOWN


def section(
    audited: Audited,
    commands: Commands,
    doubts: Sequence[Doubt] = (),
    differences: Sequence[FileDifferences] = (),
    effects: Effects | None = None,
    unseen: Sequence[UnseenRows] = (),
) -> Section:
    """Return what the page shows.

    Parameters
    ----------
    commands : the command that settles a column when an option is added.
    differences : of files of pictures or texts, in how they were saved.
    effects : of columns on the answer; absent: not measured.
    unseen : what test and incoming rows hold that the training rows do not.
    """
    asked = {doubt.column: doubt for doubt in doubts}
    rows = [
        _row(column, asked.get(column.name), None if effects is None else effects.of(column.name))
        for column in audited.columns
    ]
    compared = {row.name for row in rows}
    rows = [*(_unread(doubt) for doubt in doubts if doubt.column not in compared), *rows]
    rows.sort(key=lambda row: row.rank)
    answers = {column: shlex.join(words) for column, words in commands.answers}
    base = shlex.join(commands.base)
    kin = audited.kin
    return Section(
        audited=audited,
        rows=tuple(rows),
        doubts=tuple(doubts),
        counts={words: sum(row.verdict == words for row in rows) for words in _IN_WORDS.values()},
        base=base,
        answers=answers,
        whole=" ".join([base, *dict.fromkeys(answers.values())]),
        copies=() if kin is None else tuple(_copies(one, kin.what) for one in kin.copies),
        kin=kin,
        differences=tuple(differences),
        effects=effects,
        outcomes=() if effects is None else tuple(_outcomes(effects)),
        unseen=tuple(_unseen(one) for one in unseen),
    )


def page(shown: Section, files: Mapping[str, str | None], notes: Sequence[str] = ()) -> str:
    """Return the text of the page of ``puoc audit``.

    Parameters
    ----------
    files : paths by role.
    notes : findings on the files.
    """
    return environment().get_template("audit.html.j2").render(audit=shown, files=files, notes=notes)


def _row(column: ColumnAudit, doubt: Doubt | None, effect: Effect | None) -> Row:
    most = column.most
    verdict = "asked" if doubt is not None else column.verdict
    return Row(
        name=column.name,
        read_as=column.read_as,
        verdict=_IN_WORDS[verdict],
        rank=list(_IN_WORDS).index(verdict),
        bars=None if column.histogram is None else bars_of(column.histogram),
        most=most,
        column=column,
        why=_sentence("; it ".join(column.reasons), "It "),
        no_bars=_nobars_of(column),
        leave_out=_option("drop", column.name) if doubt is None else _option(*doubt.answer),
        keep=_option(column.read_as, column.name) if verdict == "asked" else "",
        effect=effect,
    )


def _outcomes(effects: Effects) -> Iterator[OutcomeRow]:
    """Yield the answers: with all columns and without those in doubt, then of each column."""
    whole = (
        ("All columns", effects.everything),
        ("Without the columns asked about", effects.without_asked),
        ("Without those asked about or noted", effects.without_noted),
    )
    for words, outcome in whole:
        if outcome is not None:
            yield OutcomeRow(words, outcome, 0, False)
    for group, effect in enumerate(effects.effects, 1):
        yield OutcomeRow(f"With {effect.column}", effect.with_it, group, effect.matters)
        yield OutcomeRow(f"Without {effect.column}", effect.without, group, effect.matters)


def _unseen(one: UnseenRows) -> UnseenSection:
    noted = one.found.noted
    lines = [
        UnseenLine(
            column.column,
            f"{_UNSEEN[column.kind]}, about {column.factor:,g} times" if column.factor else _UNSEEN[column.kind],
            column.rows,
            column.share,
            "no value" if column.training is None else column.training,
            ", ".join(map(short, column.values)),
            ", ".join(map(str, column.first_rows[:_PLACES]))
            + (", ..." if column.rows > _PLACES and column.first_rows else ""),
            column.used,
        )
        for column in noted[:_LINES]
    ]
    lines += [
        UnseenLine(name, "missing, as some are in training", n, n / one.found.rows, "", "", "", True)
        for name, n in list(one.found.missing.items())[:_LINES]
    ]
    lines += [UnseenLine("", words, n, None, "", "", "", True) for words, n in one.found.others.items()]
    further = max(0, len(noted) - _LINES) + max(0, len(one.found.missing) - _LINES)
    return UnseenSection(
        one, WORDS[one.group], tuple(lines), further, sum(not column.noted for column in one.found.columns)
    )


def _unread(doubt: Doubt) -> Row:
    """Return a column that is in doubt and was not compared."""
    column = ColumnAudit(name=doubt.column, read_as="category", missing_p=0.0, missing_u=0.0, told=())
    why = _sentence(doubt.reason, "")
    return Row(doubt.column, "", "asked about", 0, None, None, column, why, "", _option(*doubt.answer), "", None)


def _sentence(text: str, start: str) -> str:
    return f"{start}{text}." if text and not text.endswith(".") else text


def _nobars_of(column: ColumnAudit) -> str:
    """Return why a column has no histogram."""
    empty = [group for group, share in (("P", column.missing_p), ("U", column.missing_u)) if share == 1]
    return f"no value in {' and '.join(empty)}" if empty else "" if column.histogram else "not compared"


def _option(name: str, value: str) -> str:
    return shlex.join(option_words(name, value))


def _copies(one: Copies, what: str) -> CopiesRow:
    copied = "repeat another one" if one.second is None else f"are in {SHORT[one.second]} too"
    sign = "=" if one.equal else "\N{ALMOST EQUAL TO}"
    pairs = "; ".join(f"row {a} {sign} row {b}" for a, b in one.examples)
    return CopiesRow(f"{what.capitalize()} of {SHORT[one.first]} that {copied}", one, pairs)
