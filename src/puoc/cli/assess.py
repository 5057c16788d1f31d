"""``puoc assess``: whether a user's unlabelled data can be trusted, and which family of methods to use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puoc.cli.console import (
    check_writable,
    exit_on_invalid_input,
    exit_on_storage_error,
    folders_as_before,
    path_errors,
    say,
    working,
)
from puoc.cli.read_options import (
    AllowFileDifferences,
    Category,
    Data,
    Decimal,
    Drop,
    Encoding,
    Header,
    Kind,
    Missing,
    Number,
    Pixels,
    PositiveLabel,
    Positives,
    Seed,
    Separator,
    TextColumn,
    TextTokens,
    Unlabelled,
    full_answers,
    how_given,
)

if TYPE_CHECKING:
    from puoc.datasets.readers import Pair
    from puoc.datasets.readers.pu_data import Rows
    from puoc.userdata.assess.audit_page import Section
    from puoc.userdata.assess.decision import Assessment


def assess(
    context: typer.Context,
    positives: Positives = None,
    unlabelled: Unlabelled = None,
    data: Data = None,
    incoming: Annotated[
        Path | None, typer.Option(help="New rows to be scored. They are required for the test of distribution shift.")
    ] = None,
    new_negatives: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Without --incoming: how likely the rows to be scored have negatives of a new kind, from 0 to 1.",
        ),
    ] = 0.0,
    json: Annotated[
        bool, typer.Option("--json", help="Print the full result as JSON; the key `answer` holds the verdict.")
    ] = False,
    html: Annotated[Path, typer.Option(help="HTML page to write; it may only replace an earlier page.")] = Path(
        "assess.html"
    ),
    label: Annotated[str | None, typer.Option(help="The column of --data that holds the labels.")] = None,
    positive: PositiveLabel = None,
    kind: Kind = None,
    text: TextColumn = None,
    drop: Drop = None,
    category: Category = None,
    number: Number = None,
    missing: Missing = None,
    pixels: Pixels = None,
    tokens: TextTokens = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    allow_file_differences: AllowFileDifferences = False,
    seed: Seed = 0,
) -> None:
    """Assess from your data whether OC, PU-OC or PU methods can be trusted, and show the evidence."""
    with exit_on_invalid_input(), exit_on_storage_error("no page was written"), path_errors(), full_answers(context):
        from puoc.datasets.readers import read_pair
        from puoc.userdata.assess.page import page
        from puoc.userdata.pages import check_place

        if data is None and unlabelled is None:
            raise ValueError("--unlabelled: the file is missing; expected --positives and --unlabelled, or --data")
        for option, value in (("--label", label), ("--positive", positive)):
            if value is not None and data is None:
                raise ValueError(f"{option}: got {value!r} without --data; only the file of --data has labels")
        if incoming is not None and new_negatives > 0:
            raise ValueError(
                f"--new-negatives: got {new_negatives:g} with --incoming; expected one of them, since the incoming "
                "rows say how likely new negatives are"
            )
        paths = {"positives": positives, "unlabelled": unlabelled, "data": data}
        check_place(html, [path for path in (*paths.values(), incoming) if path is not None])
        check_writable("--html", html)
        how = how_given(context)
        with working("reading"):
            pair = read_pair(positives, unlabelled, how, data=data)
            incoming_rows = None if incoming is None else pair.read(incoming)
        from puoc.store.steps import heard_by
        from puoc.userdata.assess.decision import assess as assess_rows
        from puoc.userdata.assess.input_rows import MAX_ROWS
        from puoc.userdata.assess.reference_methods import work_of

        assert pair.X_u is not None, "a file of unlabelled rows was given"
        check_texts(pair)
        X_v = None if incoming_rows is None else incoming_rows.X
        with working("assess", work_of(min(len(pair.X_u), MAX_ROWS))) as shown, heard_by(shown.advance):
            assessment = assess_rows(pair.X_p, pair.X_u, X_v, seed=seed, new=new_negatives)
        from puoc.userdata.assess.fit_command import command

        recommended = assessment.recommended
        line = command(recommended.method, recommended.params, paths, how, seed, recommended.encoder)
        assessment = assessment.model_copy(update={"recommended": recommended.model_copy(update={"command": line})})
    notes = [*pair.notes, *pair.positives.notes, *(pair.unlabelled.notes if pair.unlabelled else ())]
    if incoming_rows is not None:
        notes += [*incoming_rows.notes, *_shift_by_saving(pair, incoming_rows)]
    files = {role: str(path) if path else None for role, path in (*paths.items(), ("incoming", incoming))}
    from puoc.store.atomic import write_bytes

    audit = _audit(context, pair, incoming_rows, seed)
    with exit_on_storage_error("no page was written"), folders_as_before(html):
        write_bytes(html, page(assessment, files, list(pair.profile), notes, audit).encode())
    if json:
        _print_json(assessment, files, pair, notes, audit)
        return
    effects = () if audit.effects is None else audit.effects.effects
    for note in (*notes, *pair.column_notes(), *(str(effect) for effect in effects if effect.matters)):
        say(note)
    say("")  # the notes may be many, and the answer is what was asked for
    _print(assessment)
    from puoc.cli.recommended import default_of

    default, _ = default_of(pair, assessment.advice, assessment.recommended)
    if default.method != assessment.recommended.method:
        takes = f"takes {default.method}, the default of {assessment.advice} for such rows"
        say(f"puoc fit without --method {takes}; the command above fits what was compared here")
    say(f"page: {html}")


def check_texts(pair: Pair) -> None:
    """Raise ValueError if unlabelled texts differ from the labelled ones, but not in what a method sees of them."""
    from puoc.datasets.readers.row_contents import alike_but_different
    from puoc.datasets.readers.texts import RawTexts, TextPreparing

    P, U = pair.positives, pair.unlabelled
    if U is None or not isinstance(P.raw, RawTexts) or not isinstance(U.raw, RawTexts):
        return
    assert isinstance(pair.preparing, TextPreparing), "it was fitted to these texts"
    alike = alike_but_different(U.raw.texts, U.X, P.raw.texts, P.X)
    if alike > len(U) / 2:
        tokens, n = pair.preparing.tokens, len(pair.preparing.features)
        limited = n >= pair.how.words  # rarer ones are not used, so texts of rare ones alone are equal
        seen = f"{tokens} among the {n} most frequent ones" if limited else tokens
        advice = "" if tokens == "characters" else ", or --tokens characters"
        raise ValueError(
            f"{U.where}: {alike} of {len(U)} texts are no labelled ones, but have the same {seen} in the same "
            f"numbers as one, so no method can separate them; expected texts that differ in them{advice}"
        )


def _audit(context: typer.Context, pair: Pair, incoming: Rows | None, seed: int) -> Section:
    """Return the audit of the files, for the head of the page."""
    from puoc.cli.read_options import commands
    from puoc.datasets.audit.result import Audited
    from puoc.datasets.readers.audit_unseen import UnseenRows
    from puoc.datasets.readers.preprocess import TablePreparing
    from puoc.datasets.readers.row_audit import kin_of_pair
    from puoc.userdata.assess.audit_page import section
    from puoc.userdata.assess.column_effect import drawn_from, effects_of, places_of

    audited = pair.audited or Audited(n_p=len(pair.X_p), n_u=len(pair.unlabelled or ()), tests=0, columns=())
    audited = audited.model_copy(update={"kin": kin_of_pair(pair, incoming)})
    effects = None
    if isinstance(pair.preparing, TablePreparing) and pair.X_u is not None and audited.columns:
        with working("what leaving columns out does"):
            sample = drawn_from(pair.X_p, pair.X_u, places_of(pair.preparing), audited, seed)
            effects = effects_of(sample, audited, seed)
    unseen = []
    if incoming is not None and incoming.unseen is not None:
        unseen = [UnseenRows(group="incoming", trained_on="P and U", found=incoming.unseen)]
    return section(audited, commands(context), differences=pair.differences, effects=effects, unseen=unseen)


def _shift_by_saving(pair: Pair, incoming: Rows) -> list[str]:
    """Return a note if the incoming rows were saved in another way than U, which looks like a shift."""
    from puoc.datasets.readers.file_differences import between
    from puoc.datasets.readers.raw_table import RawTable

    assert pair.unlabelled is not None, "a file of unlabelled rows was given"
    here, there = pair.unlabelled.raw, incoming.raw
    if isinstance(here, RawTable) or isinstance(there, RawTable):
        return []
    seen = between(here, there, pair.how).seen
    return [f"the incoming rows were saved in another way than U, which looks like a shift: {one}" for one in seen]


def _print(assessment: Assessment) -> None:
    for line in assessment.lines():
        say(line)


def _print_json(
    assessment: Assessment, files: dict[str, str | None], pair: Pair, notes: list[str], audit: Section
) -> None:
    from json import dumps

    profile = [column.canonical() for column in pair.profile]
    document = {**assessment.model_dump(mode="json"), "files": files, "profile": profile, "reading": notes}
    document["audit"] = audit.audited.model_dump(mode="json")
    document["effects"] = None if audit.effects is None else audit.effects.model_dump(mode="json")
    document["unseen"] = [one.rows.model_dump(mode="json") for one in audit.unseen]
    document["file_differences"] = [one.model_dump(mode="json") for one in pair.differences]
    typer.echo(dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
