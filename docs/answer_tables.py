"""The answer in docs/published.md: numbers, claims and families by the committed rows, and measured coverage."""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pandas as pd
from evidence_plans import EVIDENCE, LSTM_ENTRIES, UNRECORDED, Lines, lstm_rows, plan_of, profile_sections
from told_alpha import TOLD, entry_name, told_alpha, told_in_plan

from puoc.analysis.paper.answer import counted_rows, number_counts
from puoc.analysis.paper.claims import ClaimRow, claims
from puoc.analysis.paper.deviations import reservations
from puoc.analysis.paper.family_wins import AXES, FAMILIES, OUTCOMES, FamilyWinRow, family_wins
from puoc.analysis.paper.matching import published_entries
from puoc.analysis.paper.published import all_claims
from puoc.analysis.paper.verdicts import STATES, VerdictRow, verdicts
from puoc.analysis.statistics.significance import twin_tests
from puoc.analysis.tables.results import planned_rows, read_results
from puoc.analysis.tables.summary import summarise
from puoc.reporting.page.significance import ALPHA
from puoc.run.published import write_published_rows
from puoc.store.ledger import Ledger
from puoc.store.plan_files import planned_tables
from puoc.store.plans import TablePlan
from puoc.store.published import add_published, read_published, write_plan

#: Rows that are compared with the paper's numbers. The profile paper has several tables.
_COMPARED = ("paper", "cifar10", "cifar10_methods", "cifar10_small", "lstm_pendigits")
#: Profiles whose tables over alpha, |U| and shifts are compared by family.
_FAMILIES = ("paper", "paper_small", "quick")
PUBLISHED = Path(__file__).parents[1] / "published" / "paper"
_BAR = 20  # characters
_MARKS = dict(zip(STATES, "█▓▒░·", strict=True))


class Answer(NamedTuple):
    """The verdicts and claims of the committed rows."""

    verdicts: list[VerdictRow]
    claims: list[ClaimRow]


@cache
def answer() -> Answer:
    """Compare the committed rows with the paper, as the stage ``compare`` does."""
    tables = [table for name in _COMPARED for table in compared_tables(name)]
    plans, recorded = [plan for plan, _ in tables], {plan.table: rows for plan, rows in tables}
    held = reservations(plans, recorded)
    tests = [row for plan, rows in tables for row in twin_tests(plan, rows)]
    summary = [row for plan, rows in tables for row in summarise(plan, rows)]
    return Answer(verdicts(plans, summary, tests, held), claims(plans, tests, recorded, held))


def answer_line() -> str:
    """One sentence on the numbers, and one on the claims."""
    *_, total = number_counts(answer().verdicts)
    n = dict(zip(STATES, total.by_state, strict=True))
    outcomes = [row.verdict for row in answer().claims]
    claimed = {state: outcomes.count(state) for state in ("holds", "fails", "not decided", "not run")}
    return (
        f"**Of the paper's {total.n} AUCs, {n['reproduced']} are reproduced and {n['differs']} differ.** For "
        f"{n['not decided']}, the runs are too few to decide, {n['void']} cannot be compared (void), and "
        f"{n['not run']} are not run yet.\n"
        f"**Of its {len(outcomes)} claims, {claimed['holds']} hold and {claimed['fails']} "
        f"{'fails' if claimed['fails'] == 1 else 'fail'} on our rows.** {claimed['not decided']} are not decided, and "
        f"{claimed['not run']} are not run.\n"
    )


def answer_numbers() -> Lines:
    """Published numbers by verdict, for all tables and for each, with a bar."""
    heads = [f"{_MARKS[state]} {state}" for state in STATES]
    lines = [["table", "share", "numbers", *heads, "not as published"]]
    *tables, total = number_counts(answer().verdicts)
    for count in (total, *tables):
        name = f"`{count.published}`" if count.published else "**all**"
        counts = [str(n) for n in count.by_state]
        lines.append([name, _bar(count.by_state), str(count.n), *counts, str(sum(count.otherwise))])
    return lines


