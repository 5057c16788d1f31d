"""Sections of params.yaml: their keys, types and defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    SkipValidation,
    StrictInt,
)

from puoc.records import Prior


class Spec(BaseModel):
    """A section of params.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)


MAX_SEEDS = 1000  # each is planned with every cell and method, which takes half a millisecond


def _as_seeds(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("expected a number of seeds or a list of them")
    if isinstance(value, int):
        if value < 1:
            raise ValueError("expected at least 1 seed")
        if value > MAX_SEEDS:
            raise ValueError(f"expected at most {MAX_SEEDS:,} seeds")
        return tuple(range(value))
    if not isinstance(value, list | tuple):
        raise ValueError("expected a number of seeds or a list of them")
    if len(value) > MAX_SEEDS:
        raise ValueError(f"expected at most {MAX_SEEDS:,} seeds")
    return value


def _each_once(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) < len(seeds):
        raise ValueError("expected each seed once: a repeated seed gives the same results")
    return seeds


Seed = Annotated[StrictInt, Field(ge=0, lt=2**63)]
Seeds = Annotated[tuple[Seed, ...], BeforeValidator(_as_seeds), AfterValidator(_each_once), Field(min_length=1)]


def _as_prior(value: object) -> object:
    """Convert ``true`` (a boolean in YAML), ``{fixed: 0.4}``, or a key of the section priors."""
    if value is True or value == "true":
        return {"kind": "true"}
    if isinstance(value, dict) and set(value) == {"fixed"}:
        return {"kind": "fixed", "value": value["fixed"]}
    if isinstance(value, str):
        return value
    raise ValueError("expected true (the share in the draw), {fixed: NUMBER} or a key of the section priors")


# fmt: off
#: The paper's result tables, by the names of the files in analysis/paper/published. The text also makes claims about
#: figures (synth1, synth2; unl_alpha and unl_size: curves over alpha and |U|) and about U without negatives (collapse).
PublishedTable = Literal[
    "ova", "shift", "bird_shift", "shift_mecha", "shift_anima", "cntrs", "cntrs2", "abnormal", "lstm", "twitter",
    "pu_sotas", "oc_ova", "synth1", "synth2", "unl_alpha", "unl_size", "collapse",
]
#: Rows of these tables, by puoc's ids of the methods; none: the entry has no row in the paper.
PublishedRow = Literal[
    "oc_svm", "pu_svm", "oc_cnn", "pu_cnn", "oc_lstm", "pu_lstm", "csi", "pu_csi", "drocc", "pu_drocc", "hrn", "drpu",
    "pan", "vpu", "en", "dedpul", "nnpu", "nnpu_star", "none",
]
# fmt: on


def _as_value(value: object) -> object:
    """Convert a number or boolean to the text of a file, as in ``positive: 2``. The readers accept True as true."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        raise ValueError("expected a text: put it in quotes, as the file has it")
    return str(value) if isinstance(value, int | float) else value


def _as_name(value: object) -> object:
    """Convert a column's name like a value; a boolean is rejected, since the name may be true, True or TRUE."""
    if isinstance(value, bool):
        raise ValueError("expected a column's name: put it in quotes, as the file has it, such as 'true' or 'True'")
    return _as_value(value)


def _each(convert: Callable[[object], object]) -> Callable[[object], tuple[object, ...]]:
    return lambda value: tuple(map(convert, value if isinstance(value, list | tuple) else [value]))


def _as_separator(value: object) -> object:
    """Check that the separator is one character. A tab may be written as backslash and t, as in a command's option."""
    separator = "\t" if value == "\\t" else value
    if not isinstance(separator, str) or len(separator) != 1:
        raise ValueError("expected one character, such as ';', or '\\t' for a tab")
    return separator


Value = Annotated[str, BeforeValidator(_as_value)]
Values = Annotated[tuple[str, ...], BeforeValidator(_each(_as_value))]
Name = Annotated[str, BeforeValidator(_as_name)]
Names = Annotated[tuple[str, ...], BeforeValidator(_each(_as_name))]
#: Hyperparameters by name; their values are checked by the class of the method, encoder or prior.
Hyperparameters = dict[str, Annotated[JsonValue, SkipValidation]]
Separator = Annotated[str, BeforeValidator(_as_separator)]


class DatasetSpec(Spec):
    """User data: the files of P, U and test rows, and the options for reading them (see ``puoc.datasets.readers``)."""

    kind: Literal["table", "images", "texts"]
    positives: str | None = None  # files or folders below own/
    unlabelled: str | None = None
    data: str | None = None  # in place of both: a table with labels
    test: str | None = None  # with labels
    label: Name | None = None
    positive: Value | None = None
    text: Name | None = None
    separator: Separator | None = None
    decimal: Literal[".", ","] | None = None
    encoding: Value | None = None
    header: bool | None = None
    drop: Names = ()
    category: Names = ()
    number: Names = ()
    missing: Values = ()
    scaling: Literal["minmax", "standard"] = "minmax"
    pixels: StrictInt | None = Field(None, ge=8, le=1024)
    words: StrictInt = Field(500, ge=2, le=20_000)
    tokens: Literal["words", "characters"] | None = None
    prepared_from: Literal["positives", "all"] = "all"  # rows that give the scaling of columns and the words
    allow_file_differences: bool = False  # of P and U; adds a warning to every table
    allow_overlap: bool = False  # of test and training rows; adds a warning to every table


class EncoderSpec(Spec):
    """An encoder that is fitted."""

    encoder: str | None = None  # id of the encoder; default: the entry's name
    params: Hyperparameters
    ae_data: Literal["labelled_positives", "all_positives"] = "labelled_positives"
    source: str = "params.yaml"


class PriorSpec(Spec):
    """An estimator of the class prior, or a method that estimates it during training."""

    prior: str | None = None  # id of the estimator; default: the entry's name
    params: Hyperparameters
    encoder: str | None = None
    source: str = "params.yaml"


class MethodSpec(Spec):
    """An entry: a method, its hyperparameters, prior, encoder and labels. It is a row of a table."""

    method: str | None = None  # id of the method; default: the entry's name
    params: Hyperparameters  # hyperparameters, all of them
    #: hyperparameters that differ if only this class is positive, by dataset and class
    by_pos: dict[str, dict[Annotated[StrictInt, Field(ge=0)], Hyperparameters]] = {}
    prior: Annotated[Prior | str, BeforeValidator(_as_prior)] | None = None  # a text: a key of the section priors
    encoder: str | None = None  # flatten, or a key of the section encoders
    numerics: Literal["fp32", "bf16"] = "fp32"
    labels: Literal["pu", "oracle"] = "pu"
    source: str = "params.yaml"  # where the hyperparameters come from
    published_as: PublishedRow | None = None  # default: the row of its method


class TableSpec(Spec):
    """A table: methods in rows, the cells of a scenario in columns."""

    scenario: str
    dataset: str
    methods: tuple[str, ...] = Field(min_length=1)
    seeds: Seeds
    configs: Literal["published", "selected"]
    title: str | None = None
    published: PublishedTable | None = None  # the table of the paper with which it is compared


class TuneSpec(Spec):
    """A sweep over configurations of one entry of ``methods``."""

    scenario: str
    dataset: str
    seeds: Seeds
    space: str  # a space of tuning/spaces/<method>.yaml
    search: Literal["grid"]
    holdout: float = Field(gt=0, lt=1)  # share of P and U withheld for the selection
