"""The header of a model file: its schema with limits, checked before anything is built or allocated from the file.

A file may be damaged or hostile. So no length, shape or name in it is believed: each is compared with the size of the
file or with a limit first.
"""

from __future__ import annotations

import json
import os
import struct
from math import prod
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator
from pydantic_core import ErrorDetails

from puoc.records import JsonObject, Params, Record
from puoc.store.regular_file import check_regular

FORMAT: Final = "puoc-model"
VERSION: Final = 1
KEY: Final = "puoc"  # only one key: the order of several would differ from process to process, and with it the name

MAX_VALUES = 1 << 26  # of one row; a picture of 4,700 x 4,700 pixels in colour has as many
_MAX_HEADER = 100_000_000  # bytes, as in safetensors
_MAX_NAME = 200  # characters
_LONGEST = 400  # characters of an explanation, which may repeat a wrong value
_SHOWN = 80  # characters of a wrong value in a message

#: Bytes of a value, by safetensors' names of types. Methods have no other arrays.
_SIZES = {
    **dict.fromkeys(("BOOL", "U8", "I8"), 1),
    **dict.fromkeys(("U16", "I16", "F16"), 2),
    **dict.fromkeys(("U32", "I32", "F32"), 4),
    **dict.fromkeys(("U64", "I64", "F64"), 8),
}

Name = Annotated[str, Field(min_length=1, max_length=_MAX_NAME)]
Side = Annotated[int, Field(ge=1, le=MAX_VALUES)]
DType = Literal[
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64"
]  # fmt: skip


class FittedEncoder(BaseModel):
    """In the header: an encoder whose arrays are in the file too."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    params: Params


class Threshold(Record):
    """Score from which a row is called positive, and what it is based on."""

    by: Literal["alpha", "recall", "false_alarms", "precision"]
    #: the share of U to be called positive, the smallest recall, the largest share of flagged negatives, or the
    #: smallest precision
    asked: float = Field(gt=0, lt=1)
    value: FiniteFloat  # rows with this score or a higher one are called positive
    rows: int = Field(ge=1)  # scored to find it: unlabelled rows, or withheld positives
    share: float = Field(ge=0, le=1)  # of those rows that it calls positive
    alerts: float | None = Field(None, ge=0, le=1)  # share of the unlabelled rows that it calls positive, if known
    confidence: float | None = Field(None, gt=0, lt=1)  # of the next number; absent in older files
    promised: float | None = Field(None, ge=0, le=1)  # bound of what was asked, at the confidence
    recall_low: float | None = Field(None, ge=0, le=1)  # 95 % interval of the recall, or its lower bound
    recall_high: float | None = Field(None, ge=0, le=1)
    alpha_low: float | None = Field(None, ge=0, lt=1)  # the interval of alpha that the bound is given
    alpha_high: float | None = Field(None, ge=0, lt=1)
    is_promise: bool | None = None  # False: it rests on one value of alpha, which nobody knows

    @model_validator(mode="before")
    @classmethod
    def _missed_positives_as_recall(cls, values: object) -> object:
        """Read older files, which name a recall of 0.9 as a false-alarm rate of 0.1."""
        if isinstance(values, dict) and values.get("by") == "false_alarm_rate":
            missed = values.get("asked")
            asked = round(1 - missed, 12) if isinstance(missed, int | float) else missed
            return values | {"by": "recall", "asked": asked}
        return values


class Ranking(Record):
    """How the method ranks labelled positives against unlabelled rows, none of which it learned from."""

    auc: float = Field(ge=0, le=1)
    low: float = Field(ge=0, le=1)  # of the 95 % interval
    high: float = Field(ge=0, le=1)
    positives: int = Field(ge=1)  # numbers of rows
    unlabelled: int = Field(ge=1)


class Meta(BaseModel):
    """The JSON in the header."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["puoc-model"] = FORMAT
    version: Literal[1] = VERSION
    method: Name
    params: Params  # validated hyperparameters
    encoder: Name | FittedEncoder | None = None  # absent: the method sees the scaled rows
    shape: tuple[Side, ...] = Field(min_length=1, max_length=4)  # of one stored row
    dtype: DType  # of stored values
    scale: FiniteFloat = Field(gt=0)  # divisor that maps stored values to [0, 1]
    numerics: Literal["fp32", "bf16"] = "fp32"  # of the training
    versions: dict[Name, Name] = {}  # of the libraries that trained it
    contains_training_rows: bool = False  # as support vectors or a memory bank, which matters if rows are private
    about: JsonObject = {}  # free notes of the program that fitted the model
    prepared: JsonObject | None = None  # from a user's files to rows: puoc.datasets.readers.Preparing
    threshold: Threshold | None = None  # absent: the model gives scores only
    ranking: Ranking | None = None  # absent: not checked, as with no unlabelled rows
    marks: tuple[str, ...] = ()  # warnings that belong to every score: overlap with the test rows that was allowed

    @model_validator(mode="after")
    def _row_within_limit(self) -> Self:
        if prod(self.shape) > MAX_VALUES:
            raise ValueError(
                f"field 'shape': a row of {self.shape} has {prod(self.shape):,} values; expected at most {MAX_VALUES:,}"
            )
        return self


