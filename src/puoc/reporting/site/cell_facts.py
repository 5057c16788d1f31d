"""What a cell of a table fixes, in words: classes, labelling, setting."""

from __future__ import annotations

import json
from collections.abc import Sequence

from puoc.store.cells import Cell
from puoc.store.counting import counted


def cell_facts(cell: Cell, class_names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the names of what the cell fixes, and their texts."""
    parts = [("positive", cell.pos), ("negative in U", cell.neg), ("negative at test", cell.neg_test)]
    words = [f"{name}: {_classes(value, class_names)}" for name, value in parts if value is not None]
    facts = [("classes", "; ".join(words))]
    if cell.labelling is not None:
        facts.append(("labelling", json.dumps(cell.labelling.canonical(), sort_keys=True)))
    if cell.setting is not None:
        facts.append(("setting", "single training set"))
    if cell.n_noise is not None:
        facts.append(("noise", f"{counted(cell.n_noise, 'negative')} among the labelled rows"))
    if cell.holdout is not None:
        facts.append(("withheld", f"{cell.holdout:g} of P and U"))
    return facts


def _classes(value: object, names: Sequence[str]) -> str:
    """Return the numbers of classes, with the names that say more than the number."""

    def said(number: int) -> str:
        name = names[number] if number < len(names) else ""
        return f"{number} ({name})" if name and name != str(number) else str(number)

    if isinstance(value, tuple):
        return ", ".join(map(said, value))
    start, stop, of = (getattr(value, name) for name in ("start", "stop", "of"))
    return f"{stop - start} drawn by the seed out of {', '.join(map(said, of))}"
