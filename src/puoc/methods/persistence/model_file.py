"""A fitted model as one safetensors file: arrays, and JSON in its header. Reading it runs no code from the file.

The file has everything that a score needs: the method and its hyperparameters, the fitted arrays, and the steps from
stored values to the rows that the method sees (scale, then encoder, which may be fitted too).
"""

from __future__ import annotations

import dataclasses
import json
import struct
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python
from safetensors import SafetensorError
from safetensors.numpy import load as read_arrays
from safetensors.numpy import save as write_arrays

from puoc.methods.training.estimator import Encoder, Estimator
from puoc.methods.training.fitting import score_in_chunks
from puoc.records import Array, JsonObject, Params, Record, canonical_json

if TYPE_CHECKING:
    import pandas as pd

    from puoc.datasets.readers import Preparing
    from puoc.methods.encoders import Encodes

FORMAT: Final = "puoc-model"
VERSION: Final = 1

_ENCODER_PREFIX = "encoder:"  # of the names of a fitted encoder's arrays
_OMITTED_IF_EMPTY = ("prepared", "threshold", "marks")  # models of user data have them
_KEY = "puoc"  # only one key: the order of several would differ from process to process, and with it the file's name


class FittedEncoder(BaseModel):
    """In the header: an encoder whose arrays are in the file too."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    params: Params


class Threshold(Record):
    """Score from which a row is called positive, and what it is based on."""

    by: str  # alpha, or false_alarm_rate
    asked: float  # the share of U to be called positive, or the largest rate of missed positives
    value: float  # rows with this score or a higher one are called positive
    rows: int  # scored to find it: unlabelled rows, or withheld positives
    share: float  # of those rows that it calls positive


class Meta(BaseModel):
    """The JSON in the header."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["puoc-model"] = FORMAT
    version: Literal[1] = VERSION
    method: str
    params: Params  # validated hyperparameters
    encoder: str | FittedEncoder | None = None  # absent: the method sees the scaled rows
    shape: tuple[int, ...]  # of one stored row
    dtype: str  # of stored values
    scale: float = Field(gt=0)  # divisor that maps stored values to [0, 1]
    numerics: Literal["fp32", "bf16"] = "fp32"  # of the training
    versions: dict[str, str] = {}  # of the libraries that trained it
    contains_training_rows: bool = False  # as support vectors or a memory bank, which matters if rows are private
    about: JsonObject = {}  # free notes of the program that fitted the model
    prepared: JsonObject | None = None  # from a user's files to rows: puoc.datasets.readers.Preparing
    threshold: Threshold | None = None  # absent: the model gives scores only
    marks: tuple[str, ...] = ()  # warnings that belong to every score: overlap with the test rows that was allowed


class Model(NamedTuple):
    """A fitted model, ready to score."""

    estimator: Estimator
    encoder: Encodes  # from scaled rows to what the estimator sees
    meta: Meta


def dump(estimator: Estimator, meta: Meta, encoder: Encoder | None = None) -> bytes:
    """Return the file's bytes; equal models give equal bytes.

    Parameters
    ----------
    meta : the header.
    encoder : a fitted one; it takes the place of ``meta.encoder``.

    Raises
    ------
    ValueError : an array of the model is not numeric.
    """
    if encoder is not None:
        meta = meta.model_copy(update={"encoder": FittedEncoder(name=encoder.name, params=_fields(encoder))})
    header = meta.model_dump(mode="json")
    header = {key: value for key, value in header.items() if key not in _OMITTED_IF_EMPTY or value}
    arrays = {key: _contiguous(key, value) for key, value in estimator.state().items()}
    if encoder is not None:
        arrays |= {f"{_ENCODER_PREFIX}{key}": _contiguous(key, value) for key, value in encoder.state().items()}
    return bytes(write_arrays(arrays, {_KEY: canonical_json(header)}))


def load(source: Path | str | bytes) -> Model:
    """Load the estimator, its encoder and the header.

    Raises
    ------
    ValueError : not a model file, an unknown format, or hyperparameters that the method does not take.
    """
    content, name = _content(source)
    meta = _header(content, name)
    try:
        arrays = read_arrays(content)
    except SafetensorError as error:
        raise ValueError(f"{name}: the arrays are damaged ({error}); a whole safetensors file expected") from error
    encoder_keys = [key for key in arrays if key.startswith(_ENCODER_PREFIX)]
    encoder = _encoder(meta, {key.removeprefix(_ENCODER_PREFIX): arrays.pop(key) for key in encoder_keys})
    encoded_shape = encoder.encode(np.zeros((1, *meta.shape), dtype=np.float32)).shape[1:]
    return Model(_make(meta.method, meta.params).restore(arrays, encoded_shape), encoder, meta)


def _encoder(meta: Meta, arrays: dict[str, Array]) -> Encodes:
    from puoc.methods import encoders

    encoder = meta.encoder
    if not isinstance(encoder, FittedEncoder):
        return encoders.plain(encoder)
    return encoders.make(encoder.name, encoder.params).restore(arrays, meta.shape)


