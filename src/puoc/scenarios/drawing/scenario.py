"""Base classes of scenarios, whose fields are keys of params.yaml and which give the cells of a table."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable
from typing import Annotated, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictInt

from puoc.datasets.declare.dataset import Dataset
from puoc.datasets.user.dataset import OwnData
from puoc.records import Classes
from puoc.scenarios.drawing.labelling import AnyLabelling, Noise, Setting, check_labelling, noise_count, with_setting
from puoc.store.cells import Cell, Choice

H = TypeVar("H", bound=Hashable)

V = TypeVar("V")
Count = Annotated[StrictInt, Field(gt=0)]


def as_tuple(value: object) -> object:
    """Return one number as a tuple of one."""
    return (value,) if isinstance(value, int) else value


def distinct(values: tuple[H, ...]) -> tuple[H, ...]:
    """Return the values. Raises ValueError if there are none, or if a value occurs twice."""
    if not values:
        raise ValueError("expected at least 1 entry in the list")
    twice = [value for value, times in Counter(values).items() if times > 1]
    if twice:
        raise ValueError(f"expected each entry once; {twice[0]} stands there twice")
    return values


def in_order(values: Classes) -> Classes:
    """Return the classes sorted."""
    return tuple(sorted(values))


ClassNumber = Annotated[StrictInt, Field(ge=0)]
#: Classes in the order given, or one class number.
ClassList = Annotated[tuple[ClassNumber, ...], BeforeValidator(as_tuple), AfterValidator(distinct)]
#: Classes as a set.
ClassSet = Annotated[ClassList, AfterValidator(in_order)]
Counts = Annotated[tuple[Count, ...], BeforeValidator(as_tuple), AfterValidator(distinct)]
Alpha = Annotated[float, Field(gt=0, le=1)]
Alphas = Annotated[tuple[Alpha, ...], AfterValidator(distinct)]


class Scenario(BaseModel):
    """Base of all scenarios: fields as in params.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ClassVar[str]  # set by @scenario

    @abstractmethod
    def cells_of(self, dataset: type[Dataset]) -> list[Cell]:
        """Return the cells for a dataset.

        Raises
        ------
        ValueError : the dataset lacks classes or rows that the scenario names.
        """


class Drawn(Scenario):
    """Scenarios that draw P and U from a dataset whose classes are known."""

    n_pos_lab: Count  # rows of P
    labelling: AnyLabelling = None  # None: SCAR
    setting: Setting = "case_control"
    p_noise: Noise = 0.0  # share of P that are negatives

    def cells_of(self, dataset: type[Dataset]) -> list[Cell]:
        """Return the cells with their labelling. Raises ValueError for user data too, and if it does not apply."""
        if issubclass(dataset, OwnData):
            raise ValueError(f"{self.kind}: it draws U by classes, which are unknown in {dataset.name}; expected own")
        cells = [self._labelled(cell) for cell in self.cells(len(dataset.classes))]
        for cell in cells:
            check_labelling(cell, dataset)
        return cells

    def _labelled(self, cell: Cell) -> Cell:
        """Return the cell with the labelling of the scenario, unless the cell has its own."""
        try:
            update = {
                "labelling": cell.labelling or self.labelling,
                "n_noise": cell.n_noise or noise_count(self.p_noise, cell.n_pos_lab),
            }
            return with_setting(cell.model_copy(update=update), self.setting)
        except ValueError as error:
            raise ValueError(f"{self.kind}, cell {cell.name}: {error}") from error

    @abstractmethod
    def cells(self, n_classes: int) -> list[Cell]:
        """Return the cells for a dataset of ``n_classes`` classes.

        Raises
        ------
        ValueError : a class is out of range, is both positive and negative, or the dataset has too few classes.
        """

    def _check_range(self, n_classes: int, *sets: Classes) -> None:
        outside = sorted({number for classes in sets for number in classes if number >= n_classes})
        if outside:
            raise ValueError(f"{self.kind}: class {outside[0]} does not exist, 0 to {n_classes - 1} expected")

    def _check_overlap(self, pos: Classes, *negatives: Classes) -> None:
        both = sorted(set(pos) & {number for neg in negatives for number in neg})
        if both:
            raise ValueError(f"{self.kind}: classes {both} are positive and negative, they must differ")


class FixedCounts(Drawn):
    """Scenarios whose U has the same counts in every cell."""

    n_pos_unl: Count
    n_neg_unl: Count

    def _cell(
        self, name: str, *, pos: Classes | Choice, neg: Classes | Choice, neg_test: Classes | Choice | None = None
    ) -> Cell:
        return Cell(
            scenario=self.kind,
            name=name,
            pos=pos,
            neg=neg,
            neg_test=neg_test,
            n_pos_lab=self.n_pos_lab,
            n_pos_unl=self.n_pos_unl,
            n_neg_unl=self.n_neg_unl,
        )


def other_classes(classes: Classes, n_classes: int) -> Classes:
    """Return every class of the dataset but these."""
    return tuple(number for number in range(n_classes) if number not in classes)


def braced(classes: Classes) -> str:
    """Return the name of a set of classes, such as ``3`` or ``{2,3}``."""
    return str(classes[0]) if len(classes) == 1 else "{" + ",".join(map(str, classes)) + "}"
