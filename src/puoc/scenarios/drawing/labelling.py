"""Labelling as an axis of every scenario: its keys of params.yaml, and the cells that they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod, sqrt
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from puoc.datasets.declare.dataset import Dataset
from puoc.records import Labelling
from puoc.scenarios.drawing.draws import count_of
from puoc.scenarios.drawing.labelled_draws import known_count, too_few_known
from puoc.scenarios.drawing.propensity import FEWEST
from puoc.store.cells import Cell, Choice, pool

_SURE = 6.0  # standard deviations by which a random part of the positives may differ from its mean


def as_labelling(value: object) -> object:
    """Convert the text scar to None, and the classes of a mechanism to a sorted list."""
    if value == "scar":
        return None
    if isinstance(value, Mapping):
        if "sar" not in value:
            raise ValueError("expected scar or {sar: MECHANISM, strength: NUMBER}")
        classes = value.get("classes")
        if isinstance(classes, int):
            return {**value, "classes": (classes,)}
        return {**value, "classes": sorted(classes)} if isinstance(classes, list | tuple) else value
    if isinstance(value, Labelling):
        return value
    raise ValueError("expected scar or {sar: MECHANISM, strength: NUMBER}")


#: None: SCAR.
AnyLabelling = Annotated[Labelling | None, BeforeValidator(as_labelling)]
Setting = Literal["case_control", "single_training_set"]
Noise = Annotated[float, Field(ge=0, lt=1)]


def noise_count(p_noise: float, n_pos_lab: int) -> int | None:
    """Return the number of negatives in P, None without noise.

    Raises
    ------
    ValueError : the share is rounded to no row, or to all rows.
    """
    if not p_noise:
        return None
    n_noise = count_of(p_noise, n_pos_lab)
    if not 0 < n_noise < n_pos_lab:
        raise ValueError(
            f"p_noise {p_noise:g} of {n_pos_lab} labelled rows gives {n_noise} negatives; expected 0, or 1 to "
            f"{n_pos_lab - 1} of them"
        )
    return n_noise


def with_setting(cell: Cell, setting: Setting) -> Cell:
    """Return the cell in a setting.

    In ``single_training_set``, the counts of U are those of the sample, and P is taken out of it. The cell then has the
    counts of the rest, so its alpha is p(y=1 | s=0) = pi (1 - c) / (1 - pi c), where pi is the share of positives in
    the sample and c = p(s=1 | y=1) the share of them that is labelled (Elkan and Noto, 2008).

    Raises
    ------
    ValueError : P would take all positives or all negatives of the sample.
    """
    if setting == "case_control":
        return cell
    n_noise = cell.n_noise or 0
    n_pos, n_neg = cell.n_pos_unl - (cell.n_pos_lab - n_noise), cell.n_neg_unl - n_noise
    for what, left, whole in (("positives", n_pos, cell.n_pos_unl), ("negatives", n_neg, cell.n_neg_unl)):
        if left < 1:
            raise ValueError(
                f"setting single_training_set: P takes {whole - left} of the {whole} {what} of the sample, and at "
                "least 1 must stay in U; expected a smaller n_pos_lab, or more rows"
            )
    return cell.model_copy(update={"setting": setting, "n_pos_unl": n_pos, "n_neg_unl": n_neg})


def check_labelling(cell: Cell, dataset: type[Dataset]) -> None:
    """Check that a mechanism applies to the rows of a dataset and to the classes of a cell.

    Raises
    ------
    ValueError : the rows are texts, the feature does not exist, or the classes are not some of the positive ones.
    """
    labelling = cell.labelling
    if labelling is None:
        return
    head = f"labelling {labelling.label}"
    if dataset.inputs == "text" and labelling.sar != "by_class":
        raise ValueError(f"{head}: it depends on numbers, and {dataset.name} has texts; expected scar or sar: by_class")
    if labelling.feature is not None and labelling.feature >= prod(dataset.shape):
        raise ValueError(
            f"{head}: feature {labelling.feature} of {dataset.name} does not exist; expected 0 to "
            f"{prod(dataset.shape) - 1}"
        )
    if labelling.classes is not None:
        if isinstance(cell.pos, Choice):
            raise ValueError(f"{head}: each seed chooses the positive classes; expected another mechanism")
        outside = sorted(set(labelling.classes) - set(cell.pos))
        if outside:
            raise ValueError(f"{head}: class {outside[0]} is not positive; expected some of {list(cell.pos)}")
        if set(labelling.classes) == set(cell.pos):
            raise ValueError(
                f"{head}: it names all positive classes, {list(cell.pos)}, so it leaves none to be labelled first; "
                "expected some of them"
            )


def check_labelled_counts(cell: Cell, train: Sequence[int], where: str, dataset: str) -> None:
    """Check that the training rows are enough for the labelling of a cell, beside what ``check_counts`` checks.

    Parameters
    ----------
    train : training rows per class.

    Raises
    ------
    ValueError : too few rows to fit the propensity on, to label, or to be negatives in P.
    """
    if cell.is_plain:
        return
    single, n_noise = cell.setting is not None, cell.n_noise or 0
    n_pos = cell.n_pos_lab - n_noise
    taken_pos, taken_neg = cell.n_pos_unl + single * n_pos, cell.n_neg_unl + single * n_noise
    n_train_pos, n_train_neg = (_fewest(train, classes) for classes in (cell.pos, cell.neg))
    for what, wanted, there in (
        ("labelled and unlabelled positives", cell.n_pos_lab + taken_pos, n_train_pos),
        ("negatives in P and U", cell.n_neg_unl + n_noise, n_train_neg),
    ):
        if wanted > there:
            raise ValueError(f"{where}: {wanted} {what} wanted, {there} available in {dataset}/train")
    if cell.labelling is None:
        return
    if cell.labelling.needs_model:
        n_known = known_count(n_train_pos - taken_pos, n_train_neg - taken_neg, n_pos, n_noise, single)
        if n_known < FEWEST:
            raise ValueError(f"{where}: {too_few_known(n_known, dataset)}")
    if cell.labelling.classes is not None and cell.labelling.strength == 1:
        able = sum(train[number] for number in pool(cell.pos) if number not in cell.labelling.classes)
        share = able / n_train_pos
        drawn = taken_pos if single else n_train_pos - taken_pos
        fewest = drawn * share - _SURE * sqrt(drawn * share * (1 - share) * (1 - drawn / n_train_pos))
        if fewest < n_pos:
            raise ValueError(
                f"{where}: labelling {cell.labelling.label} leaves {able} positives in {dataset}/train that can be "
                f"labelled, about {drawn * share:.0f} of them {'in the sample' if single else 'beside U'}, and {n_pos} "
                "are wanted; expected a smaller n_pos_lab, fewer rows of U or a strength below 1"
            )


def _fewest(train: Sequence[int], classes: tuple[int, ...] | Choice) -> int:
    """Return the rows of the classes, or of the smallest that a seed may choose."""
    n = classes.stop - classes.start if isinstance(classes, Choice) else len(classes)
    return sum(sorted(train[number] for number in pool(classes))[:n])
