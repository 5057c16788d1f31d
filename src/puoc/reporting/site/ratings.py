"""Elo ratings of the entries over all cells of all tables, for the page of methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from puoc.analysis.statistics.elo import Rating, elo_ratings
from puoc.reporting.site.standings import Standing

#: Tables from which ratings are shown. A resample of fewer is no interval.
LEAST = 5


@dataclass(frozen=True)
class RatingView:
    """The rating of an entry."""

    rating: Rating
    method: str
    family: str
    look: str  # CSS class of the family


def rating_views(standings: Sequence[Standing]) -> list[RatingView]:
    """Return the ratings of the entries that have a rank in a cell, best first; none with too few tables.

    References, averages and entries with fewer seeds than others of their cell are left out.
    """
    cells: dict[tuple[str, int], dict[str, float]] = {}
    first: dict[str, Standing] = {}
    for one in standings:
        if one.is_average or one.summary.rank is None or one.summary.mean is None:
            continue
        cells.setdefault((one.table, one.column), {})[one.entry.entry] = one.summary.mean
        first.setdefault(one.entry.entry, one)
    if len({table for table, _ in cells}) < LEAST:
        return []
    ratings = elo_ratings([(table, means) for (table, _), means in cells.items()])
    if max((rating.n_tables for rating in ratings), default=0) < LEAST:
        return []
    return [
        RatingView(rating, first[rating.entry].entry.method, first[rating.entry].family, first[rating.entry].look)
        for rating in ratings
    ]
