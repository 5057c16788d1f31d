"""Positives kept apart from everything that is fitted, so that their scores are those of new ones."""

from __future__ import annotations

from typing import Generic, Literal, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.readers.row_contents import ALIKE, Keys, repeated

Repeats = Literal["together", "apart"]


class FileRows(Protocol):
    """Rows of a file or folder as they stand there."""

    @property
    def where(self) -> str: ...

    def __len__(self) -> int: ...

    def rows(self, mask: NDArray[np.bool_]) -> Self: ...


F = TypeVar("F", bound=FileRows)


class Withheld(NamedTuple, Generic[F]):
    """Positives to learn from, those withheld, and warnings about them."""

    rest: F
    held: F
    notes: tuple[str, ...] = ()


def withhold_rows(raw: F, share: float, seed: int) -> Withheld[F]:
    """A share of the rows: where rows repeat by nature new ones repeat them as often as those withheld do.

    Raises
    ------
    ValueError : all or no rows would be withheld.
    """
    drawn = _drawn(raw, len(raw), "", share, seed)
    mask = np.isin(np.arange(len(raw)), drawn)
    return Withheld(raw.rows(~mask), raw.rows(mask))


def withhold_contents(raw: F, keys: Keys, share: float, seed: int, repeats: Repeats | None) -> Withheld[F]:
    """A share of the different rows, each once: none has a copy among those that are learned from.

    A copy that was learned from is scored as no new positive is, so a threshold by copies is far too high. But where
    rows repeat by nature different rows are no sample of the positives, so many repeats are asked back.

    Parameters
    ----------
    keys : (n,) by ``contents_of``; where they all differ, the rows are those that ``withhold_rows`` draws.

    Raises
    ------
    ValueError : as ``withhold_rows``, or it is not said what many repeats are.
    """
    n, copies, (_, first) = len(raw), repeated(keys), np.unique(keys, return_index=True)
    if copies >= ALIKE * n and repeats is None:
        raise ValueError(
            f"--repeats: {copies} of {n} rows of {raw.where} repeat another one, and --false-alarms rests on withheld "
            "rows that are new to the model. Say --repeats together if rows were copied (oversampled): copies are "
            "withheld together and count once; or --repeats apart if rows repeat by nature, as with a few yes/no "
            "columns: new positives then repeat them too, and each row counts"
        )
    drawn = np.isin(keys, _drawn(raw, len(first), "different " if copies else "", share, seed))
    once = np.isin(np.arange(n), first)
    left_out = int((drawn & ~once).sum())
    said = f"{copies} of {n} labelled positives repeat another one: copies are withheld together and count once"
    notes = (f"{said}; {left_out} copies of withheld rows are not used",) if copies else ()
    return Withheld(raw.rows(~drawn), raw.rows(drawn & once), notes)


def _drawn(raw: FileRows, n: int, what: str, share: float, seed: int) -> NDArray[np.int64]:
    """Places to withhold, of n."""
    held = round(share * n)
    if not 0 < held < n:
        got = f"a share {share:g} of {n} {what}labelled positives is {held}"
        raise ValueError(f"--withhold: {raw.where}: {got}; expected 1 to {n - 1}")
    return np.random.default_rng([seed, n]).permutation(n)[:held]
