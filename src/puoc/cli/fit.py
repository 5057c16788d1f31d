"""``puoc fit``: fit a method to user data, and write a model file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from puoc.cli.console import (
    check_free,
    check_writable,
    exit_on_invalid_input,
    exit_on_storage_error,
    folders_as_before,
    path_errors,
    say,
    warn,
    working,
)
from puoc.cli.data_profile import check_overlap, print_profile, warn_of_biased_threshold
from puoc.cli.output import result
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
from puoc.cli.recommended import check_unspecific, method_of, recommended
from puoc.cli.threshold_options import WITHHOLDING, check_within, threshold_rule

_WITHHELD_SHARE = 0.2  # default share of the positives that is withheld
_WITH_PRIOR = "pu_svm"  # a method that takes every --prior
_NOTHING_WRITTEN = "nothing was written"
#: Suffixes that promise something else than a model file.
_OTHER_SUFFIXES = (
    *(".csv", ".tsv", ".txt", ".parquet", ".json", ".yaml", ".yml", ".html", ".htm", ".xlsx", ".pdf", ".zip", ".gz"),
    *(".png", ".jpg", ".jpeg", ".py", ".md", ".pkl", ".pickle", ".joblib", ".pt", ".pth", ".onnx", ".npy", ".npz"),
)


def fit(
    context: typer.Context,
    method: Annotated[
        str | None,
        typer.Option(help="A method, or an entry of the settings file. Default: what puoc assess recommends."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The model file to write; it must not exist yet.")] = None,
    positives: Positives = None,
    unlabelled: Unlabelled = None,
    data: Data = None,
    test: Annotated[Path | None, typer.Option(help="Labelled test rows; puoc prints the AUC on them.")] = None,
    label: Annotated[str | None, typer.Option(help="The column of --data and --test that holds the labels.")] = None,
    positive: PositiveLabel = None,
    kind: Kind = None,
    text: TextColumn = None,
    params: Annotated[list[str] | None, typer.Option(help="A hyperparameter, name=value; may be repeated.")] = None,
    settings: Annotated[
        Path | None, typer.Option(help="A params file or profile whose entries --method can name.")
    ] = None,
    prior: Annotated[
        str | None, typer.Option(help="Share of positives in U, or the name of an estimator. Default: tice.")
    ] = None,
    encoder: Annotated[
        str | None, typer.Option(help="flatten, components, autoencoder, imagenet, or an encoder of --settings.")
    ] = None,
    seed: Seed = 0,
    by_alpha: Annotated[
        bool, typer.Option("--by-alpha", help="Set the threshold so that a share alpha of U is called positive.")
    ] = False,
    recall: Annotated[
        float | None,
        typer.Option(help="Set the threshold so that this share of new positives reaches it, as 0.9; in (0, 1)."),
    ] = None,
    false_alarms: Annotated[
        float | None,
        typer.Option(help="Set the threshold so that at most this share of new negatives reaches it; in (0, 1)."),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(help="Set the threshold so that this share of the new rows that reach it is positive; in (0, 1)."),
    ] = None,
    alpha_interval: Annotated[
        str | None,
        typer.Option(help="LOW,HIGH: interval of the share of positives in U, for --false-alarms and --precision."),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            help="Promise what is asked for with this confidence, as 0.95. Default: --recall holds on average, "
            "--false-alarms and --precision at 0.95."
        ),
    ] = None,
    miss_rate: Annotated[str | None, typer.Option(hidden=True)] = None,
    withhold: Annotated[
        float | None,
        typer.Option(help="Share of positives withheld from training for such a threshold. Default: 0.2."),
    ] = None,
    repeats: Annotated[
        str | None,
        typer.Option(
            help="together: equal positives are copies, withheld together. apart: they are separate observations."
        ),
    ] = None,
    drop: Drop = None,
    category: Category = None,
    number: Number = None,
    missing: Missing = None,
    scaling: Annotated[str, typer.Option(help="Scaling of numeric columns: minmax or standard.")] = "minmax",
    pixels: Pixels = None,
    words: Annotated[int, typer.Option(help="Number of words that represent a text.")] = 500,
    tokens: TextTokens = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    allow_overlap: Annotated[
        bool, typer.Option("--allow-overlap", help="Continue even if test rows are also training rows.")
    ] = False,
    allow_file_differences: AllowFileDifferences = False,
    ranking_check: Annotated[
        bool, typer.Option(help="Fit two more models to halves of the rows, to check the ranking of positives.")
    ] = True,
    mlflow: Annotated[Path | None, typer.Option(help="Also write an MLflow model to this folder.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Read, profile and audit the data without fitting or writing.")
    ] = False,
) -> None:
    """Fit a method to your data and write a model file for puoc score."""
    with exit_on_invalid_input(), exit_on_storage_error(_NOTHING_WRITTEN), path_errors(), full_answers(context):
        if out is None and not check:
            raise ValueError("--out: the model file to write is missing; expected --out MODEL, or --check")
        _check_apart(out, mlflow)
        check_free(out, mlflow)
        _check_suffix(out)
        check_writable("--out", out)
        check_writable("--mlflow", mlflow)
        if miss_rate is not None:
            raise ValueError(
                f"--miss-rate: got {miss_rate}, and there is no such option; expected --recall, which bounds missed "
                "positives. Use --recall 0.9 in place of --miss-rate 0.1"
            )
        rule = threshold_rule(by_alpha, recall, false_alarms, precision, confidence, alpha_interval)
        if withhold is not None and not rule.withholds:
            raise ValueError(f"--withhold: got {withhold:g} without {WITHHOLDING}, which alone use withheld rows")
        if withhold is not None and not 0 < withhold < 1:
            raise ValueError(f"--withhold: got {withhold:g}; expected a share in (0, 1)")
        if repeats is not None and not rule.withholds:
            raise ValueError(f"--repeats: got {repeats!r} without {WITHHOLDING}, which alone use withheld rows")
        if repeats not in (None, "together", "apart"):
            raise ValueError(f"--repeats: got {repeats!r}; expected together or apart")
        if mlflow is not None:
            from puoc.store.extras import check_installed

            check_installed("mlflow")
        from puoc.datasets.readers import read_pair
        from puoc.userdata.kept_apart import learns_from_u, rows_to_choose_by
        from puoc.userdata.settings import settings as read_settings

        how = how_given(context)
        if method is None:
            check_unspecific(params, encoder, settings, has_unlabelled=not (unlabelled is None and data is None))
        read_method = partial(
            read_settings,
            prior=prior,
            file=settings,
            needs_prior=by_alpha or (rule.flags and rule.alpha is None),
            may_use_prior=rule.withholds,
        )
        # a wrong --prior is refused before the rows are assessed, whatever the method will be
        named = read_method(method or _WITH_PRIOR, given=params or (), encoder=encoder)
        if prior is not None and rule.alpha is not None and isinstance(named.prior, float):
            check_within(named.prior, rule.alpha)
        method_settings = None if method is None else named
        from_positives = method_settings is not None and not learns_from_u(method_settings)
        with working("reading"):
            pair = read_pair(
                positives,
                unlabelled,
                how,
                data=data,
                test=test,
                from_positives=from_positives,
                withhold=0.0 if not rule.withholds else _WITHHELD_SHARE if withhold is None else withhold,
                seed=seed,
                repeats=repeats,  # type: ignore[arg-type]
            )
        print_profile(pair)
        audited = check_overlap(pair, allow_overlap)
        if method_settings is None:
            chosen = recommended(rows_to_choose_by(pair, rule, seed), seed)
            method_settings = method_of(chosen, read_method, prior, rule)
        method_settings = method_settings.for_inputs(pair.preparing.inputs)
        if repeats != "apart":  # with "apart", new positives equal training rows just as often
            warn_of_biased_threshold(audited, from_positives)
        if method_settings.encoder:
            used = method_settings.encoder
            say(f"encoder: {used if isinstance(used, str) else f'{used.name} {used.params}'}")
        values = ", ".join(f"{name}={value}" for name, value in method_settings.params.items())
        say(f"{method_settings.method}: {values}  ({method_settings.source})")
        from puoc.store.steps import shown_by
        from puoc.userdata import fit as fitting
        from puoc.userdata.table_means import note_on

        beside_knn = note_on(method_settings, pair.preparing)
        notes = [] if beside_knn is None else [beside_knn]
        for note in notes:
            say(note)
        fitting.check(pair, method_settings, rule)
        if check:
            say("nothing was fitted: --check")
            checked = dict(method_settings.params)
            result(model=None, bytes=0, method=method_settings.method, params=checked, test_auc=None, notes=notes)
            return
        with working("fit") as shown, shown_by(shown):
            model = fitting.fit(
                pair,
                method_settings,
                seed=seed,
                rule=rule,
                marks=(*audited.marks, *pair.marks),
                overlapping=audited.overlapping,
                check_ranking=ranking_check,
            )
    for note in model.notes:
        say(note)
    if model.test_auc is not None:
        marks = (*audited.marks, *pair.marks)
        warnings = f"  [{'; '.join(marks)}]" if marks else ""
        say(f"AUC on the test rows: {model.test_auc:.4f}{warnings}")
        for note in model.test_notes:
            say(note)
    assert out is not None, "checked above"
    _write(out, model.content, mlflow)
    result(
        model=out,
        bytes=len(model.content),
        method=method_settings.method,
        params=dict(method_settings.params),
        test_auc=model.test_auc,
        notes=[*notes, *model.notes, *model.test_notes],
    )
    warn(model.warning)


def _check_suffix(out: Path | None) -> None:
    """Raise a ValueError for a model file that is named as another kind of file."""
    if out is not None and out.suffix.lower() in _OTHER_SUFFIXES:
        raise ValueError(
            f"--out: got {out}, and {out.suffix} is the name of another kind of file; expected a name without a "
            f"suffix, or {out.with_suffix('.safetensors')}"
        )


def _check_apart(out: Path | None, mlflow: Path | None) -> None:
    """Raise a ValueError if the model file and the MLflow folder are equal or one lies inside the other."""
    if out is None or mlflow is None:
        return
    file, folder = out.resolve(), mlflow.resolve()
    if file == folder:
        raise ValueError(f"--mlflow: got {mlflow}, which is also the path of --out; expected another path")
    if file in folder.parents or folder in file.parents:
        inner, outer = ("--out", "--mlflow") if folder in file.parents else ("--mlflow", "--out")
        raise ValueError(f"{inner}: got a path below that of {outer} ({out}, {mlflow}); expected another path")


def _write(out: Path, content: bytes, mlflow: Path | None) -> None:
    from puoc.store.atomic import create

    with exit_on_invalid_input(), exit_on_storage_error(_NOTHING_WRITTEN), folders_as_before(out):
        if not create(out, content):
            raise ValueError(f"{out}: another process has written this file in the meantime; name another path")
    if mlflow is not None:
        from puoc.reporting.tracking.models import save_folder

        missing = f"the model {out} was written, but the folder {mlflow} was not"
        with exit_on_storage_error(missing), folders_as_before(mlflow):
            save_folder(out, mlflow)
        say(f"MLflow model: {mlflow}")
    say(f"model: {out} ({len(content)} bytes)")