def read_header(path: Path) -> Meta:
    """Read the header of a file, and neither the method nor the arrays. Raises ValueError as ``parse_header``."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(8)
        return parse_header(start + file.read(_length(start, size, str(path))), size, str(path))


def open_regular(path: Path) -> Any:
    """Open a file to read bytes. Raises ValueError for a folder, a pipe or a device, which may never end."""
    check_regular(path, "a model file")
    if path.is_dir():
        raise ValueError(f"{path}: a folder; expected a model file")
    return path.open("rb")


def parse_header(start: bytes, size: int, name: str) -> Meta:
    """Return the metadata of a model file whose header is sound.

    Parameters
    ----------
    start : the first bytes of the file, with the whole header.
    size : of the whole file in bytes.
    name : of the file, for messages.

    Raises
    ------
    ValueError : not a model file, an unknown format, a value outside the schema, or arrays that the file cannot hold.
    """
    end = 8 + _length(start[:8], size, name)
    expected = f"expected a safetensors file with {KEY!r} in its header"
    try:
        header = json.loads(start[8:end])
        values = json.loads(header.pop("__metadata__")[KEY])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{name}: not a model file of puoc; {expected}") from error
    except RecursionError as error:
        raise ValueError(f"{name}: not a model file of puoc: its JSON is nested too deeply; {expected}") from error
    for key, claim in header.items():
        _check_array(key, claim, size - end, name)
    if not isinstance(values, dict) or (values.get("format"), values.get("version")) != (FORMAT, VERSION):
        got = f"{values.get('format')} version {values.get('version')}" if isinstance(values, dict) else repr(values)
        raise ValueError(f"{name}: format {_short(got)}, {FORMAT} version {VERSION} expected; a newer puoc may read it")
    try:
        return Meta.model_validate_json(json.dumps(values), strict=True)  # JSON, so that lists may stand for tuples
    except (ValidationError, RecursionError) as error:
        reason = fault(error.errors()[0]) if isinstance(error, ValidationError) else "its JSON is nested too deeply"
        raise ValueError(f"{name}: header {reason}") from error


def fault(error: ErrorDetails) -> str:
    """Return a pydantic error as ``field 'threshold.by': expected ..., got ...``."""
    place = ".".join(str(part) for part in error["loc"])
    got = _short(repr(error.get("input")))
    if error["type"] == "missing":
        return f"field {place!r} is missing in {got}"
    message = error["msg"].removeprefix("Value error, ").replace("Input should be", "expected", 1)
    shown = "" if error["type"] == "value_error" else f", got {got}"
    return (f"field {place!r}: " if place else "") + message[:1].lower() + message[1:_LONGEST] + shown


def _length(start: bytes, size: int, name: str) -> int:
    """Return the length of the header, from the first eight bytes of a safetensors file, little endian."""
    length = int(struct.unpack("<Q", start)[0]) if len(start) == 8 else 0
    if length > min(size - 8, _MAX_HEADER):
        raise ValueError(
            f"{name}: not a model file of puoc: it claims a header of {length:,} bytes and has {size:,} bytes in all; "
            f"expected a whole safetensors file with a header of at most {_MAX_HEADER:,} bytes"
        )
    return length


def _check_array(key: str, claim: object, size: int, name: str) -> None:
    """Check that an array of the header has a known type and lies inside the file. ``size`` : bytes of all arrays."""
    where = f"{name}: array {_short(key)!r}"
    parts = claim if isinstance(claim, dict) else {}
    dtype, shape, offsets = (parts.get(part) for part in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or dtype not in _SIZES:
        raise ValueError(f"{where} has values of the type {_short(repr(dtype))}; expected one of {', '.join(_SIZES)}")
    whole = [
        isinstance(numbers, list) and all(type(number) is int and 0 <= number < 2**63 for number in numbers)
        for numbers in (shape, offsets)
    ]
    if not all(whole) or len(offsets) != 2:  # type: ignore[arg-type]
        raise ValueError(f"{where} has no shape and offsets of whole numbers; expected a safetensors file")
    if not 0 <= offsets[0] <= offsets[1] <= size:  # type: ignore[index]
        raise ValueError(f"{where} is at the bytes {offsets} of the data, of which the file has {size:,}; damaged")
    if prod(shape) * _SIZES[dtype] != offsets[1] - offsets[0]:  # type: ignore[arg-type, index]
        raise ValueError(
            f"{where} claims the shape {_short(str(shape))} of {dtype} in {offsets[1] - offsets[0]:,} bytes; "  # type: ignore[index]
            "expected a shape of that size"
        )


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
