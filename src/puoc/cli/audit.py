"""``puoc audit``: which columns tell the labelled positives from the unlabelled rows by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puoc.cli.console import (
    check_free,
    check_writable,
    console,
    exit_on_invalid_input,
    exit_on_storage_error,
    folders_as_before,
    path_errors,
    printable,
    say,
    working,
)
from puoc.cli.read_options import (
    Category,
    Data,
    Decimal,
    Drop,
    Encoding,
    Header,
    Kind,
    Missing,
    Number,
    PositiveLabel,
    Positives,
    Separator,
    TextColumn,
    Unlabelled,
    answers_to,
)

if TYPE_CHECKING:
    from puoc.datasets.audit import Audited, ColumnAudit
    from puoc.datasets.readers.doubts import Doubt

_LISTED = 20  # columns that are printed


def audit(
    positives: Positives = None,
    unlabelled: Unlabelled = None,
    data: Data = None,
    test: Annotated[Path | None, typer.Option(help="Labelled test rows; columns are compared with the labels.")] = None,
    incoming: Annotated[Path | None, typer.Option(help="New rows to be scored; they are compared with U.")] = None,
    json: Annotated[
        Path | None, typer.Option("--json", help="JSON file to write: all columns, with histograms of P and U.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="The column of --data and --test that holds the labels.")] = None,
    positive: PositiveLabel = None,
    kind: Kind = None,
    text: TextColumn = None,
    drop: Drop = None,
    category: Category = None,
    number: Number = None,
    missing: Missing = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
) -> None:
    """List the columns by how well each tells labelled from unlabelled rows by itself, doubtful ones first."""
    with exit_on_invalid_input(), exit_on_storage_error("nothing was written"), path_errors():
        from puoc.datasets.readers.options import how_of
        from puoc.datasets.readers.training_files import Paths, audit_files

        if data is None and unlabelled is None and test is None:
            raise ValueError(
                "--unlabelled: the file is missing; expected --positives and --unlabelled, or --data, or a --test file"
            )
        check_free(json)
        check_writable("--json", json)
        how = how_of(
            kind=kind,
            label=label,
            positive=positive,
            text=text,
            drop=tuple(drop or ()),
            category=tuple(category or ()),
            number=tuple(number or ()),
            missing=tuple(missing or ()),
            separator=separator,
            decimal=decimal,
            encoding=encoding,
            header=header,
        )
        paths = Paths(positives, unlabelled, data, test, incoming)
        with working("reading"):
            found, doubts = audit_files(paths, how)
        if found.audited is None:
            raise ValueError(f"{found.P.where}: rows of the kind {found.P.kind} have no columns; expected a table")
    if json is not None:
        from puoc.store.atomic import write_json

        files = {role: str(path) if path else None for role, path in paths._asdict().items()}
        document = found.audited.model_dump(mode="json") | {
            "doubts": [doubt._asdict() | {"value": doubt.answer[1]} for doubt in doubts],
            "files": files,
        }
        with exit_on_storage_error("nothing was written"), folders_as_before(json):
            write_json(json, document)
    _print(found.audited, doubts)
    if json is not None:
        say(f"written: {json}")


def _print(audited: Audited, doubts: list[Doubt]) -> None:
    from rich.table import Table

    say(f"{audited.n_p} labelled positives, {audited.n_u} unlabelled rows, {len(audited.columns)} columns compared")
    if audited.n_test is not None:
        say(f"{audited.n_test[0]} positive and {audited.n_test[1]} negative test rows")
    table = Table(
        "column", "read as", "says most", "AUC", "95 %", "q", "missing P, U", "verdict", box=None, pad_edge=False
    )
    for column in audited.columns[:_LISTED]:
        table.add_row(*map(printable, _cells(column)))
    console().print(table)
    if len(audited.columns) > _LISTED:
        say(f"{len(audited.columns) - _LISTED} further columns say less; --json FILE has all")
    for doubt in doubts:
        say(f"in doubt: {doubt.reason}")
    for note in (*audited.notes, *audited.remarks()):
        say(f"note: {note}")
    if doubts:
        these = "it" if len(doubts) == 1 else "these"
        say(f"puoc fit and puoc assess ask about {these}; to answer: {answers_to(doubts)}")
    else:
        say("no column is in doubt")
    say("to see what a column does to an answer, run puoc assess with and without --drop COLUMN")


def _cells(column: ColumnAudit) -> tuple[str, ...]:
    missing = f"{column.missing_p:.0%}, {column.missing_u:.0%}" if column.missing_p or column.missing_u else ""
    most = column.most
    if most is None:
        return column.name, column.read_as, "too few values", "", "", "", missing, column.verdict
    says = most.property if most.sides == "P and U" else f"{most.property}, {most.sides}"
    upper = max(most.high, 1 - most.low)
    return (
        column.name,
        column.read_as,
        says,
        f"{most.says:.3f}",
        f"{most.says_low:.3f} to {max(upper, most.says):.3f}",
        f"{most.q:.1g}",
        missing,
        column.verdict,
    )
