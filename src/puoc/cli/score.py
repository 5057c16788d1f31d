"""``puoc score``: score files with a model file."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puoc.cli.console import (
    STORAGE_ERROR,
    check_free,
    check_writable,
    console,
    exit_on_invalid_input,
    exit_on_storage_error,
    folders_as_before,
    path_errors,
    printable,
    warn,
    working,
)
from puoc.cli.output import is_json, is_quiet, result
from puoc.cli.read_options import Decimal, Encoding, Header, Separator, how_given

if TYPE_CHECKING:
    from puoc.datasets.readers.unseen import Unseen
    from puoc.methods.persistence.header import Threshold

_LARGEST_CHUNK = 2**31 - 1


def score(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(help="Rows to score, in the format of the training rows; - reads the standard input.")
    ],
    model: Annotated[Path, typer.Option(help="A model file that puoc fit wrote.")],
    out: Annotated[Path | None, typer.Option(help="File to write: .csv, .tsv or .parquet. Default: print CSV.")] = None,
    chunk: Annotated[
        int | None,
        typer.Option(min=1, max=_LARGEST_CHUNK, help="Number of rows read at once; it does not change the scores."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="A column of the file to write beside the scores, such as an id. Can be repeated."),
    ] = None,
    unseen: Annotated[
        bool,
        typer.Option(
            "--unseen",
            help="Also write the number of columns in which a row has a value that the training rows did not have.",
        ),
    ] = False,
    decide: Annotated[
        bool,
        typer.Option("--decide", help="Refuse a model without a threshold, and print what its threshold promises."),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(help="File to write: all values that the training rows did not have, by column, as JSON."),
    ] = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
) -> None:
    """Score the rows of a file with a model; a higher score means more likely positive."""
    with (
        exit_on_invalid_input(),
        exit_on_storage_error("nothing was written" if out else "not all scores were printed"),
        path_errors(),
        folders_as_before(out),
        folders_as_before(report),
    ):
        if report is not None and out is not None and report.resolve() == out.resolve():
            raise ValueError(f"--report: got {report}, which is also the path of --out; expected another path")
        if is_json() and out is None:
            raise ValueError("--json: got no --out, and the scores would be printed as well; expected --out FILE")
        check_free(out, report)
        check_writable("--out", out)
        check_writable("--report", report)
        from puoc.cli.standard_input import file_or_standard_input
        from puoc.store.steps import shown_by
        from puoc.userdata.score import score_file
        from puoc.userdata.thresholds import promise_of

        promise = promise_of(_threshold(model)) if decide else None
        how = how_given(context)
        try:
            with ExitStack() as opened:
                if out is not None or not sys.stdout.isatty():  # a terminal that shows the scores cannot show both
                    opened.enter_context(shown_by(opened.enter_context(working("score"))))
                path = opened.enter_context(file_or_standard_input(file, model))
                done = score_file(model, path, out, how, chunk, unseen=unseen, keep=keep or ())
        except BrokenPipeError as error:  # the reader of the output, such as head, has closed the pipe
            raise typer.Exit(STORAGE_ERROR) from error
    if report is not None and done.unseen is not None:
        _write_report(report, done.unseen)
    if promise is not None:
        done.notes.append(f"decision: {promise}")
    reached = "" if done.positive is None else f", {done.positive} reach the threshold"
    result(rows=done.rows, positive=done.positive, out=out, notes=list(done.notes))
    for note in (*done.notes, f"{done.rows} rows scored{reached}: {out or 'printed'}"):
        if not is_quiet():
            to_error = out is None or is_json()
            console(stderr=to_error).print(printable(note), highlight=False, markup=False, soft_wrap=True)
    warn(done.warning)


def _threshold(model: Path) -> Threshold:
    """Return the threshold of a model. Raises ValueError if it has none, or is no model."""
    from puoc.methods.persistence.header import read_header
    from puoc.userdata.score import check_model

    check_model(model)
    threshold = read_header(model).threshold
    if threshold is None:
        raise ValueError(f"--decide: {model} has no threshold; expected a model that puoc fit made with a threshold")
    return threshold


def _write_report(path: Path, unseen: Unseen) -> None:
    from puoc.store.atomic import create

    missing = f"the scores were written, but the report {path} was not"
    with exit_on_invalid_input(), exit_on_storage_error(missing), folders_as_before(path):
        if not create(path, f"{unseen.model_dump_json(indent=2)}\n".encode()):
            raise ValueError(f"{path}: another process has written this file in the meantime; name another path")
