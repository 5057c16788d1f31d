"""Sweeps over the labelling: its mechanism, or the share of negatives in P."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Self

from pydantic import AfterValidator, model_validator

from puoc.registry import scenario
from puoc.scenarios.drawing.labelling import AnyLabelling, Noise, noise_count
from puoc.scenarios.drawing.scenario import Alpha, Count, distinct
from puoc.scenarios.mixture_sweeps import Mixtures
from puoc.store.cells import Cell


def _name(labelling: AnyLabelling) -> str:
    return labelling.label if labelling else "scar"


def _distinct_names(labellings: tuple[AnyLabelling, ...]) -> tuple[AnyLabelling, ...]:
    distinct(tuple(map(_name, labellings)))
    return labellings


@scenario("labelling_sweep")
class LabellingSweep(Mixtures):
    """P labelled by different mechanisms beside one U."""

    alpha: Alpha
    n_unl: Count
    labellings: Annotated[tuple[AnyLabelling, ...], AfterValidator(_distinct_names)]

    @model_validator(mode="after")
    def _one_labelling(self) -> Self:
        if self.labelling is not None:
            raise ValueError("got labelling beside labellings; expected labellings alone")
        return self

    def cells(self, n_classes: int) -> list[Cell]:
        """Return one cell for each mechanism, named as ``scar`` or ``clear_first 10``."""
        cells = []
        for labelling in self.labellings:
            name = _name(labelling)
            cell = self._mixed(name, self.alpha, self.n_unl, n_classes)
            cells.append(cell.model_copy(update={"labelling": labelling}))
        return cells


@scenario("noise_sweep")
class NoiseSweep(Mixtures):
    """P of one size with different shares of negatives, beside one U."""

    alpha: Alpha
    n_unl: Count
    p_noises: Annotated[tuple[Noise, ...], AfterValidator(distinct)]

    @model_validator(mode="after")
    def _one_noise(self) -> Self:
        if self.p_noise:
            raise ValueError("got p_noise beside p_noises; expected p_noises alone")
        return self

    def cells(self, n_classes: int) -> list[Cell]:
        """Return one cell for each share, named as ``p_noise=0.05``."""
        cells = []
        for p_noise in self.p_noises:
            cell = self._mixed(f"p_noise={p_noise:g}", self.alpha, self.n_unl, n_classes)
            cells.append(cell.model_copy(update={"n_noise": noise_count(p_noise, self.n_pos_lab)}))
        for n_noise, times in Counter(cell.n_noise or 0 for cell in cells).items():
            if times > 1:
                raise ValueError(
                    f"{self.kind}: {times} shares give the same {n_noise} negatives of {self.n_pos_lab} rows"
                )
        return cells