def _make(name: str, params: Params) -> Estimator:
    """Make a method, or an encoder, whose file has the same format."""
    from puoc import methods
    from puoc.methods import encoders

    return encoders.make(name, params) if name in encoders.ENCODERS else methods.make(name, params)


def read_meta(source: Path | str | bytes) -> Meta:
    """Read only the header, and neither the method nor the arrays. Raises ValueError as ``load``."""
    if isinstance(source, bytes):
        return _header(source, "model")
    with Path(source).open("rb") as file:
        start = file.read(8)
        return _header(start + file.read(_length(start)), str(source))


def score(model: Model, X: Array) -> NDArray[np.float64]:
    """Score stored rows; shape (n,), float64 for every method, higher = more likely positive.

    Parameters
    ----------
    X : (n, *shape) rows as stored: integers if the training rows were integers, not yet divided by the scale.

    Raises
    ------
    ValueError : rows of another shape, values that are not finite, or fractions where stored integers are expected.
    """
    meta = model.meta
    X = np.asarray(X)
    if X.ndim == 0 or X.shape[1:] != meta.shape:
        raise ValueError(f"rows have shape {X.shape[1:]}, {meta.shape} expected by this model of {meta.method}")
    return score_rows(model.estimator, model.encoder, X, meta.dtype, meta.scale)


def score_rows(estimator: Estimator, encoder: Encodes, X: Array, dtype: str, scale: float) -> NDArray[np.float64]:
    """Score stored rows with a model that is not in a file yet; ``dtype`` and ``scale`` as in its header."""

    def encoded(part: slice) -> Array:
        return encoder.encode(_checked(X[part], dtype) / np.float32(scale))

    return score_in_chunks(estimator, len(X), encoded).astype(np.float64)


def preparing(meta: Meta) -> Preparing | None:
    """Return the fitted steps from a user's files to rows; None for a model of a dataset.

    Raises
    ------
    ValueError : the header has another form of them.
    """
    if meta.prepared is None:
        return None
    from puoc.datasets.readers import Preparing

    try:
        return TypeAdapter[Preparing](Preparing).validate_python(meta.prepared)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise ValueError(f"header field 'prepared': {reason}; another version of puoc wrote it") from error


def example(meta: Meta) -> pd.DataFrame | None:
    """Return a frame of one invented row for ``preparing``; None for a model that takes arrays."""
    steps = preparing(meta)
    return None if steps is None else steps.example()


def as_rows(X: Array, meta: Meta) -> Array:
    """Return rows of shape (n, *shape) from rows of that shape or of shape (n, number of values of a row)."""
    flat = X.ndim == 2 and X.shape[1:] != meta.shape and X.shape[1] == prod(meta.shape)
    return X.reshape(len(X), *meta.shape) if flat else X


def _checked(rows: Array, dtype: str) -> NDArray[np.float32]:
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"rows hold {rows.dtype}, numbers ({dtype}) expected")
    if rows.dtype.kind == "f":
        if not np.isfinite(rows).all():
            raise ValueError("rows hold NaN or infinite values, finite numbers expected; drop or fill those rows")
        if np.dtype(dtype).kind in "biu" and not np.array_equal(rows, np.rint(rows)):
            raise ValueError(f"rows hold fractions, stored values ({dtype}) expected: do not scale them beforehand")
    return rows.astype(np.float32, order="C")  # a frame's columns lie apart, and sums over them round otherwise


def _fields(estimator: Estimator) -> Params:
    if not dataclasses.is_dataclass(estimator):
        return {}
    values = {field.name: getattr(estimator, field.name) for field in dataclasses.fields(estimator)}
    return {name: to_jsonable_python(value) for name, value in values.items() if value is not None}


def _contiguous(key: str, value: Array) -> Array:
    array = np.asarray(value, order="C")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"array {key!r} of the model holds {array.dtype}, numbers expected")
    return array


def _content(source: Path | str | bytes) -> tuple[bytes, str]:
    return (source, "model") if isinstance(source, bytes) else (Path(source).read_bytes(), str(source))


def _length(start: bytes) -> int:
    """Return the length of the header: the first eight bytes of a safetensors file, little endian."""
    return int(struct.unpack("<Q", start)[0]) if len(start) == 8 else 0


def _header(content: bytes, name: str) -> Meta:
    try:
        header = json.loads(content[8 : 8 + _length(content[:8])])
        values = json.loads(header["__metadata__"][_KEY])
    except (ValueError, KeyError, TypeError) as error:
        expected = f"expected a safetensors file with {_KEY!r} in its header"
        raise ValueError(f"{name}: not a model file of puoc; {expected}") from error
    if not isinstance(values, dict) or (values.get("format"), values.get("version")) != (FORMAT, VERSION):
        got = f"{values.get('format')} version {values.get('version')}" if isinstance(values, dict) else repr(values)
        raise ValueError(f"{name}: format {got}, {FORMAT} version {VERSION} expected; a newer puoc may read it")
    try:
        return Meta.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{name}: header field {place!r}: {first['msg']}, got {first.get('input')!r}") from error
