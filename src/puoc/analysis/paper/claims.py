"""The claims of the paper's text, computed from the numbers that it prints and from ours.

A claim (``published/claims.csv``) is a rule over parts, together with the number of parts that must hold (``all``,
``most``, or a number). A part is one printed table, pair of methods and column. Methods joined by ``+`` mean the best
of them, ``|`` separates alternatives, ``*`` means every column separately, and ``mean`` means their average.

Rules: ``above`` (first - second > 0), ``near`` (that difference within ``high``), ``within`` (first between ``low`` and
``high``), ``rises`` and ``falls`` (slope of first along the columns), ``falls_more`` (slope of first below that of
second), ``significant`` (first better than its twin at p < .05, as the paper does it, without adjustment) and
``not_below`` (second is not).

Our values are AUCs on held-out rows, paired by seed. A part holds or fails if the 95 % interval of the mean (Student's
t) is entirely on one side. Otherwise it is undecided; with one seed it always is. Parts with several methods are
decided pair by pair. The paper's numbers have no interval; equal numbers are undecided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from puoc.analysis.paper.claim_data import Evidence, our_evidence, printed_evidence
from puoc.analysis.paper.deviations import Reservation
from puoc.analysis.paper.matching import PublishedCell
from puoc.analysis.paper.published import AVERAGE_COLUMN, UNPRINTED, Claim, all_claims, columns
from puoc.analysis.paper.verdicts import student
from puoc.analysis.statistics.significance import SignificanceRow
from puoc.store.plans import TablePlan

_DIGITS = 10  # bounds that agree to these digits are equal
_PARTS_IN_NOTE = 6  # more parts than these are counted, not named
_SLOPES = ("rises", "falls", "falls_more")
_TESTS = ("significant", "not_below")


@dataclass(frozen=True, kw_only=True)
class ClaimRow:
    """One claim of the text, decided by the paper's numbers and by ours."""

    id: str
    place: str  # in the paper
    claim: str
    rule: str
    published: str  # the paper's tables that it refers to, separated by |
    n_parts: int
    need: int  # parts that must hold
    paper_verdict: str  # holds, fails, not decided, not printed
    paper_holds: int
    paper_fails: int
    paper_note: str  # parts that fail or are equal
    verdict: str  # holds, fails, not decided, not run
    n_holds: int
    n_fails: int
    n_undecided: int
    n_not_run: int
    tables: str  # ours
    differs_in: str  # our sizes and settings that differ from the paper's
    note: str


@dataclass(frozen=True)
class Part:
    """One statement of a claim."""

    rule: str
    published: str
    first: tuple[str, ...]  # the best of these
    second: tuple[str, ...]
    columns: tuple[str, ...]  # averaged, or in order for a slope
    low: float
    high: float

    @property
    def words(self) -> str:
        """Return the methods, table and column of the part, for a note."""
        names = ["+".join(side) if len(side) <= 2 else "the others" for side in (self.first, self.second) if side]
        where = self.columns[0] if len(self.columns) == 1 else ""
        return " ".join(filter(None, (" / ".join(names), self.published, where)))


def claims(
    plans: Sequence[TablePlan],
    tests: Sequence[SignificanceRow],
    results: Mapping[str, pd.DataFrame | None],
    reservation_by_cell: Mapping[PublishedCell, Reservation],
) -> list[ClaimRow]:
    """Return one row per claim, whatever was planned.

    Parameters
    ----------
    plans : the planned tables.
    tests : as returned by ``twin_tests``, for all tables together.
    results : recorded rows by table; None if the table was not run.
    reservation_by_cell : as returned by ``reservations``.
    """
    printed, ours = printed_evidence(), our_evidence(plans, tests, results, reservation_by_cell)
    rows = []
    for claim in all_claims():
        parts = claim_parts(claim, ours)
        need = _need(claim.need, len(parts))
        by_paper = _outcome([(part, status_of(part, printed)) for part in parts], need, "not printed")
        by_us = _outcome([(part, status_of(part, ours)) for part in parts], need, "not run")
        used = [ours.sources[name] for name in claim.published.split("|") if name in ours.sources]
        row = ClaimRow(
            id=claim.id,
            place=claim.place,
            claim=claim.claim,
            rule=claim.rule,
            published=claim.published,
            n_parts=len(parts),
            need=need,
            paper_verdict=by_paper.verdict,
            paper_holds=by_paper.n_holds,
            paper_fails=by_paper.n_fails,
            paper_note=by_paper.note,
            verdict=by_us.verdict,
            n_holds=by_us.n_holds,
            n_fails=by_us.n_fails,
            n_undecided=by_us.n_undecided,
            n_not_run=by_us.n_not_run,
            tables=", ".join(sorted({table for source in used for table in source.tables})),
            differs_in="; ".join(sorted({text for source in used for text in source.differs_in})),
            note=by_us.note,
        )
        rows.append(row)
    return rows


