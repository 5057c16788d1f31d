"""What every kind of scenario is: keys as in params.yaml that give the columns of a table for a dataset."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from puoc.cells import Cell
from puoc.datasets.dataset import Dataset

Count = Annotated[StrictInt, Field(gt=0)]


class Scenario(BaseModel):
    """Base of the kinds of scenario: fields as in params.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ClassVar[str]

    @abstractmethod
    def cells_of(self, dataset: type[Dataset]) -> list[Cell]:
        """The columns for a dataset.

        Raises
        ------
        ValueError : the dataset does not have what the scenario names.
        """
