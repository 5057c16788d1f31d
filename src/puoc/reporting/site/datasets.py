"""The page of a dataset: a card, and the tables that use it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from puoc.reporting.page.places import dataset_page, table_page
from puoc.reporting.page.section import Table
from puoc.reporting.site.standings import Standing, best_names


@dataclass(frozen=True)
class ClassCount:
    """The rows of one class, by part of the data."""

    number: int
    name: str
    counts: list[int]


@dataclass(frozen=True)
class TableLine:
    """A table on the dataset, and its best entry."""

    table: str
    title: str
    href: str
    best: str
    mean: float | None


@dataclass(frozen=True)
class DatasetView:
    """The content of the page."""

    name: str
    inputs: str  # what a row is, in words; empty for user data
    n_rows: int | None
    parts: list[str]  # such as train and test
    classes: list[ClassCount]
    licence: str
    citation: str
    digests: list[str]  # of the plan
    duplicates: str
    files: list[tuple[str, int, str]]  # path, bytes, SHA-256
    notes: list[str]
    tables: list[TableLine]

    @property
    def href(self) -> str:
        """Return its page, from the folder of the reports."""
        return dataset_page(self.name)


def dataset_views(
    root: Path, tables: Sequence[Table], standings: Mapping[str, Sequence[Standing]]
) -> list[DatasetView]:
    """Return the content of the page of each dataset that a table plans, by name.

    Parameters
    ----------
    root : folder of the project; the number of duplicates is known once a dataset is prepared.
    standings : those of each table, by its name.
    """
    names = sorted({table.plan.dataset for table in tables})
    return [_view(root, name, [t for t in tables if t.plan.dataset == name], standings) for name in names]


def _view(root: Path, name: str, tables: Sequence[Table], standings: Mapping[str, Sequence[Standing]]) -> DatasetView:
    from puoc.datasets import DATASETS

    known = DATASETS.get(name)
    counts: Mapping[str, tuple[int, ...]] = getattr(known, "counts", {})
    classes = [
        ClassCount(number, text, [part[number] for part in counts.values() if number < len(part)])
        for number, text in enumerate(getattr(known, "classes", ()))
    ]
    return DatasetView(
        name=name,
        inputs=_inputs(getattr(known, "inputs", ""), getattr(known, "shape", ())),
        n_rows=sum(map(sum, counts.values())) if counts else None,
        parts=list(counts),
        classes=classes if all(len(one.counts) == len(counts) for one in classes) else [],
        licence=getattr(known, "licence", ""),
        citation=getattr(known, "citation", ""),
        digests=sorted({table.plan.data_digest for table in tables}),
        duplicates=_duplicates(root / "work" / "prepared" / name / "meta.json"),
        files=[(file.path, file.size, file.sha256) for file in getattr(known, "files", ())],
        notes=list(dict.fromkeys(note for table in tables for note in (*table.plan.warnings, *table.plan.notes))),
        tables=[_line(table, standings[table.plan.table]) for table in tables],
    )


def _inputs(kind: str, shape: Sequence[int]) -> str:
    """Say in words what a row is."""
    size = " \N{MULTIPLICATION SIGN} ".join(map(str, shape))
    if kind == "vector":
        return f"vectors of {size} numbers" if size else "vectors"
    if kind == "text":
        return f"texts of at most {size} bytes" if size else "texts"
    return f"{kind}s of {size} values" if kind and size else f"{kind}s" if kind else ""


def _duplicates(path: Path) -> str:
    """Say how many rows equal an earlier row, as far as it is known."""
    if not path.is_file():
        return "not known before the data are prepared (puoc prepare)"
    found = json.loads(path.read_text(encoding="utf-8")).get("duplicates")
    if found is None:
        return "not counted"
    return f"{found:,} rows repeat the content of an earlier row" if found else "no row repeats another"


def _line(table: Table, standings: Sequence[Standing]) -> TableLine:
    last = max((one.column for one in standings), default=0)
    best = [one for one in standings if one.column == last and one.summary.rank == 1]
    return TableLine(
        table=table.plan.table,
        title=table.plan.title,
        href=table_page(table.plan.table),
        best=best_names(best),
        mean=best[0].summary.mean if best else None,
    )
