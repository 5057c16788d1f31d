"""How a method learns the class prior alpha = p(y=1 | s=0), the share of positives among the unlabelled rows."""

from __future__ import annotations

from puoc.records import Prior, Sample

#: ``true``: the share in the draw, as only a benchmark knows it. ``fixed``: a number somebody gives.
KINDS = ("true", "fixed")


def class_prior(prior: Prior | None, sample: Sample) -> float | None:
    """The class prior a method is given; None for a method that takes none.

    Raises
    ------
    ValueError : an unknown kind of prior.
    """
    if prior is None:
        return None
    if prior.kind == "true":
        return sample.alpha
    if prior.kind == "fixed":
        return prior.value
    raise ValueError(f"prior: got {prior.kind!r}; expected one of {', '.join(KINDS)}")
