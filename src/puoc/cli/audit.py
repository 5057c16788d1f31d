"""``puoc audit``: which columns tell the labelled positives from the unlabelled rows by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puoc.cli.console import (
    check_free,
    check_writable,
    exit_on_invalid_input,
    exit_on_storage_error,
    folders_as_before,
    path_errors,
    printable,
    say,
    shown_console,
    working,
)
from puoc.cli.output import choose, is_json, result
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
    commands,
    how_given,
)

if TYPE_CHECKING:
    from puoc.datasets.audit import Audited, ColumnAudit
    from puoc.datasets.readers.doubts import Doubt
    from puoc.datasets.readers.file_differences import FileDifferences
    from puoc.datasets.readers.options import How
    from puoc.datasets.readers.training_files import TrainingFiles
    from puoc.userdata.assess.column_effect import Effects

_LISTED = 20  # columns that are printed
_CELLS = 25_000_000  # of P and U, up to which the effects of columns are measured without being asked for


def audit(
    context: typer.Context,
    positives: Positives = None,
    unlabelled: Unlabelled = None,
    data: Data = None,
    test: Annotated[Path | None, typer.Option(help="Labelled test rows; columns are compared with the labels.")] = None,
    incoming: Annotated[Path | None, typer.Option(help="New rows to be scored; they are compared with U.")] = None,
    json: Annotated[
        Path | None,
        typer.Option("--json", help="JSON file to write: all columns, with histograms of P and U; - prints it."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="HTML page to write; it may only replace an earlier page of puoc audit.")
    ] = None,
    effect: Annotated[
        bool | None,
        typer.Option(
            help="Measure on a sample what leaving a column out does to the answer.",
            show_default="up to 25 million cells",
        ),
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
    """List the columns by how well each separates labelled from unlabelled rows by itself, doubtful ones first."""
    with exit_on_invalid_input(), exit_on_storage_error("nothing was written"), path_errors():
        from puoc.datasets.readers.training_files import Paths, audit_files

        if data is None and unlabelled is None and test is None:
            raise ValueError(
                "--unlabelled: the file is missing; expected --positives and --unlabelled, or --data, or a --test file"
            )
        paths = Paths(positives, unlabelled, data, test, incoming)
        if json is not None and str(json) == "-":
            choose("json", True)
            json = None
        check_free(json)
        check_writable("--json", json)
        if html is not None:
            from puoc.userdata.pages import check_place

            if json is not None and html.absolute() == json.absolute():
                raise ValueError(f"--html: got {html}, which --json names too; expected two files")
            check_place(html, [path for path in paths if path is not None], "puoc audit")
            check_writable("--html", html)
        how = how_given(context)
        with working("reading"):
            found, doubts = audit_files(paths, how)
            audited = found.audited
            differences: tuple[FileDifferences, ...] = ()
            if audited is None:
                from puoc.datasets.readers.row_audit import audit_rows

                audited, differences, unseen = audit_rows(found, paths, how)
            else:
                from puoc.datasets.readers.audit_unseen import unseen_in_tables

                unseen = unseen_in_tables(found, how, doubts)
        wanted = _quick(found) if effect is None else effect
        effects = _effects(found, audited, how) if wanted else None
    files = {role: str(path) if path else None for role, path in paths._asdict().items()}
    with exit_on_storage_error("nothing was written"), folders_as_before(json, html):
        if json is not None or is_json():
            from puoc.store.atomic import write_json

            document = audited.model_dump(mode="json") | {
                "doubts": [doubt._asdict() | {"value": doubt.answer[1]} for doubt in doubts],
                "file_differences": [one.model_dump(mode="json") for one in differences],
                "effects": None if effects is None else effects.model_dump(mode="json"),
                "unseen": [one.model_dump(mode="json") for one in unseen],
                "files": files,
            }
            result(**document)
            if json is not None:
                write_json(json, document)
        if html is not None:
            from puoc.store.atomic import write_bytes
            from puoc.userdata.assess.audit_page import page, section

            shown = section(audited, commands(context, doubts), doubts, differences, effects, unseen)
            write_bytes(html, page(shown, files, found.notes).encode())
    _print(audited, doubts, differences, effects)
    if effects is None and found.audited is not None:
        say(_no_effects(wanted))
    for line in (line for one in unseen for line in one.lines("--json FILE")):
        say(f"note: {line}")
    for path in (json, html):
        if path is not None:
            say(f"written: {path}")


def _effects(files: TrainingFiles, audited: Audited, how: How) -> Effects | None:
    """Return what columns do to the answer of puoc assess; None without a table of P and U."""
    from puoc.datasets.readers.raw_table import RawTable

    if not audited.columns or not isinstance(files.P, RawTable) or not isinstance(files.U, RawTable):
        return None
    from puoc.userdata.assess.column_effect import effects_of, sample_of

    with working("what leaving columns out does"):
        sample = sample_of(files.P, files.U, how, audited)
        return None if sample is None else effects_of(sample, audited)


def _no_effects(wanted: bool) -> str:
    """Return why there are no effects of columns."""
    what = "what a column does to the answer of puoc assess"
    if not wanted:
        return f"--effect measures {what}"
    from puoc.userdata.assess.input_rows import MIN_ROWS

    return f"{what} was not measured; expected {MIN_ROWS} rows of P and of U, or more, and a column that varies"


def _quick(files: TrainingFiles) -> bool:
    """Return True if the files are so small that a measurement beside them is no burden."""
    from puoc.datasets.readers.raw_table import RawTable

    tables = [part for part in (files.P, files.U) if isinstance(part, RawTable)]
    return sum(len(table) * len(table.columns) for table in tables) <= _CELLS


def _print(
    audited: Audited, doubts: list[Doubt], differences: Sequence[FileDifferences], effects: Effects | None
) -> None:
    if not audited.columns and not doubts:
        _print_rows(audited, differences)
        return
    from rich.table import Table

    say(f"{audited.n_p} labelled positives, {audited.n_u} unlabelled rows, {len(audited.columns)} columns compared")
    if audited.n_test is not None:
        say(f"{audited.n_test[0]} positive and {audited.n_test[1]} negative test rows")
    table = Table(
        "column", "read as", "says most", "AUC", "95 %", "q", "missing P, U", "verdict", box=None, pad_edge=False
    )
    for column in audited.columns[:_LISTED]:
        table.add_row(*map(printable, _cells(column)))
    shown_console(stderr=False).print(table)
    if len(audited.columns) > _LISTED:
        say(f"{len(audited.columns) - _LISTED} further columns say less; --json FILE has all")
    for doubt in doubts:
        say(f"in doubt: {doubt.reason}")
    kin = [] if audited.kin is None else audited.kin.lines()
    for note in (*audited.notes, *kin, *audited.remarks()):
        say(f"note: {note}")
    if doubts:
        these = "it" if len(doubts) == 1 else "these"
        say(f"puoc fit and puoc assess ask about {these}; to answer: {answers_to(doubts)}")
    else:
        say("no column is in doubt")
    for line in () if effects is None else effects.lines():
        say(line)


def _print_rows(audited: Audited, differences: Sequence[FileDifferences]) -> None:
    """Print the audit of pictures or texts."""
    assert audited.kin is not None, "rows without columns are compared with each other"
    say(f"{audited.n_p} labelled and {audited.n_u} unlabelled {audited.kin.what}")
    if audited.kin.what == "rows":
        say("no column was compared: each has one value, or none, in all rows of P and U")
    for files in differences:
        differ = f"{len(files.found)} of {files.tested} properties differ in how they were saved"
        say(f"{files.where} and {files.other}: {differ if files.found else 'saved alike'}")
        for one in files.found:
            say(f"  {one}{'' if one.seen else ' (no method sees it)'}")
    for line in audited.kin.lines():
        say(f"note: {line}")
    if any(files.seen for files in differences):
        say("puoc fit and puoc assess stop at differences that a method can learn; docs/reference/files.md says more")


def _cells(column: ColumnAudit) -> tuple[str, ...]:
    missing = f"{column.missing_p:.0%}, {column.missing_u:.0%}" if column.missing_p or column.missing_u else ""
    most = column.most
    if most is None:
        return column.name, column.read_as, "too few values", "", "", "", missing, column.verdict
    says = most.property if most.sides == "P and U" else f"{most.property}, {most.sides}"
    return (
        column.name,
        column.read_as,
        says,
        f"{most.says:.3f}",
        f"{most.says_low:.3f} to {most.says_high:.3f}",
        f"{most.q:.1g}",
        missing,
        column.verdict,
    )
