"""Positives that are withheld from every fit, so that their scores are those of new positives."""

from __future__ import annotations

from typing import Generic, Literal, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.readers.row_contents import ALIKE, Keys, repeated

Repeats = Literal["together", "apart"]


class FileRows(Protocol):
    """Unprepared rows of a file or folder."""

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
    """Withhold a share of the rows, for rows that repeat by nature: new rows then repeat them as often.

    Raises
    ------
    ValueError : all or no rows would be withheld.
    """
    drawn = _drawn(raw, len(raw), "", share, seed)
    mask = np.isin(np.arange(len(raw)), drawn)
    return Withheld(raw.rows(~mask), raw.rows(mask))


def withhold_contents(raw: F, keys: Keys, share: float, seed: int, repeats: Repeats | None) -> Withheld[F]:
    """Withhold a share of the different rows, each once, so that none has a copy among the training rows.

    The score of a copy of a training row is higher than that of a new positive, and a threshold from such scores is far
    too high. If rows repeat by nature, however, the different rows are no sample of the positives. Many repeats
    therefore raise an error.

    Parameters
    ----------
    keys : (n,) by ``contents_of``; if all differ, the rows are those that ``withhold_rows`` draws.

    Raises
    ------
    ValueError : as ``withhold_rows``, or many rows repeat and ``repeats`` is absent.
    """
    n, copies, (_, first) = len(raw), repeated(keys), np.unique(keys, return_index=True)
    if copies >= ALIKE * n and repeats is None:
        raise ValueError(
            f"--repeats: {copies} of {n} rows of {raw.where} repeat another one, and --recall rests on withheld "
            "rows that are new to the model. Use --repeats together if rows were copied (oversampled): copies are "
            "withheld together and count once; or --repeats apart if rows repeat by nature, as with a few yes/no "
            "columns: new positives then repeat them too, and each row counts"
        )
    drawn = np.isin(keys, _drawn(raw, len(first), "different " if copies else "", share, seed))
    once = np.isin(np.arange(n), first)
    left_out = int((drawn & ~once).sum())
    repeated_rows = (
        f"{copies} of {n} labelled positives repeat another one: copies are withheld together and count once"
    )
    notes = (f"{repeated_rows}; {left_out} copies of withheld rows are not used",) if copies else ()
    return Withheld(raw.rows(~drawn), raw.rows(drawn & once), notes)


def _drawn(raw: FileRows, n: int, kind: str, share: float, seed: int) -> NDArray[np.int64]:
    """Draw the positions to withhold, of n."""
    n_withheld = round(share * n)
    if not 0 < n_withheld < n:
        got = f"a share {share:g} of {n} {kind}labelled positives is {n_withheld}"
        raise ValueError(f"--withhold: {raw.where}: {got}; expected 1 to {n - 1}")
    return np.random.default_rng([seed, n]).permutation(n)[:n_withheld]
