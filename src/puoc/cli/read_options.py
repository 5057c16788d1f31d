"""Options that ``puoc audit``, ``puoc assess``, ``puoc fit`` and ``puoc score`` share: which files to read, and how."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puoc.cli.console import LARGEST_SEED

if TYPE_CHECKING:
    from puoc.datasets.readers.doubts import Doubt
    from puoc.datasets.readers.options import How
    from puoc.userdata.assess.audit_page import Commands

Positives = Annotated[
    Path | None, typer.Option(help="Labelled positives: a table, a file of texts or a folder of pictures.")
]
Unlabelled = Annotated[Path | None, typer.Option(help="Unlabelled rows, in the same format.")]
Data = Annotated[Path | None, typer.Option(help="One table with a label column, in place of both.")]
PositiveLabel = Annotated[str | None, typer.Option(help="The label that means positive, if puoc cannot infer it.")]
Kind = Annotated[str | None, typer.Option(help="table, images or texts. Default: inferred from the path.")]
TextColumn = Annotated[str | None, typer.Option(help="The column that holds the texts.")]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.")]
Category = Annotated[list[str] | None, typer.Option(help="A column to read as categories.")]
Number = Annotated[
    list[str] | None, typer.Option(help="A column to read as numbers although it looks like an id or a date.")
]
Missing = Annotated[list[str] | None, typer.Option(help="A text that stands for a missing value.")]
Pixels = Annotated[int | None, typer.Option(help="Side length in pixels to which pictures are resized.")]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of all random numbers.")]
Separator = Annotated[str | None, typer.Option(help="Column separator, if the file is ambiguous; \\t is a tab.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal sign, . or , if the file is ambiguous.")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of text files, if it is not UTF-8.")]
AllowFileDifferences = Annotated[
    bool,
    typer.Option(
        "--allow-file-differences", help="Continue even if the pictures or texts of two files were saved differently."
    ),
]
TextTokens = Annotated[
    str | None,
    typer.Option(
        "--tokens", help="Represent texts by words or characters. Default: words, or characters where words fail."
    ),
]
Header = Annotated[bool | None, typer.Option(help="Whether the first line names the columns.")]


def how_given(context: typer.Context) -> How:
    """Return the reading options of the running command. Raises ValueError as ``how_of``."""
    from puoc.datasets.readers.options import How, how_of

    given = {name: value for name, value in context.params.items() if name in How.model_fields and value is not None}
    return how_of(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})


@contextmanager
def full_answers(context: typer.Context) -> Iterator[None]:
    """Name in the message about doubtful columns the whole command that answers it."""
    from puoc.datasets.readers.doubts import DoubtfulColumns

    try:
        yield
    except DoubtfulColumns as error:
        raise ValueError(error.with_command(command_with(context, error.answers))) from error


def command_with(context: typer.Context, options: Sequence[tuple[str, str]]) -> str:
    """Return the running command with further options, as a line for a shell."""
    from puoc.datasets.readers.options import option_words

    more = (word for name, value in options for word in option_words(name, value))
    return shlex.join(["puoc", str(context.info_name), *_given(context), *more])


def commands(context: typer.Context, doubts: Sequence[Doubt] = ()) -> Commands:
    """Return the command that an audit page offers: puoc assess, or puoc fit of files without unlabelled rows.

    Parameters
    ----------
    context : of ``puoc audit`` or ``puoc assess``.
    """
    from puoc.datasets.readers.options import option_words
    from puoc.userdata.assess.audit_page import Commands

    answers = tuple((doubt.column, tuple(option_words(*doubt.answer))) for doubt in doubts)
    if context.info_name != "audit":
        return Commands(("puoc", str(context.info_name), *_given(context)), answers)
    alone = context.params["data"] is None and context.params["unlabelled"] is None
    without = {"json", "html", "effect"} | ({"incoming"} if alone else {"test"})
    if not alone and context.params["data"] is None:  # the labels are those of the test file
        without |= {"label", "positive"}
    start = ("puoc", "fit", "--method", "oc_svm") if alone else ("puoc", "assess")
    return Commands((*start, *_given(context, without)), answers)


def _given(context: typer.Context, without: Collection[str] = ()) -> list[str]:
    """Return the options and arguments of the running command as words, without some parameters."""
    from puoc.datasets.readers.options import option_words

    words: list[str] = []
    for param in context.command.params:
        if param.name in without:
            continue
        source = None if param.name is None else context.get_parameter_source(param.name)
        if source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[param.name]
        if isinstance(value, bool):
            words.append((param.opts if value else param.secondary_opts)[0])
            continue
        for part in value if isinstance(value, list | tuple) else [value]:
            is_argument = param.param_type_name == "argument"
            words += [str(part)] if is_argument else option_words(param.opts[0].removeprefix("--"), part)
    return words


def answers_to(doubts: Sequence[Doubt]) -> str:
    """Return the suggested options for all doubts, as words for a shell."""
    from puoc.datasets.readers.options import option_words

    answers = dict.fromkeys(doubt.answer for doubt in doubts)
    return shlex.join(word for option, value in answers for word in option_words(option, value))