def answer_runs() -> Lines:
    """The numbers that were compared with a valid run, those that are reproduced first, and where their runs are."""
    lines = [["verdict", "paper's table", "row", "column", "paper", "ours", "seeds", "runs in", "place"]]
    found = [row for row in counted_rows(answer().verdicts) if row.verdict in STATES[:3]]
    for row in sorted(found, key=lambda row: (STATES.index(row.verdict), row.published)):
        [source] = [name for name in _COMPARED if row.table in {plan.table for plan, _ in compared_tables(name)}]
        folder = "`published/paper`" if source == "paper" else f"`docs/evidence/{source}.parquet`"
        ours = f"{row.mean:.3f}" + ("" if row.std is None else f" ± {row.std:.3f}")
        ours += f" ({TOLD})" if row.entry in told_entries(source) else ""
        place = f"`{row.table}/{row.cell}/{row.entry}`"
        lines.append(
            [row.verdict, f"`{row.published}`", row.row, row.column, row.printed, ours, str(row.n), folder, place]
        )
    return lines


def answer_spreads() -> Lines:
    """Published numbers by verdict, by each of the two spreads."""
    total = number_counts(answer().verdicts)[-1]
    rows = counted_rows(answer().verdicts)
    another = sum(row.verdict != (row.verdict_own_spread or "not run") for row in rows)
    lines = [["spread", *STATES, "another verdict"]]
    lines.append(["of all cells of the entry", *(str(n) for n in total.by_state), ""])
    return [*lines, ["of the cell alone", *(str(n) for n in total.by_own_spread), str(another)]]


def answer_claims() -> Lines:
    """The claims of the text by their outcome on our rows."""
    lines = [["on our rows", "claims", "which"]]
    for state in ("holds", "fails", "not decided", "not run"):
        found = [row for row in answer().claims if row.verdict == state]
        shown = [f"{row.claim} (`{row.id}`{f', {TOLD}' if _has_told(row) else ''})" for row in found]
        which = "" if state == "not run" else "; ".join(shown)
        lines.append([state, str(len(found)), which])
    return lines


def answer_twins() -> Lines:
    """Each PU-OC entry against its OC twin, by table: the difference of the AUC, and how many cells decide it."""
    heads = ["PU-OC / OC", "runs in", "table", "cells", "seeds", "mean difference", "PU-OC better", "OC better"]
    lines: Lines = []
    for name in _COMPARED:
        for plan, rows in compared_tables(name):
            for pair, tests in groupby(twin_tests(plan, rows), key=lambda test: (test.entry, test.twin_entry)):
                found = [test for test in tests if not test.is_average and test.n and test.mean_difference is not None]
                suffixes = {entry.removeprefix(plan.entries_by_name[entry].method) for entry in pair}
                if not found or len(suffixes) > 1:  # entries that differ in more than U, such as the encoder
                    continue
                entries = " / ".join(entry_name(entry, told_entries(name)) for entry in pair)
                decided = [test for test in found if test.p_adjusted is not None and test.p_adjusted < ALPHA]
                better = sum((test.mean_difference or 0) > 0 for test in decided)
                numbers = sorted({test.n for test in found})
                seeds = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
                mean = sum(test.mean_difference or 0 for test in found) / len(found)
                folder = "`published/paper`" if name == "paper" else f"`docs/evidence/{name}.parquet`"
                counts = [str(len(found)), seeds, f"{mean:+.3f}", str(better), str(len(decided) - better)]
                lines.append([entries, folder, f"`{plan.table}`", *counts])
    return [heads, *sorted(lines)]


def answer_families() -> Lines:
    """The family that ranks best over alpha, |U| and shifts, by table."""
    lines = [["profile", "table", "over", "dataset", "seeds", *OUTCOMES, "decided cells", TOLD]]
    for name in _FAMILIES:
        for plan, rows in compared_tables(name):
            found = family_wins([plan], {plan.table: rows})
            if found:
                told = [entry for entry in plan.entries_by_name if entry in told_entries(name)]
                names = ", ".join(f"`{entry}`" for entry in told)
                lines.append([f"`{name}`", *_family_line(found, len(plan.seeds)), names])
    return lines


