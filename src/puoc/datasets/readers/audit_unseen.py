"""What test and incoming rows hold that the training rows do not, counted before anything is fitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from puoc.datasets.audit.row_groups import WORDS, Group
from puoc.datasets.readers.columns import profile_of
from puoc.datasets.readers.doubts import Doubt, DoubtfulColumns
from puoc.datasets.readers.images import RawPictures
from puoc.datasets.readers.options import How
from puoc.datasets.readers.preprocess import fit_table
from puoc.datasets.readers.pu_data import Preparing, counter_of, fit_preparing, prepared
from puoc.datasets.readers.raw_table import AT_ONCE, RawTable
from puoc.datasets.readers.texts import RawTexts
from puoc.datasets.readers.training_files import Raw, TrainingFiles
from puoc.datasets.readers.unseen import Unseen
from puoc.records import Record

TrainedOn = Literal["P and U", "P"]
_OPTIONS = ("category", "missing")  # whose answers keep a column


class UnseenRows(Record):
    """What rows of a group hold that the training rows of a model do not."""

    group: Group
    trained_on: TrainedOn  # P and U, or P alone as of a one-class method, of which the columns with one value are shown
    found: Unseen

    def lines(self, hint: str = "") -> list[str]:
        """Return a sentence on each finding."""
        trained = "" if self.trained_on == "P and U" else ", beside P alone"
        return [f"{WORDS[self.group]}{trained}: {line}" for line in self.found.lines(hint)]


def unseen_in_tables(files: TrainingFiles, how: How, doubts: Sequence[Doubt]) -> tuple[UnseenRows, ...]:
    """Compare the test and the incoming rows of tables with the training rows.

    Columns in doubt are left out, except of the columns with one value in P: to leave out one that only looks like a
    label would blind a one-class method to it.

    Nothing is returned if no column is left, or if a later file lacks one of them.
    """
    P, U = files.P, files.U
    test = None if files.test is None else files.test.table
    others: dict[Group, RawTable | None] = {
        "test": test,
        "incoming": files.incoming if isinstance(files.incoming, RawTable) else None,
    }
    later = {group: table for group, table in others.items() if table is not None}
    if not isinstance(P, RawTable) or not later:
        return ()
    answered = _answered(how, doubts)
    if not isinstance(U, RawTable):
        return tuple(_of_each([P], later, answered, "P"))
    return (*_of_each([P, U], later, answered, "P and U"), *_constant_in(P, {"U": U, **later}, how))


def unseen_in_rows(groups: Mapping[Group, Raw], how: How) -> tuple[UnseenRows, ...]:
    """Compare test and incoming texts or pictures with those of P and U; nothing if they have no common form."""
    training = [groups[group] for group in ("P", "U") if group in groups]
    later = {group: raw for group, raw in groups.items() if group in ("test", "incoming")}
    if not later:
        return ()
    try:
        preparing = fit_preparing(training, how, one_class=len(training) == 1)[0]
        trained: TrainedOn = "P and U" if len(training) == 2 else "P"
        return tuple(_in_blocks(preparing, raw, group, trained) for group, raw in later.items())
    except ValueError:
        return ()


def _answered(how: How, doubts: Sequence[Doubt]) -> How:
    """Return the options with the suggested answers to all doubts."""
    answers = {name: getattr(how, name) for name in ("drop", *_OPTIONS)}
    for doubt in doubts:
        option, value = doubt.answer
        option, value = (option, value) if option in _OPTIONS else ("drop", doubt.column)
        answers[option] = tuple(dict.fromkeys((*answers[option], value)))
    return how.model_copy(update=answers)


def _of_each(
    training: Sequence[RawTable], later: Mapping[Group, RawTable], how: How, trained_on: TrainedOn
) -> list[UnseenRows]:
    try:
        preparing = fit_preparing(training, how, one_class=len(training) == 1)[0]
        return [_in_blocks(preparing, table, group, trained_on) for group, table in later.items()]
    except ValueError:
        return []


def _constant_in(P: RawTable, others: Mapping[Group, RawTable], how: How) -> list[UnseenRows]:
    """Compare other rows with the columns that have one value in P, which a one-class method would not learn from."""
    try:
        fixed = [column for column in profile_of([P], how, one_class=True) if column.read_as == "constant"]
        preparing = fit_table([P], fixed, how)
        found = [_in_blocks(preparing, table, group, "P") for group, table in others.items()] if fixed else []
    except DoubtfulColumns as error:
        left = tuple({doubt.column for doubt in error.doubts} - {*how.drop})
        return _constant_in(P, others, how.model_copy(update={"drop": (*how.drop, *left)})) if left else []
    except ValueError:
        return []
    return [one for one in found if one.found.columns]


def _in_blocks(preparing: Preparing, raw: Raw, group: Group, trained_on: TrainedOn) -> UnseenRows:
    """Count the findings block by block, so that a long table is not prepared as a whole."""
    counter = counter_of(preparing)
    for part in _blocks(raw):
        counter.add(prepared(preparing, part)._replace(notes=()))
    return UnseenRows(group=group, trained_on=trained_on, found=counter.result())


def _blocks(raw: Raw) -> Iterator[Raw]:
    if isinstance(raw, RawTexts | RawPictures):
        yield raw
        return
    numbers = raw.row_numbers()
    for first in range(0, max(len(raw), 1), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        yield replace(raw, cells=raw.cells.slice(first, AT_ONCE), numbers_in_file=numbers[part])
