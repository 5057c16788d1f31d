"""A fitted model as one safetensors file: arrays, and JSON in its header. Reading it runs no code from the file.

The file has everything that a score needs: the method and its hyperparameters, the fitted arrays, and the steps from
stored values to the rows that the method sees (scale, then encoder, which may be fitted too).
"""

from __future__ import annotations

import dataclasses
import sys
from contextlib import nullcontext
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python
from safetensors import SafetensorError
from safetensors.numpy import load as read_arrays
from safetensors.numpy import save as write_arrays

from puoc.methods.persistence.header import (
    KEY,
    FittedEncoder,
    Meta,
    Threshold,
    fault,
    open_regular,
    parse_header,
    read_header,
)
from puoc.methods.training.estimator import Encoder, Estimator
from puoc.methods.training.fitting import score_in_chunks
from puoc.records import Array, Params, canonical_json

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import pandas as pd

    from puoc.datasets.readers import Preparing
    from puoc.methods.encoders import Encodes

__all__ = ["FittedEncoder", "Meta", "Model", "Threshold", "dump", "load", "read_meta", "score", "score_rows"]

_ENCODER_PREFIX = "encoder:"  # of the names of a fitted encoder's arrays
_OMITTED_IF_EMPTY = ("prepared", "threshold", "ranking", "marks")  # models of user data have them
_TRIED_VALUES = 1 << 20  # of a row that is scored when a file is loaded; a larger row takes too long
_MAX_SIDE = 4096  # of what an encoder makes of a row, as far as a hyperparameter sets it: pixels, or words of a text


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
    return bytes(write_arrays(arrays, {KEY: canonical_json(header)}))


def load(source: Path | str | bytes) -> Model:
    """Load the estimator, its encoder and the header.

    Raises
    ------
    ValueError : not a model file, an unknown format, hyperparameters that the method does not take, or arrays that do
        not make a model of it. Nothing larger than the file is allocated before it is checked.
    """
    content, name = _content(source)
    meta = parse_header(content, len(content), name)
    try:
        arrays = read_arrays(content)
    except SafetensorError as error:
        raise ValueError(f"{name}: the arrays are damaged ({error}); a whole safetensors file expected") from error
    for key, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name}: array {key!r} has values that are NaN or infinite; finite values expected")
    _check_prepared(meta, name)
    try:
        model = _restored(meta, arrays)
        if prod(meta.shape) <= _TRIED_VALUES:
            _check_scores(model)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    except (TypeError, LookupError, ArithmeticError, RuntimeError, AttributeError, AssertionError) as error:
        raise ValueError(
            f"{name}: the arrays do not make a model of {meta.method} for rows of shape {meta.shape} "
            f"({type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else 'no reason given'}); "
            "expected a file that puoc wrote"
        ) from error
    return model


def _restored(meta: Meta, arrays: dict[str, Array]) -> Model:
    state = {key: value for key, value in arrays.items() if not key.startswith(_ENCODER_PREFIX)}
    of_encoder = {key.removeprefix(_ENCODER_PREFIX): arrays[key] for key in arrays.keys() - state.keys()}
    made = _make(meta.method, meta.params)
    with _without_memory():
        _encoder(meta, of_encoder)
    encoder = _encoder(meta, of_encoder)
    shape = _encoded_shape(meta, encoder)
    with _without_memory():
        _make(meta.method, meta.params).restore(state, shape)
    return Model(made.restore(state, shape), encoder, meta)


def _without_memory() -> AbstractContextManager[object]:
    """Return a context in which torch allocates nothing, to compare a network with the arrays before it is built."""
    if "torch" not in sys.modules:  # the method and the encoder are imported, so they need none
        return nullcontext()
    from puoc.methods.persistence.dry_run import without_memory

    return without_memory()


def _encoded_shape(meta: Meta, encoder: Encodes) -> tuple[int, ...]:
    if isinstance(encoder, Encoder) and (known := encoder.encoded_shape(meta.shape)) is not None:
        return known
    zeros = np.broadcast_to(np.float32(0), (1, *meta.shape))  # without memory
    return encoder.encode(zeros).shape[1:]


def _check_scores(model: Model) -> None:
    """Check that one row can be scored. Some methods compare their arrays with each other only there."""
    row = np.zeros((1, *model.meta.shape), np.float32)
    if row.ndim == 3:
        row[0, 0, 0] = 1  # a sequence of one step: its mask is 1 there
    scores = score_rows(model.estimator, model.encoder, row, "float32", 1.0)
    if scores.shape != (1,):
        raise ValueError(f"one row has scores of shape {scores.shape}; expected one score a row")


def _check_prepared(meta: Meta, name: str) -> None:
    """Check that the steps from a user's file give the rows that the model takes."""
    try:
        steps = preparing(meta)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    if steps is None:
        return
    got, expected = (steps.shape, steps.dtype, steps.scale), (meta.shape, meta.dtype, meta.scale)
    if got != expected:
        raise ValueError(
            f"{name}: header field 'prepared' makes rows of (shape, dtype, scale) {got}; expected {expected} as the "
            "rest of the header"
        )


def _encoder(meta: Meta, arrays: dict[str, Array]) -> Encodes:
    from puoc.methods import encoders

    encoder = meta.encoder
    if not isinstance(encoder, FittedEncoder):
        return encoders.plain(encoder)
    made = encoders.make(encoder.name, encoder.params)
    for key in ("pixels", "length"):
        value = encoder.params.get(key)
        if isinstance(value, int) and value > _MAX_SIDE:
            raise ValueError(f"encoder {encoder.name}: {key} is {value:,}; expected at most {_MAX_SIDE:,}")
    return made.restore(arrays, meta.shape)


def _make(name: str, params: Params) -> Estimator:
    """Make a method, or an encoder, whose file has the same format."""
    from puoc import methods
    from puoc.methods import encoders

    return encoders.make(name, params) if name in encoders.ENCODERS else methods.make(name, params)


def read_meta(source: Path | str | bytes) -> Meta:
    """Read only the header, and neither the method nor the arrays. Raises ValueError as ``load``."""
    if isinstance(source, bytes):
        return parse_header(source, len(source), "model")
    return read_header(Path(source))


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
        reason = fault(error.errors()[0])
        raise ValueError(f"header field 'prepared': {reason}; expected the form that puoc fit writes") from error


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
    if rows.size and np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        if rows.min() < limits.min or rows.max() > limits.max:
            raise ValueError(
                f"rows hold values from {rows.min():g} to {rows.max():g}; stored values ({dtype}) from {limits.min} to "
                f"{limits.max} expected"
            )
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
    if isinstance(source, bytes):
        return source, "model"
    with open_regular(Path(source)) as file:
        return file.read(), str(source)
