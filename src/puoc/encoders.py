"""What stands between the stored rows and a method: ``encode(name, X)``. No name: the method sees the raw rows."""

from __future__ import annotations

from puoc.estimator import Array

ENCODERS = ("flatten",)


def inputs_of(encoder: str | None, inputs: str) -> str:
    """Which inputs a method sees: ``image``, ``vector`` or ``sequence``.

    Parameters
    ----------
    encoder : name of the encoder, or None for the raw rows.
    inputs : what the dataset gives.

    Raises
    ------
    ValueError : unknown encoder, or one that does not take these inputs.
    """
    if encoder is None:
        return inputs
    _check(encoder)
    if inputs not in ("image", "vector"):
        raise ValueError(f"encoder {encoder!r} takes images or vectors, got {inputs}")
    return "vector"


def encode(name: str | None, X: Array) -> Array:
    """Encode rows (n, *shape); ``flatten`` gives (n, d). Nothing is fitted, so no row influences another.

    Raises
    ------
    ValueError : unknown encoder.
    """
    if name is None:
        return X
    _check(name)
    return X.reshape(len(X), -1)


def _check(name: str) -> None:
    if name not in ENCODERS:
        raise ValueError(f"unknown encoder {name!r}; known: {', '.join(ENCODERS)}, or none for the raw rows")
