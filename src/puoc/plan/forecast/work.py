"""Work of a fit in units that its seconds are proportional to, for costs measured at other sizes to be scaled by.

Of a network: rows that pass in training, as often as they do. Of an exact program: what its dearest step grows with.
"""

from __future__ import annotations

from math import prod
from typing import Literal, NamedTuple

from puoc.datasets import DATASETS
from puoc.methods.encoders import inputs_of
from puoc.records import Encoding, Fit, Params

#: A step of DROCC's search passes the second part of the network alone: so many passes of the whole one.
_ASCENT = 0.2
#: Networks that are one wide layer, whose units the time is proportional to.
_WIDE = ("oc_cnn", "pu_cnn")
_WIDTHS = {"resnet18": 512, "mobilenet_v2": 1280}  # values that a network's features have
_SMALL = 100  # values of a row below which their number is not what takes the time


class Work(NamedTuple):
    """What a fit is made of."""

    method: str
    variant: str  # of the program or network, where a method has several
    inputs: str  # what it sees: image, vector, sequence, text
    units: float

    @property
    def key(self) -> tuple[str, str, str]:
        """Fits with equal keys have costs per unit in common."""
        return self.method, self.variant, self.inputs


def work_of(fit: Fit) -> Work:
    """The work of training one fit."""
    inputs, values = seen(fit.encoder, fit.sample.dataset)
    params = fit.params
    variant = " ".join(str(params[key]) for key in ("solver", "kernel", "classifier", "net") if key in params)
    n_p, n_u = (n - round(fit.sample.holdout * n) for n in rows(fit))
    units = _units(fit.method, params, n_p, n_u, values, inputs)
    return Work(fit.method, variant, inputs, units)


def rows(fit: Fit) -> tuple[int, int]:
    """Rows of P and of U that a fit is given."""
    return fit.sample.n_pos_lab, (fit.sample.n_pos_unl or 0) + (fit.sample.n_neg_unl or 0)


def seen(encoder: str | Encoding | None, dataset: str) -> tuple[str, int]:
    """What a method sees of a dataset's rows: its inputs, and values a row (steps of a sequence)."""
    data = DATASETS[dataset]
    values = prod(data.shape)
    if encoder is None or isinstance(encoder, str):
        return inputs_of(encoder, data.inputs), values
    inputs = inputs_of(encoder.name, data.inputs)
    values //= whole(encoder.params, "values", 1)  # of a step
    for key in ("dimension", "length"):
        values = whole(encoder.params, key, values)
    return inputs, _WIDTHS.get(str(encoder.params.get("network")), values)


def _count(params: Params, key: str, default: int) -> int:
    value = params.get(key, default)
    assert isinstance(value, int), f"{key} is a number of values"
    return value


def row_scale(inputs: str, values: int) -> float:
    """How the cost of a row grows with its values: few of a vector cost as much as ``_SMALL``."""
    return float(max(values, _SMALL) if inputs == "vector" else values)


def _units(method: str, params: Params, n_p: int, n_u: int, values: int, inputs: str) -> float:
    scale = row_scale(inputs, values)
    if "epochs" in params:
        return passes(method, params, n_p, n_u) * scale
    if method == "oc_svm" or params.get("kernel") == "rbf":
        return float(n_p + n_u) ** 2 * scale
    return (n_p + n_u) * scale


def passes(method: str, params: Params, n_p: int, n_u: int) -> float:
    """Rows that pass a network in training, the steps of a search among them."""
    from puoc.methods.training.deep import batch_sizes

    batching = params.get("batching")
    by: Literal["p", "union", "equal"] = "p" if batching == "p" else "equal" if batching == "equal" else "union"
    steps = batch_sizes(n_p, n_u, whole(params, "batch_size"), by)
    p, u = sum(p for p, _ in steps), sum(u for _, u in steps)
    if "batch_size_u" in params and n_u:
        u = len(steps) * whole(params, "batch_size_u")
    found = float(whole(params, "epochs") * (p + u))
    if "ascent_steps" in params:
        searched = max(whole(params, "epochs") - whole(params, "warmup_epochs"), 0) * (u or p)
        found += _ASCENT * whole(params, "ascent_steps") * searched
    if method in _WIDE:
        found *= whole(params, "hidden")
    return found * max(whole(params, "folds", 1) - 1, 1)


def whole(params: Params, name: str, default: int | None = None) -> int:
    """Return a hyperparameter that is a whole number. Raises TypeError if it is none, or has no value."""
    value = params.get(name, default)
    if not isinstance(value, int):
        raise TypeError(f"{name}: got {value!r}; expected a whole number")
    return value
