"""``puoc fit`` and ``puoc score``: a user's own data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from puoc.cli.console import (
    LARGEST_SEED,
    STORAGE_ERROR,
    console,
    exit_on_invalid_input,
    exit_on_storage_error,
    path_errors,
    say,
)

if TYPE_CHECKING:
    from puoc.datasets.readers import Pair
    from puoc.datasets.user.leakage import Audit

Separator = Annotated[str | None, typer.Option(help="Between columns, where the file leaves a doubt; \\t for a tab.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal sign, . or , where the file leaves a doubt.")]
Encoding = Annotated[str | None, typer.Option(help="Of text files, if it is not UTF-8.")]
Header = Annotated[bool | None, typer.Option(help="Whether the first line names the columns.")]

_WITHHELD = 0.2  # of the positives, where nobody says
_NOTHING = "nothing was written"


def fit(
    method: Annotated[str, typer.Option(help="A method, or an entry of the settings file.")],
    out: Annotated[Path | None, typer.Option(help="The model file to write; must not be there yet.")] = None,
    positives: Annotated[Path | None, typer.Option(help="Labelled positives: a table, texts or a folder.")] = None,
    unlabelled: Annotated[Path | None, typer.Option(help="Unlabelled rows, of the same form.")] = None,
    data: Annotated[Path | None, typer.Option(help="In place of both: one table with a label column.")] = None,
    test: Annotated[Path | None, typer.Option(help="Labelled test rows; the AUC on them is told.")] = None,
    label: Annotated[str | None, typer.Option(help="The column with the labels of --data and --test.")] = None,
    positive: Annotated[str | None, typer.Option(help="Its value that means positive, if that is in doubt.")] = None,
    kind: Annotated[str | None, typer.Option(help="table, images or texts; else by what the path is.")] = None,
    text: Annotated[str | None, typer.Option(help="The column that holds the texts.")] = None,
    params: Annotated[list[str] | None, typer.Option(help="A hyperparameter, name=value; may be repeated.")] = None,
    settings: Annotated[Path | None, typer.Option(help="A params file or profile to take entries from.")] = None,
    prior: Annotated[str | None, typer.Option(help="Share of positives in U, or an estimator. [tice]")] = None,
    encoder: Annotated[
        str | None, typer.Option(help="flatten, components, autoencoder, or an entry of --settings.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="The only source of randomness.")] = 0,
    by_alpha: Annotated[bool, typer.Option("--by-alpha", help="Threshold: call a share alpha of U positive.")] = False,
    false_alarms: Annotated[
        float | None, typer.Option(help="Threshold: the share of positives that may be missed.")
    ] = None,
    withhold: Annotated[
        float | None, typer.Option(help="Share of positives kept apart for --false-alarms. [a fifth]")
    ] = None,
    repeats: Annotated[
        str | None, typer.Option(help="Equal positives: copies (together), or such rows by nature (apart).")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.")] = None,
    category: Annotated[list[str] | None, typer.Option(help="A column to read as categories.")] = None,
    missing: Annotated[list[str] | None, typer.Option(help="A text that means: no value.")] = None,
    scaling: Annotated[str, typer.Option(help="Of number columns: minmax or standard.")] = "minmax",
    pixels: Annotated[int | None, typer.Option(help="Side to which pictures are resized.")] = None,
    words: Annotated[int, typer.Option(help="Words that texts are described by.")] = 500,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    allow_overlap: Annotated[
        bool, typer.Option("--allow-overlap", help="Go on although test rows are among the training rows.")
    ] = False,
    mlflow: Annotated[Path | None, typer.Option(help="Write an MLflow model folder as well.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Read, profile and audit; fit and write nothing.")] = False,
) -> None:
    """Fit a method to your own data and write a model file that puoc score reads."""
    with exit_on_invalid_input(), exit_on_storage_error(_NOTHING), path_errors():
        if out is None and not check:
            raise ValueError("--out: the model file to write is missing; expected --out MODEL, or --check")
        _check_apart(out, mlflow)
        _check_free(out, mlflow)
        if by_alpha and false_alarms is not None:
            raise ValueError("got --by-alpha and --false-alarms; expected one threshold")
        if false_alarms is not None and not 0 < false_alarms < 1:
            raise ValueError(f"--false-alarms: got {false_alarms:g}; expected a rate in (0, 1)")
        if withhold is not None and false_alarms is None:
            raise ValueError(f"--withhold: got {withhold:g}, and nothing rests on withheld rows without --false-alarms")
        if withhold is not None and not 0 < withhold < 1:
            raise ValueError(f"--withhold: got {withhold:g}; expected a share in (0, 1)")
        if repeats is not None and false_alarms is None:
            raise ValueError(f"--repeats: got {repeats!r}, and nothing rests on withheld rows without --false-alarms")
        if repeats not in (None, "together", "apart"):
            raise ValueError(f"--repeats: got {repeats!r}; expected together or apart")
        from puoc.datasets.readers import read_pair
        from puoc.datasets.readers.options import how_of
        from puoc.userdata.settings import settings as read_settings

        how = how_of(
            kind=kind,
            label=label,
            positive=positive,
            text=text,
            drop=tuple(drop or ()),
            category=tuple(category or ()),
            missing=tuple(missing or ()),
            scaling=scaling,
            pixels=pixels,
            words=words,
            separator=separator,
            decimal=decimal,
            encoding=encoding,
            header=header,
        )
        asked = read_settings(
            method, given=params or (), prior=prior, encoder=encoder, file=settings, needs_prior=by_alpha
        )
        from puoc.registry import METHODS
        from puoc.userdata.preflight import learns_from_u

        from_positives = METHODS[asked.method].kind == "oc" and not learns_from_u(asked.encoder)
        pair = read_pair(
            positives,
            unlabelled,
            how,
            data=data,
            test=test,
            from_positives=from_positives,
            withhold=0.0 if false_alarms is None else _WITHHELD if withhold is None else withhold,
            seed=seed,
            repeats=repeats,  # type: ignore[arg-type]
        )
        _tell(pair)
        audited = _audit(pair, allow_overlap)
        if repeats != "apart":  # else new positives stand among these rows as often
            _doubts(audited, from_positives)
        if asked.encoder:
            chosen = asked.encoder if isinstance(asked.encoder, str) else f"{asked.encoder.name} {asked.encoder.params}"
            say(f"encoder: {chosen}")
        given = ", ".join(f"{name}={value}" for name, value in asked.params.items())
        say(f"{asked.method}: {given}  ({asked.source})")
        from puoc.userdata import fit as fitting

        wanted = fitting.Wanted(by_alpha, false_alarms)
        fitting.check(pair, asked, wanted)
        if check:
            say("nothing was fitted: --check")
            return
        made = fitting.fit(pair, asked, seed=seed, wanted=wanted, marks=audited.marks)
    for note in made.notes:
        say(note)
    if made.test_auc is not None:
        marked = f"  [{'; '.join(audited.marks)}]" if audited.marks else ""
        say(f"AUC on the test rows: {made.test_auc:.4f}{marked}")
    assert out is not None, "checked above"
    _write(out, made.content, mlflow)


def score(
    file: Annotated[Path, typer.Argument(help="Rows to score, of the form of the training rows.")],
    model: Annotated[Path, typer.Option(help="A model file that puoc fit wrote.")],
    out: Annotated[
        Path | None, typer.Option(help="File to write: .csv, .tsv or .parquet; without it CSV is printed.")
    ] = None,
    chunk: Annotated[int | None, typer.Option(min=1, help="Rows read at once; no score depends on it.")] = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
) -> None:
    """Score a file with a model: higher = more likely positive."""
    with (
        exit_on_invalid_input(),
        exit_on_storage_error(_NOTHING if out else "not all scores were printed"),
        path_errors(),
    ):
        _check_free(out)
        from puoc.datasets.readers.options import how_of
        from puoc.userdata.score import score_file

        how = how_of(separator=separator, decimal=decimal, encoding=encoding, header=header)
        try:
            done = score_file(model, file, out, how, chunk)
        except BrokenPipeError as error:  # whoever reads what is printed has seen enough, as head has
            raise typer.Exit(STORAGE_ERROR) from error
    reached = "" if done.positive is None else f", {done.positive} reach the threshold"
    for note in (*done.notes, f"{done.rows} rows scored{reached}: {out or 'printed'}"):
        console(stderr=out is None).print(note, highlight=False, markup=False, soft_wrap=True)


def _check_apart(out: Path | None, mlflow: Path | None) -> None:
    """Refuse a model file and an MLflow folder of which one stands in the way of the other."""
    if out is None or mlflow is None:
        return
    file, folder = out.resolve(), mlflow.resolve()
    if file == folder:
        raise ValueError(f"--mlflow: got {mlflow}, which --out names too; expected another one")
    if file in folder.parents or folder in file.parents:
        inner, outer = ("--out", "--mlflow") if folder in file.parents else ("--mlflow", "--out")
        raise ValueError(f"{inner}: got a path below that of {outer} ({out}, {mlflow}); expected another one")


def _check_free(*paths: Path | None) -> None:
    """Refuse what is there already, and a place below a file."""
    for path in filter(None, paths):
        if path.exists():
            raise ValueError(f"{path}: is there already; name another one, or take it away first")
        above = next(folder for folder in path.absolute().parents if folder.exists())
        if not above.is_dir():
            raise ValueError(f"{path}: {above.name} is a file; expected a folder, or none yet")


def _tell(pair: Pair) -> None:
    """The profile of the columns, and what was met in each file."""
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
            say(f"missing values of {', '.join(indicators)}: the median, or no category, and a column that says so")
    whats = ("labelled positives", "positives withheld", "unlabelled rows", "test rows")
    parts = (pair.positives, pair.held, pair.unlabelled, pair.test)
    for rows, what in zip(parts, whats, strict=True):
        if rows is None:
            continue
        say(f"{rows.where}: {len(rows)} {what}")
        for note in rows.notes:
            say(f"  {note}")
    for note in pair.notes:
        say(note)
    say(f"a method sees {pair.preparing.inputs} rows of shape {pair.preparing.shape}")


def _plain(cell: str) -> Any:
    from rich.text import Text

    return Text(cell)


def _audit(pair: Pair, allowed: bool) -> Audit:
    from puoc.datasets.user.leakage import audit

    found = audit(pair)
    for note in (*found.notes, *found.repeats):
        say(f"note: {note}")
    if found.leaks and not allowed:
        lines = "; ".join(map(str, found.leaks))
        raise ValueError(
            f"{lines}. A test on rows that were trained on says little about new ones: take them out of one file, or "
            "say --allow-overlap, which then marks the model and its scores"
        )
    for leak in found.leaks:
        say(f"allowed: {leak}")
    return found


def _doubts(audited: Audit, from_positives: bool) -> None:
    """Why withheld positives may not be scored as new ones are."""
    for one in audited.withheld_in_p:
        say(f"note: {one}; they may be scored above new positives, which then miss the threshold more often than asked")
    for one in () if from_positives else audited.withheld_in_u:
        say(
            f"note: {one}, which is learned from; they may be scored below new positives, and the threshold is then "
            "too low: fewer positives miss it than asked, and more negatives reach it"
        )


def _write(out: Path, content: bytes, mlflow: Path | None) -> None:
    from puoc.store.atomic import create

    with exit_on_invalid_input(), exit_on_storage_error(_NOTHING):
        if not create(out, content):
            raise ValueError(f"{out}: was written by somebody else meanwhile; name another one")
    if mlflow is not None:
        from puoc.methods.persistence import model_file as modelfile
        from puoc.reporting.tracking.models import save_folder

        with exit_on_storage_error(f"the model {out} is written, and the folder {mlflow} is not"):
            save_folder(modelfile.read_meta(out), out, mlflow)
        say(f"MLflow model: {mlflow}")
    say(f"model: {out} ({len(content)} bytes)")