def claim_parts(claim: Claim, ours: Evidence) -> list[Part]:
    """Return the parts of a claim. For curves that the paper does not print, our columns are used."""
    parts = []
    low, high = (float(bound or "nan") for bound in (claim.low, claim.high))
    for name in claim.published.split("|"):
        firsts = [tuple(group.split("+")) for group in claim.first.split("|")]
        seconds = [tuple(filter(None, group.split("+"))) for group in claim.second.split("|")]
        seconds += [seconds[0]] * (len(firsts) - len(seconds))  # one group for several
        for first, second in zip(firsts, seconds, strict=True):
            columns_of_parts = _columns(claim, name, ours)
            parts += [Part(claim.rule, name, first, second, listed, low, high) for listed in columns_of_parts]
    return parts


def status_of(part: Part, evidence: Evidence) -> str:
    """Return ``holds``, ``fails``, ``undecided`` or ``not_run``."""
    if part.rule in _TESTS:
        return _tested(part, evidence.outcome(part.published, part.first[0], part.second[0], part.columns[0]))
    if part.rule == "above" and not evidence.exact:
        return _above(part, evidence)
    values = _quantity(part, evidence)
    if not len(values):
        return "not_run"
    if evidence.exact:
        low = high = float(np.round(values.mean(), _DIGITS))
    elif len(values) < 2:
        return "undecided"
    else:
        low, high = mean_interval(values, max(len(part.first), 1) * max(len(part.second), 1))
    if part.rule in ("near", "within"):
        floor, ceiling = (-part.high, part.high) if part.rule == "near" else (part.low, part.high)
        if floor <= low and high <= ceiling:
            return "holds"
        return "fails" if low > ceiling or high < floor else "undecided"
    if part.rule in ("falls", "falls_more"):
        low, high = -high, -low
    return "holds" if low > 0 else "fails" if high < 0 else "undecided"


def _columns(claim: Claim, name: str, ours: Evidence) -> list[tuple[str, ...]]:
    known = ours.columns(name) if name in UNPRINTED else [c for c in columns(name) if c != AVERAGE_COLUMN]
    listed = known if claim.columns in ("*", "mean") else claim.columns.split("|")
    if claim.columns == "mean" or claim.rule in _SLOPES:
        return [tuple(listed)]
    return [(column,) for column in listed] or [()]


def _need(text: str, n: int) -> int:
    return n if text == "all" else n // 2 + 1 if text == "most" else int(text)


def _tested(part: Part, better: str | None) -> str:
    """Return the status of a part by its test. ``better`` is first, second, neither or unknown; None if untested."""
    if better is None:
        return "not_run"
    if better == "unknown":
        return "undecided"
    return "holds" if (better == "first" if part.rule == "significant" else better != "second") else "fails"


