"""Tables about datasets, of docs/datasets.md, for generate.py. A table is a list of lines of cells, the head first."""

from __future__ import annotations

from puoc.datasets import DATASETS


def keel() -> list[list[str]]:
    """Return the tables of the KEEL family with their sizes, and what a row is."""
    lines = [["dataset", "rows", "classes", "a row is", "split", "what is in it"]]
    for name, cls in sorted(DATASETS.items()):
        if not name.startswith("keel_"):
            continue
        about = (cls.__doc__ or "").partition(": ")[2].rstrip(".")
        rows, link = sum(map(sum, cls.counts.values())), f"[`{name}`](#keel-tables)"
        terms = "" if cls.licence.startswith("CC BY") else "; no licence stated"
        lines.append([link, f"{rows:,}", str(len(cls.classes)), f"{cls.shape[0]} numbers", "drawn 4:1", about + terms])
    return lines
