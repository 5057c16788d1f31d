"""Cells of tables: the classes of a sample, fixed or chosen by the seed, and the numbers of its rows."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from puoc.records import Classes, Labelling, Record


class Choice(Record):
    """Classes chosen anew by each seed: positions ``start`` to ``stop`` of a random order of ``of``.

    The order depends on the dataset, on ``of`` and on the seed alone, so choices of disjoint positions are disjoint and
    a smaller choice is part of a larger one.
    """

    of: Classes
    start: int = Field(default=0, ge=0)
    stop: int

    @model_validator(mode="after")
    def _within(self) -> Self:
        if not self.start < self.stop <= len(self.of):
            raise ValueError(
                f"got positions {self.start} to {self.stop}; expected positions within {len(self.of)} classes {self.of}"
            )
        return self


class Cell(Record):
    """One setting of a scenario: its classes, fixed or chosen by the seed, and its numbers of rows."""

    scenario: str
    name: str
    pos: Classes | Choice
    neg: Classes | Choice  # of the negatives in U
    neg_test: Classes | Choice | None = None  # of the negatives at test; absent: as in U, no shift
    n_pos_lab: int = Field(gt=0)
    n_pos_unl: int = Field(ge=0)
    n_neg_unl: int = Field(ge=0)  # 0: U is all positive, alpha = 1
    #: user data: the classes of U are unknown, so ``neg`` is that of unlabelled rows and ``n_neg_unl`` counts all of
    #: them; without ``neg_test`` there are no labelled test rows
    unknown_u: Literal[True] | None = None
    reading: str | None = None  # user data: see ``Sample``
    holdout: float | None = Field(None, gt=0, lt=1)  # share of P and U that a table withholds; a sweep has its own
    labelling: Labelling | None = None  # these three: see ``Sample``
    setting: Literal["single_training_set"] | None = None
    n_noise: int | None = Field(None, gt=0)

    @model_validator(mode="after")
    def _has_positives(self) -> Self:
        if not self.n_pos_unl and not self.unknown_u:
            raise ValueError(f"{self.scenario}, cell {self.name}: got n_pos_unl 0; expected at least 1")
        return self

    @model_validator(mode="after")
    def _disjoint(self) -> Self:
        both = set(pool(self.pos)) & (set(pool(self.neg)) | set(pool(self.neg_test or self.neg)))
        if both:
            raise ValueError(f"{self.scenario}, cell {self.name}: classes {sorted(both)} are positive and negative")
        return self

    @property
    def alpha(self) -> float | None:
        """Return the share of positives in U, p(y=1 | s=0), of all its rows; None if it is unknown."""
        return None if self.unknown_u else self.n_pos_unl / (self.n_pos_unl + self.n_neg_unl)

    @property
    def is_plain(self) -> bool:
        """Return True for SCAR, case control and no noise in P."""
        return self.labelling is None and self.setting is None and self.n_noise is None


def pool(classes: Classes | Choice) -> Classes:
    """Return every class that a seed may choose."""
    return classes.of if isinstance(classes, Choice) else classes