def _quantity(part: Part, evidence: Evidence) -> NDArray[np.float64]:
    """Return the quantity of a part, one value per seed that has all columns; empty if a method was not run."""
    sides = []
    for group in filter(None, (part.first, part.second)):
        reduce = _slope if part.rule in _SLOPES else np.mean
        aucs_by_method = [evidence.values(part.published, name, part.columns) for name in group]
        if not all(aucs_by_method):  # a method that was not run may have been the best
            return np.array([])
        by_method = [{seed: float(reduce(aucs)) for seed, aucs in by_seed.items()} for by_seed in aucs_by_method]
        sides.append(max(by_method, key=lambda by_seed: float(np.mean(list(by_seed.values())))))
    if len(sides) == 1:
        return np.array(list(sides[0].values()))
    return np.array([sides[0][seed] - sides[1][seed] for seed in sides[0] if seed in sides[1]])


def _above(part: Part, evidence: Evidence) -> str:
    """Decide pair by pair whether the best of the first methods is above the best of the second.

    Choosing the best method by its mean would favour it, since the same seeds are used for the comparison. The part
    holds if one of the first is above each of the second, and fails if one of the second is above each of the first.
    The level of the intervals accounts for the choice of that method. A method that was not run may be above or below
    any other.
    """
    sides, all_run = [], []
    for group in (part.first, part.second):
        aucs_by_method = [evidence.values(part.published, name, part.columns) for name in group]
        sides.append(
            [{seed: float(aucs.mean()) for seed, aucs in by_seed.items()} for by_seed in aucs_by_method if by_seed]
        )
        all_run.append(all(aucs_by_method))
    first, second = sides
    if not first or not second:
        return "not_run"
    pairs = {
        (a, b): np.array([first[a][seed] - second[b][seed] for seed in first[a] if seed in second[b]])
        for a in range(len(first))
        for b in range(len(second))
    }
    if any(len(values) == 0 for values in pairs.values()):
        return "not_run"
    if any(len(values) < 2 for values in pairs.values()):
        return "undecided" if all(all_run) else "not_run"
    lows = {pair: mean_interval(values, len(first))[0] for pair, values in pairs.items()}
    highs = {pair: mean_interval(values, len(second))[1] for pair, values in pairs.items()}
    if any(all(lows[a, b] > 0 for b in range(len(second))) for a in range(len(first))):
        return "holds" if all_run[1] else "not_run"
    if any(all(highs[a, b] < 0 for a in range(len(first))) for b in range(len(second))):
        return "fails" if all_run[0] else "not_run"
    return "undecided" if all(all_run) else "not_run"


def _slope(values: NDArray[np.float64]) -> float:
    """Compute the least-squares slope along the columns, in AUC per column."""
    positions = np.arange(len(values)) - (len(values) - 1) / 2
    return float(values @ positions / max(positions @ positions, 1.0))  # one column has no slope


def mean_interval(values: NDArray[np.float64], choices: int = 1) -> tuple[float, float]:
    """Compute the 95 % interval of the mean, adjusted for the number of choices (Bonferroni)."""
    n = len(values)
    half = student(n - 1, choices) * float(values.std(ddof=1)) / n**0.5
    centre = float(values.mean())
    return round(centre - half, _DIGITS), round(centre + half, _DIGITS)


class _Outcome(NamedTuple):
    verdict: str
    note: str
    n_holds: int
    n_fails: int
    n_undecided: int
    n_not_run: int


def _outcome(part_states: list[tuple[Part, str]], need: int, absent: str) -> _Outcome:
    states = ("holds", "fails", "undecided", "not_run")
    counts = [sum(status == state for _, status in part_states) for state in states]
    n_holds, _, n_undecided, n_not_run = counts
    if n_not_run == len(part_states):
        return _Outcome(absent, "", *counts)
    reachable = n_holds + n_undecided + n_not_run
    verdict = "holds" if n_holds >= need else "fails" if reachable < need else "not decided"
    notes = []
    for state, words in (("fails", "against"), ("undecided", "undecided"), ("not_run", absent)):
        named = [part.words for part, status in part_states if status == state]
        if named:
            more = f" and {len(named) - _PARTS_IN_NOTE} more" if len(named) > _PARTS_IN_NOTE else ""
            notes.append(f"{words}: {', '.join(named[:_PARTS_IN_NOTE])}{more}")
    return _Outcome(verdict, "; ".join(notes), *counts)
