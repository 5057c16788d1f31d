"""Scenario of user data: one cell. P and U are all rows of the files, or each seed draws them from the files."""

from __future__ import annotations

from pydantic import Field

from puoc.datasets.declare.dataset import Dataset
from puoc.datasets.user.dataset import OwnData
from puoc.registry import scenario
from puoc.scenarios.drawing.scenario import Count, Scenario
from puoc.store.cells import Cell


@scenario("own")
class UserDataScenario(Scenario):
    """P and U of user data. The classes of U are unknown, so the cell has no alpha.

    With all of P and U, every seed uses the same rows, and differences between seeds come from the method. With a
    number of rows, each seed draws its rows. The rows that ``holdout`` withholds from P and U give the label-free
    criterion.
    """

    n_pos_lab: Count | None = None  # None: all of P
    n_unl: Count | None = None  # None: all of U
    holdout: float | None = Field(None, gt=0, lt=1)
    column: str = "own"

    def cells_of(self, dataset: type[Dataset]) -> list[Cell]:
        """Return one cell. Raises ValueError for a dataset that is not user data."""
        if not issubclass(dataset, OwnData):
            raise ValueError(f"{self.kind}: {dataset.name} is not in the section datasets; expected user data")
        n_p, n_u, _ = dataset.counts["train"]
        return [
            Cell(
                scenario=self.kind,
                name=self.column,
                pos=(0,),
                neg=(1,),
                neg_test=(2,) if dataset.tested() else None,
                n_pos_lab=self.n_pos_lab or n_p,
                n_pos_unl=0,
                n_neg_unl=self.n_unl or n_u,
                unknown_u=True,
                reading=dataset.declared.reading,
                holdout=self.holdout,
            )
        ]
