"""Encoders, which convert stored rows for a method.

Plain encoders (``flatten``, or none for the raw rows) are not fitted. The others are classes with hyperparameters, one
in each file, that are fitted to the labelled positives of a sample. Each file registers itself.
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
    """Any encoder of rows for a method; no row influences another."""

    def encode(self, X: Array) -> Array:
        """Encode rows (n, *shape)."""


class _Raw:
    def encode(self, X: Array) -> Array:
        return X


class _Flatten:
    def encode(self, X: Array) -> Array:
        return X.reshape(len(X), -1)


def plain(name: str | None) -> Encodes:
    """Return a plain encoder: ``flatten`` gives (n, d), None gives the rows unchanged.

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
    """Make an encoder with its hyperparameters, not yet fitted. Raises ValueError as ``making.make``."""
    made: Encoder = making.make(ENCODERS, name, params)
    return made


def normalise(name: str, params: Params) -> Params:
    """Return validated hyperparameters as plain JSON types, as ``making.normalise``. Raises ValueError as ``make``."""
    return making.normalise(ENCODERS, name, params)


def inputs_of(encoder: str | None, inputs: str) -> str:
    """Return the inputs of a method: ``image``, ``vector``, ``sequence`` or ``text``.

    Parameters
    ----------
    encoder : a plain encoder or the registered name of a fitted one; None for the raw rows.
    inputs : inputs of the dataset.

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