def spread_coverage() -> Lines:
    """Measured coverage of both intervals by law of the true spreads and number of seeds."""
    rows = pd.read_parquet(EVIDENCE / "moderated.parquet")
    heads = ["true spreads", "assumption", "seeds", "own spread", "shared spread", "shared, widest fifth", "width"]
    lines = [heads]
    for (law, holds, seeds), part in rows.groupby(["law", "assumption_holds", "seeds"], sort=False):
        both = part.set_index("interval")
        own, shared = both.loc["plain"], both.loc["moderated"]
        coverage = [f"{side.coverage:.3f}" for side in (own, shared)]
        ratio = f"{shared.half_width / own.half_width:.2f}"
        words = "holds" if holds else "does not hold"
        lines.append([str(law), words, str(seeds), *coverage, f"{shared.coverage_widest_fifth:.3f}", ratio])
    return lines


@cache
def published_tables() -> list[tuple[TablePlan, pd.DataFrame]]:
    """Return each table of ``published/paper`` that has a result, with its plan."""
    manifest, fits = read_published(PUBLISHED)
    with TemporaryDirectory() as folder:
        root = Path(folder)
        write_plan(PUBLISHED, root)
        add_published(Ledger(root / "ledger"), manifest, fits, source=PUBLISHED)
        write_published_rows(root)
        tables = [(plan, read_results(root, plan)) for plan in planned_tables(root)]
    return [(plan, rows) for plan, rows in tables if rows is not None and (rows["status"] == "ok").any()]


@cache
def compared_tables(name: str) -> list[tuple[TablePlan, pd.DataFrame]]:
    """Return each table of a file of rows, or of ``published/paper``, with its plan."""
    if name == "paper":
        return published_tables()
    path = EVIDENCE / f"{name}.parquet"
    if name == "lstm_pendigits":
        rows = lstm_rows()
        plan = plan_of(rows, "lstm", LSTM_ENTRIES)
        return [(plan, planned_rows(rows, plan, name))]
    rows = pd.read_parquet(path)
    tables, methods = profile_sections(name) if name in _FAMILIES else ({}, {})
    named = {entry: method["published_as"] for entry, method in methods.items() if "published_as" in method}
    found = []
    for table, of_table in rows.groupby("table", sort=False):
        section = tables.get(table, {})
        if "scenario" not in of_table:  # the rows of the small map are means of trials that all are ok
            of_table = of_table.assign(scenario=section["scenario"], **UNRECORDED)
            if section["scenario"] not in AXES:
                continue
        published = "ova" if name not in _FAMILIES else section.get("published")
        plan = plan_of(of_table, published, named)
        found.append((plan, planned_rows(of_table, plan, name)))
    return found


@cache
def told_entries(name: str) -> frozenset[str]:
    """Return the entries of a file of rows, or of ``published/paper``, that are told alpha."""
    if name == "paper":
        return told_in_plan([entry for plan, _ in published_tables() for entry in plan.entries_by_name.values()])
    return told_alpha(name)


def _has_told(row: ClaimRow) -> bool:
    """Return True if a method of a claim is told alpha in one of the tables that decide the claim."""
    [claim] = [one for one in all_claims() if one.id == row.id]
    methods = set(re.split(r"[+|]", f"{claim.first}|{claim.second}"))
    return any(
        method in methods and entry.entry in told_entries(name)
        for name in _COMPARED
        for plan, _ in compared_tables(name)
        if plan.table in row.tables.split(", ") and plan.published in claim.published.split("|")
        for method, entry in published_entries(plan).items()
    )


def _bar(by_state: tuple[int, ...]) -> str:
    """Return a bar of characters; each state with any number has at least one."""
    total = sum(by_state)
    wanted = [max(1, round(_BAR * n / total)) if n else 0 for n in by_state]
    wanted[wanted.index(max(wanted))] += _BAR - sum(wanted)
    return "".join(mark * n for mark, n in zip(_MARKS.values(), wanted, strict=True))


def _family_line(rows: list[FamilyWinRow], seeds: int) -> list[str]:
    outcomes = [row.outcome for row in rows]
    counts = [str(outcomes.count(outcome)) for outcome in OUTCOMES]
    decided = [_decided(row) for row in rows if row.outcome in FAMILIES.values()]
    axis = rows[0].axis.replace("|", r"\|")
    return [f"`{rows[0].table}`", axis, f"`{rows[0].dataset}`", str(seeds), *counts, ", ".join(decided)]


def _decided(row: FamilyWinRow) -> str:
    return f"{row.cell}: {row.outcome} by {row.difference:.3f} ({row.low:.3f} to {row.high:.3f})"
