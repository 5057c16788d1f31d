"""Common rows of two seeds, which make them dependent, and of the two sides of a standard split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from puoc.datasets.prepare.arrays import Prepared
from puoc.scenarios.drawing.draws import count_of, split_rows, train_count
from puoc.store.cells import Cell, pool
from puoc.store.plans import SharedRows


def shared_rows(cell: Cell, counts: Mapping[str, Sequence[int]]) -> SharedRows:
    """Return the expected share of the rows of a seed that another seed also has.

    A seed draws each row of its pool with equal probability, so the share is the drawn part of the pool. With classes
    chosen by the seed this holds if the classes have equal sizes. Two seeds share more of a P drawn by a propensity.

    Parameters
    ----------
    counts : rows per class, ``{"all": ...}`` or ``{"train": ..., "test": ...}``, as ``Dataset.counts``.
    """
    drawn = "all" in counts
    train = counts["all"] if drawn else counts["train"]  # a drawn split has another training side for each seed
    n_pos, n_neg = (sum(train[number] for number in pool(classes)) for classes in (cell.pos, cell.neg))
    in_u = [(_kept(cell, cell.n_pos_unl), n_pos), (_kept(cell, cell.n_neg_unl), n_neg)]
    u = sum(n * n / available for n, available in in_u if n) / sum(n for n, _ in in_u)
    return SharedRows(P=_kept(cell, cell.n_pos_lab) / n_pos, U=u, test=_test_share(cell, counts))


def _kept(cell: Cell, n: int) -> int:
    """Return the number of training rows among n drawn rows."""
    return n - count_of(cell.holdout or 0.0, n)


def _test_share(cell: Cell, counts: Mapping[str, Sequence[int]]) -> float:
    """Return the share for all test rows of the cell's classes, or of those that a seed chooses."""
    drawn = "all" in counts
    rows, shared = 0.0, 0.0
    for classes in (cell.pos, cell.neg_test or cell.neg):
        numbers = pool(classes)
        chosen = 1.0 if isinstance(classes, tuple) else (classes.stop - classes.start) / len(numbers)
        for number in numbers:
            n = counts["all"][number] if drawn else counts["test"][number]
            n_test = n - train_count(n) if drawn else n
            taken = chosen * n_test / n if n else 0.0  # chance that a seed takes a given row of the class
            rows, shared = rows + taken * n, shared + taken**2 * n
    return shared / rows if rows else 0.0


def repeats_of_test(prepared: Prepared) -> int:
    """Count the training rows of a standard split that equal a test row; ``split_rows`` leaves them out."""
    if prepared.split is None:  # a drawn split keeps equal rows together
        return 0
    return int((prepared.split == 0).sum()) - len(split_rows(prepared, 0).train)
