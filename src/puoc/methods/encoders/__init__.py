"""What a method sees of stored rows: an encoder between the two.

Plain ones (``flatten``, or none for the raw rows) fit nothing. Others are classes with hyperparameters, one file each,
fitted on a sample's labelled positives; each file registers itself.
"""

from __future__ import annotations

from typing import Protocol

from puoc.methods.training import from_params as making
from puoc.methods.training.estimator import Encoder
from puoc.records import Array, Params
from puoc.registry import ENCODERS

__all__ = ["ENCODERS", "PLAIN", "Encodes", "inputs_of", "make", "normalise", "plain"]

PLAIN = ("flatten",)


class Encodes(Protocol):
    """Anything that turns rows into what a method sees; no row influences another."""

    def encode(self, X: Array) -> Array:
        """Rows (n, *shape) encoded."""


class _Raw:
    def encode(self, X: Array) -> Array:
        return X


class _Flatten:
    def encode(self, X: Array) -> Array:
        return X.reshape(len(X), -1)


def plain(name: str | None) -> Encodes:
    """An encoder that fits nothing: ``flatten`` gives (n, d), None the rows as they are.

    Raises
    ------
    ValueError : unknown encoder.
    """
    if name is None:
        return _Raw()
    if name not in PLAIN:
        raise ValueError(f"unknown encoder {name!r}; known: {', '.join(PLAIN)}, or none for the raw rows")
    return _Flatten()


def make(name: str, params: Params) -> Encoder:
    """A fitted kind of encoder with its hyperparameters, not yet fitted. Raises ValueError as ``making.make``."""
    made: Encoder = making.make(ENCODERS, name, params)
    return made


def normalise(name: str, params: Params) -> Params:
    """Validated hyperparameters as plain JSON types, as ``making.normalise``. Raises ValueError as ``make``."""
    return making.normalise(ENCODERS, name, params)


def inputs_of(encoder: str | None, inputs: str) -> str:
    """Which inputs a method sees: ``image``, ``vector``, ``sequence`` or ``text``.

    Parameters
    ----------
    encoder : a plain encoder or the registered name of a fitted one; None for the raw rows.
    inputs : what the dataset gives.

    Raises
    ------
    ValueError : unknown encoder, or one that does not take these inputs.
    """
    if encoder is None:
        return inputs
    taken = ENCODERS[encoder].inputs if encoder in ENCODERS else ("image", "vector")
    if encoder not in ENCODERS:
        plain(encoder)
    if inputs not in taken:
        raise ValueError(f"encoder {encoder!r} takes {' or '.join(sorted(taken))} rows, got {inputs}")
    return getattr(ENCODERS.get(encoder), "gives", "vector")
