"""A fitted model as one safetensors file: arrays, and JSON in its header. Reading it runs no code from the file.

Everything a score needs is in the file: the method and its hyperparameters, the fitted arrays, and the way from stored
values to what the method sees (scale, then encoder, which may itself be fitted).
"""

from __future__ import annotations

import dataclasses
import json
import struct
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load as read_arrays
from safetensors.numpy import save as write_arrays

from puoc.methods.training.estimator import Encoder, Estimator
from puoc.records import Array, canonical_json

if TYPE_CHECKING:
    from puoc.datasets.readers import Preparing
    from puoc.methods.encoders import Encodes

FORMAT: Final = "puoc-model"
VERSION: Final = 1
CHUNK = 4096  # rows encoded and scored at once

_OF_ENCODER = "encoder:"  # before the names of a fitted encoder's arrays
_OF_OWN_DATA = ("prepared", "threshold", "marks")  # left out where they say nothing
_KEY = "puoc"  # one key alone: the order of several would differ from process to process, and with it the file's name


class FittedEncoder(BaseModel):
    """In the header: an encoder whose arrays are in the file too."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    params: dict[str, Any]


class Model(NamedTuple):
    """A fitted model, ready to score."""

    estimator: Estimator
    encoder: Encodes  # from scaled rows to what the estimator sees
    meta: dict[str, Any]


class Meta(BaseModel):
    """The JSON in the header. ``dump`` adds the first four."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["puoc-model"] = FORMAT
    version: Literal[1] = VERSION
    method: str
    params: dict[str, Any]  # validated hyperparameters
    encoder: str | FittedEncoder | None  # absent: the method sees the scaled rows
    shape: tuple[int, ...]  # of one stored row
    dtype: str  # of stored values
    scale: float = Field(gt=0)  # divisor that maps stored values to [0, 1]
    numerics: Literal["fp32", "bf16"] = "fp32"  # of the training
    versions: dict[str, str] = {}  # of the libraries it was trained with
    contains_training_rows: bool = False  # as support vectors or a memory bank: think before you hand it on
    about: dict[str, Any] = {}  # whatever its maker wants to say: JSON
    prepared: dict[str, Any] | None = None  # from a user's own files to rows: puoc.datasets.readers.Preparing
    threshold: dict[str, Any] | None = None  # what it rests on, and its value; absent: the model gives scores alone
    marks: tuple[str, ...] = ()  # what a reader of its scores must know: overlap with the test that was allowed


def dump(estimator: Estimator, meta: dict[str, Any], encoder: Encoder | None = None) -> bytes:
    """The file's bytes; equal models give equal bytes.

    Parameters
    ----------
    meta : ``encoder``, ``shape``, ``dtype``, ``scale``; optional ``params`` (else the estimator's fields),
        ``numerics``, ``versions``, ``contains_training_rows``, ``about``. See ``Meta``.
    encoder : a fitted one; it takes the place of ``meta["encoder"]``.

    Raises
    ------
    ValueError : a key is missing, unknown or of a wrong type; an array of the model is not numeric.
    """
    known = {"method": estimator.name, "params": _fields(estimator)}
    if encoder is not None:
        meta = {**meta, "encoder": {"name": encoder.name, "params": _fields(encoder)}}
    header = _meta({**known, **meta}, f"model of {estimator.name}").model_dump(mode="json")
    header = {key: value for key, value in header.items() if key not in _OF_OWN_DATA or value}
    arrays = {key: _contiguous(key, value) for key, value in estimator.state().items()}
    if encoder is not None:
        arrays |= {f"{_OF_ENCODER}{key}": _contiguous(key, value) for key, value in encoder.state().items()}
    return bytes(write_arrays(arrays, {_KEY: canonical_json(header)}))


def load(source: Path | str | bytes) -> Model:
    """The estimator, its encoder and the header.

    Raises
    ------
    ValueError : no model file, a format we do not know, or hyperparameters the method does not take.
    """
    content, name = _content(source)
    meta = _header(content, name)
    try:
        arrays = read_arrays(content)
    except SafetensorError as error:
        raise ValueError(f"{name}: the arrays are damaged ({error}); a whole safetensors file expected") from error
    of_encoder = {key.removeprefix(_OF_ENCODER): arrays.pop(key) for key in list(arrays) if key.startswith(_OF_ENCODER)}
    encoder = _encoder(meta, of_encoder)
    seen = encoder.encode(np.zeros((1, *meta["shape"]), dtype=np.float32)).shape[1:]
    return Model(_make(meta["method"], meta["params"]).restore(arrays, seen), encoder, meta)


def _encoder(meta: dict[str, Any], arrays: dict[str, Array]) -> Encodes:
    from puoc.methods import encoders

    asked = meta["encoder"]
    if not isinstance(asked, dict):
        return encoders.plain(asked)
    return encoders.make(asked["name"], asked["params"]).restore(arrays, meta["shape"])


def _make(name: str, params: dict[str, Any]) -> Estimator:
    """A method, or an encoder, whose file has the same form."""
    from puoc import methods
    from puoc.methods import encoders

    return encoders.make(name, params) if name in encoders.ENCODERS else methods.make(name, params)


