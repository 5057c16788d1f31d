"""Work of a fit, in units that are proportional to its seconds, so that costs measured at other sizes can be scaled.

For a network, the work is the number of rows that pass through it in training. For an exact solver, it is the growth of
its most expensive step.
"""

from __future__ import annotations

from math import prod
from typing import Literal, NamedTuple

from puoc.datasets import DATASETS
from puoc.methods.encoders import inputs_of
from puoc.records import Encoding, Fit, Params

#: Cost of the start of DROCC's search, and of a step, in passes of the whole network. A step passes only the second
#: part, which is most of the network for a row of few values. Measured with 5 to 40 steps: .2 to .5 and .21 to .28 for
#: images of 28 x 28 pixels, .1 to .9 and .31 to .71 for vectors of 16 and 200 values.
_SEARCH = {"image": (0.3, 0.25), "vector": (0.6, 0.45)}
#: Networks with one wide layer; their time is proportional to its units.
WIDE = ("oc_cnn", "pu_cnn")
_WIDTHS = {"resnet18": 512, "mobilenet_v2": 1280}  # number of features of a network
_CHANNELS = 3  # of the images of which the costs were measured
_VARIANTS = ("solver", "kernel", "classifier", "detector", "net")  # hyperparameters that name what is computed
_MIN_VALUES = 100  # with fewer values in a row, the time does not depend on their number


class Work(NamedTuple):
    """Work of a fit, and the key of its cost."""

    method: str
    variant: str  # variant of the solver or network, if a method has several
    inputs: str  # kind of rows of the method: image, vector, sequence, text
    units: float

    @property
    def key(self) -> tuple[str, str, str]:
        """Return the key of the cost; fits with equal keys have the same cost per unit."""
        return self.method, self.variant, self.inputs


def work_of(fit: Fit) -> Work:
    """Return the work of training one fit."""
    inputs, _ = method_inputs(fit.encoder, fit.sample.dataset)
    params = fit.params
    variant = " ".join(str(params[key]) for key in _VARIANTS if key in params)
    n_p, n_u = (n - round(fit.sample.holdout * n) for n in rows(fit))
    units = _units(fit.method, inputs, params, (n_p, n_u), scale_of(fit))
    return Work(fit.method, variant, inputs, units)


def rows(fit: Fit) -> tuple[int, int]:
    """Return the numbers of rows of P and U of a fit."""
    return fit.sample.n_pos_lab, (fit.sample.n_pos_unl or 0) + (fit.sample.n_neg_unl or 0)


def method_inputs(encoder: str | Encoding | None, dataset: str) -> tuple[str, int]:
    """Return the kind of rows that a method gets, and the number of values in a row (steps of a sequence)."""
    data = DATASETS[dataset]
    values = prod(data.shape)
    if encoder is None or isinstance(encoder, str):
        return inputs_of(encoder, data.inputs), values
    inputs = inputs_of(encoder.name, data.inputs)
    values //= whole(encoder.params, "values", 1)  # values of a step
    for key in ("dimension", "length"):
        values = whole(encoder.params, key, values)
    return inputs, _WIDTHS.get(str(encoder.params.get("network")), values)


def _count(params: Params, key: str, default: int) -> int:
    value = params.get(key, default)
    assert isinstance(value, int), f"{key} is a number of values"
    return value


def row_scale(inputs: str, values: int) -> float:
    """Return the factor of a row's cost by its values; a vector costs at least as much as one of ``_MIN_VALUES``."""
    return float(max(values, _MIN_VALUES) if inputs == "vector" else values)


def scale_of(fit: Fit) -> float:
    """Return the factor of a row's cost by its size.

    A convolution takes its time for the pixels: the channels of an image count in its first layer alone. With
    ``drpu``, an epoch over 144 images of 128 x 128 pixels takes 1.1 s with one channel and 1.2 s with three.
    """
    inputs, values = method_inputs(fit.encoder, fit.sample.dataset)
    if inputs == "image" and fit.params.get("net") != "branches":  # these are linear
        return _pixel_scale(DATASETS[fit.sample.dataset].shape)
    return row_scale(inputs, values)


def frozen_scale(encoding: Encoding, dataset: str) -> float:
    """Return the factor of a row's cost in a frozen encoder, which may resize images."""
    data = DATASETS[dataset]
    if data.inputs != "image":
        return row_scale(data.inputs, prod(data.shape))
    side = encoding.params.get("pixels")
    return _pixel_scale((side, side) if isinstance(side, int) else data.shape)


def _pixel_scale(shape: tuple[int, ...]) -> float:
    return float(_CHANNELS * prod(shape[-2:]))


def _units(method: str, inputs: str, params: Params, rows: tuple[int, int], scale: float) -> float:
    n_p, n_u = rows
    if "epochs" in params:
        return passes(method, params, n_p, n_u, inputs) * scale
    if "trees" in params:
        return float(whole(params, "trees") * (n_p + n_u)) * scale
    if method == "oc_svm" or params.get("kernel") == "rbf" or {"k", "max_rows"} <= params.keys():  # of pairs
        return float(n_p + n_u) ** 2 * scale
    return (n_p + n_u) * scale


def passes(method: str, params: Params, n_p: int, n_u: int, inputs: str = "image") -> float:
    """Return the number of rows that pass through a network in training, including the steps of a search."""
    from puoc.methods.training.deep import batch_sizes

    if "trend_epochs" in params:  # of two networks, with as many rows of P as of U in a step
        return float((whole(params, "epochs") + whole(params, "trend_epochs")) * 2 * n_u)
    batching = params.get("batching")
    by: Literal["p", "union", "equal"] = "p" if batching == "p" else "equal" if batching == "equal" else "union"
    steps = batch_sizes(n_p, n_u, whole(params, "batch_size"), by)
    p, u = sum(p for p, _ in steps), sum(u for _, u in steps)
    if "batch_size_u" in params and n_u:
        u = len(steps) * whole(params, "batch_size_u")
    total = float(whole(params, "epochs") * (p + u))
    if "ascent_steps" in params:
        searched = max(whole(params, "epochs") - whole(params, "warmup_epochs"), 0) * (u or p)
        start, step = _SEARCH.get(inputs, _SEARCH["vector"])
        total += (start + step * whole(params, "ascent_steps")) * searched
    if method in WIDE:
        total *= whole(params, "hidden")
    return total * max(whole(params, "folds", 1) - 1, 1)


def whole(params: Params, name: str, default: int | None = None) -> int:
    """Return a hyperparameter that is a whole number. Raises TypeError if it is none, or has no value."""
    value = params.get(name, default)
    if not isinstance(value, int):
        raise TypeError(f"{name}: got {value!r}; expected a whole number")
    return value
