"""``puoc assess``: can a user's own unlabelled data be trusted, and which family of methods follows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puoc.cli.console import LARGEST_SEED, exit_on_invalid_input, exit_on_storage_error, path_errors, say

if TYPE_CHECKING:
    from puoc.datasets.readers import Pair
    from puoc.userdata.assess.decision import Assessment


def assess(
    positives: Annotated[
        Path | None, typer.Option(help="Labelled positives: a table, texts or a folder of pictures.")
    ] = None,
    unlabelled: Annotated[Path | None, typer.Option(help="Unlabelled rows, of the same form.")] = None,
    data: Annotated[Path | None, typer.Option(help="In place of both: one table with a label column.")] = None,
    incoming: Annotated[
        Path | None, typer.Option(help="Rows as they come in now; without them: no word on shift.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the whole answer as JSON; its key `answer` is the word.")
    ] = False,
    html: Annotated[Path, typer.Option(help="The page; replaces an earlier one only.")] = Path("assess.html"),
    label: Annotated[str | None, typer.Option(help="The column with the labels of --data.")] = None,
    positive: Annotated[str | None, typer.Option(help="Its value that means positive, if that is in doubt.")] = None,
    kind: Annotated[str | None, typer.Option(help="table, images or texts; else by what the path is.")] = None,
    text: Annotated[str | None, typer.Option(help="The column that holds the texts.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.")] = None,
    category: Annotated[list[str] | None, typer.Option(help="A column to read as categories.")] = None,
    missing: Annotated[list[str] | None, typer.Option(help="A text that means: no value.")] = None,
    pixels: Annotated[int | None, typer.Option(help="Side to which pictures are resized.")] = None,
    separator: Annotated[str | None, typer.Option(help="Between columns, where the file leaves a doubt.")] = None,
    decimal: Annotated[str | None, typer.Option(help="Decimal sign, . or , where the file leaves a doubt.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of text files, if it is not UTF-8.")] = None,
    header: Annotated[bool | None, typer.Option(help="Whether the first line names the columns.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="The only source of randomness.")] = 0,
) -> None:
    """Tell by your own data whether OC, PU-OC or PU methods can be trusted, with the evidence."""
    with exit_on_invalid_input(), exit_on_storage_error("no page was written"), path_errors():
        from puoc.datasets.readers import read_pair
        from puoc.datasets.readers.options import how_of
        from puoc.userdata.assess.page import check_place, page

        if data is None and unlabelled is None:
            raise ValueError("--unlabelled: the file is missing; expected --positives and --unlabelled, or --data")
        for option, answer in (("--label", label), ("--positive", positive)):
            if answer is not None and data is None:
                raise ValueError(f"{option}: got {answer!r}, and without --data nothing has labels")
        given = {"positives": positives, "unlabelled": unlabelled, "data": data}
        check_place(html, [path for path in (*given.values(), incoming) if path is not None])
        columns = {"drop": tuple(drop or ()), "category": tuple(category or ()), "missing": tuple(missing or ())}
        layout = {"separator": separator, "decimal": decimal, "encoding": encoding, "header": header}
        how = how_of(kind=kind, label=label, positive=positive, text=text, pixels=pixels, **columns, **layout)
        pair = read_pair(positives, unlabelled, how, data=data)
        later = None if incoming is None else pair.read(incoming)
        from puoc.userdata.assess.decision import assess as assess_rows

        assert pair.X_u is not None, "a file of unlabelled rows was given"
        found = assess_rows(pair.X_p, pair.X_u, None if later is None else later.X, seed=seed)
        from puoc.userdata.assess.fit_command import command

        recommended = found.recommended
        line = command(recommended.method, recommended.params, given, how, seed)
        found = found.model_copy(update={"recommended": recommended.model_copy(update={"command": line})})
    notes = [*pair.notes, *pair.positives.notes, *(pair.unlabelled.notes if pair.unlabelled else ())]
    notes += later.notes if later is not None else ()
    files = {role: str(path) if path else None for role, path in (*given.items(), ("incoming", incoming))}
    from puoc.store.atomic import write_bytes

    with exit_on_storage_error("no page was written"):
        write_bytes(html, page(found, files, list(pair.profile), notes).encode())
    if json:
        _print_json(found, files, pair, notes)
        return
    for note in (*notes, *pair.column_notes()):
        say(note)
    _tell(found)
    say(f"page: {html}")


def _tell(found: Assessment) -> None:
    evidence = found.evidence
    say(f"{evidence.n_p} labelled positives, {evidence.n_u} unlabelled rows, {evidence.columns} values a row")
    for line in (*evidence.notes, *found.reasons):
        say(line)
    for line in found.more_data:
        say(f"more data: {line}")
    say(f"robustness map: {found.region} ({found.region_situations} situations)")
    given = ", ".join(f"{name}={value}" for name, value in found.recommended.params.items())
    on = f"{found.recommended.components} principal components of standardised columns"
    say(f"recommended: {found.recommended.method} ({given}), on the first {on}; {found.recommended.remark}")
    if found.recommended.command:
        say(f"to fit it: {found.recommended.command}")
    unsure = f"; until then {found.advice}" if found.answer == "cannot tell" else ""
    say(f"answer: {found.answer}{unsure}")


def _print_json(found: Assessment, files: dict[str, str | None], pair: Pair, notes: list[str]) -> None:
    from json import dumps

    profile = [column.canonical() for column in pair.profile]
    whole = {**found.model_dump(mode="json"), "files": files, "profile": profile, "reading": notes}
    typer.echo(dumps(whole, indent=2, ensure_ascii=False, allow_nan=False))