def read_meta(source: Path | str | bytes) -> dict[str, Any]:
    """The header alone: loads neither the method nor the arrays. Raises ValueError as ``load`` does."""
    if isinstance(source, bytes):
        return _header(source, "model")
    with Path(source).open("rb") as file:
        start = file.read(8)
        return _header(start + file.read(_length(start)), str(source))


def score(model: Model, X: Array) -> NDArray[np.float64]:
    """Score of stored rows, shape (n,), float64 whatever the method computes in; higher = more likely positive.

    Parameters
    ----------
    X : (n, *shape) rows as stored: integers where the training rows were integers, not yet divided by the scale.

    Raises
    ------
    ValueError : rows of another shape, values that are not finite, or fractions where stored integers are expected.
    """
    meta = model.meta
    X = np.asarray(X)
    shape = tuple(meta["shape"])
    if X.ndim == 0 or X.shape[1:] != shape:
        raise ValueError(f"rows have shape {X.shape[1:]}, {shape} expected by this model of {meta['method']}")
    return score_rows(model.estimator, model.encoder, X, meta["dtype"], meta["scale"])


def score_rows(estimator: Estimator, encoder: Encodes, X: Array, dtype: str, scale: float) -> NDArray[np.float64]:
    """The same with a model that is not in a file yet; ``dtype`` and ``scale`` as in its header."""
    scores = [np.empty(0)]
    for start in range(0, len(X), CHUNK):
        rows = _checked(X[start : start + CHUNK], dtype)
        scores.append(np.asarray(estimator.decision_function(encoder.encode(rows / np.float32(scale)))))
    return np.concatenate(scores).astype(np.float64)


def preparing(meta: dict[str, Any]) -> Preparing | None:
    """The fitted way from a user's files to rows; None for a model of a dataset.

    Raises
    ------
    ValueError : the header holds another form of it.
    """
    if meta["prepared"] is None:
        return None
    from puoc.datasets.readers import Preparing

    try:
        found: Preparing = TypeAdapter(Preparing).validate_python(meta["prepared"])
    except ValidationError as error:
        said = error.errors()[0]["msg"]
        raise ValueError(f"header field 'prepared': {said}; another version of puoc wrote it") from error
    return found


def example(meta: dict[str, Any]) -> Any:
    """A DataFrame of one made-up row, as ``preparing`` takes it; None for a model that takes arrays."""
    found = preparing(meta)
    return None if found is None else found.example()


def as_rows(X: Array, meta: dict[str, Any]) -> Array:
    """Rows of shape (n, *shape) from rows of that shape or from (n, number of values of a row)."""
    shape = tuple(meta["shape"])
    flat = X.ndim == 2 and X.shape[1:] != shape and X.shape[1] == prod(shape)
    return X.reshape(len(X), *shape) if flat else X


def _checked(rows: Array, dtype: str) -> NDArray[np.float32]:
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"rows hold {rows.dtype}, numbers ({dtype}) expected")
    if rows.dtype.kind == "f":
        if not np.isfinite(rows).all():
            raise ValueError("rows hold NaN or infinite values, finite numbers expected; drop or fill those rows")
        if np.dtype(dtype).kind in "biu" and not np.array_equal(rows, np.rint(rows)):
            raise ValueError(f"rows hold fractions, stored values ({dtype}) expected: do not scale them beforehand")
    return rows.astype(np.float32, order="C")  # a frame's columns lie apart, and sums over them round otherwise


def _fields(estimator: Estimator) -> dict[str, Any]:
    if not dataclasses.is_dataclass(estimator):
        return {}
    found = {field.name: getattr(estimator, field.name) for field in dataclasses.fields(estimator)}
    return {name: value for name, value in found.items() if value is not None}


def _contiguous(key: str, value: Array) -> Array:
    array = np.asarray(value, order="C")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"array {key!r} of the model holds {array.dtype}, numbers expected")
    return array


def _content(source: Path | str | bytes) -> tuple[bytes, str]:
    return (source, "model") if isinstance(source, bytes) else (Path(source).read_bytes(), str(source))


def _length(start: bytes) -> int:
    """Length of the header: a safetensors file begins with it, eight bytes, little endian."""
    return int(struct.unpack("<Q", start)[0]) if len(start) == 8 else 0


def _header(content: bytes, name: str) -> dict[str, Any]:
    try:
        header = json.loads(content[8 : 8 + _length(content[:8])])
        found = json.loads(header["__metadata__"][_KEY])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{name}: no model file of ours; a safetensors file with {_KEY!r} in its header expected"
        ) from error
    if not isinstance(found, dict) or (found.get("format"), found.get("version")) != (FORMAT, VERSION):
        got = f"{found.get('format')} version {found.get('version')}" if isinstance(found, dict) else repr(found)
        raise ValueError(f"{name}: format {got}, {FORMAT} version {VERSION} expected; a newer puoc may read it")
    return _meta(found, name).model_dump()


def _meta(values: dict[str, Any], name: str) -> Meta:
    try:
        return Meta.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{name}: header field {place!r}: {first['msg']}, got {first.get('input')!r}") from error
