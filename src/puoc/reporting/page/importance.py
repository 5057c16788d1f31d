"""How much each hyperparameter of a sweep matters for the validation value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from puoc.analysis.selection.surface import SurfaceRow


class Importance(NamedTuple):
    """The part of a hyperparameter in the differences between configurations."""

    name: str
    share: float  # of the variance of the configurations' validation values, 0 to 1
    spread: float  # between the best and the worst of its values, averaged over all else
    values: list[tuple[str, float, int]]  # each value, its mean validation value, and its configurations


def importances(surface: Sequence[SurfaceRow]) -> list[Importance]:
    """Return the main effect of each varied hyperparameter, the largest first; none with fewer than three values.

    The share is the variance of the means by value over the variance of all configurations: the correlation ratio,
    eta squared. It says nothing on interactions, and in a sweep that is no full grid the shares may overlap.
    """
    known = [(json.loads(row.params), row.val) for row in surface if row.val is not None]
    if len(known) < 3:
        return []
    values = np.array([val for _, val in known])
    total = float(np.sort((values - values.mean()) ** 2).sum())
    found = []
    for name in dict.fromkeys(name for params, _ in known for name in params):
        texts = [json.dumps(params.get(name)) for params, _ in known]
        levels = list(dict.fromkeys(texts))
        if len(levels) < 2:
            continue
        groups = [values[[text == level for text in texts]] for level in levels]
        means = [round(float(np.sort(group).mean()), 10) for group in groups]
        centre = float(values.mean())
        between = sum(len(group) * (mean - centre) ** 2 for group, mean in zip(groups, means, strict=True))
        share = min(1.0, between / total) if total > 0 else 0.0
        rows = [(level.strip('"'), mean, len(group)) for level, mean, group in zip(levels, means, groups, strict=True)]
        found.append(Importance(name, round(share, 10), max(means) - min(means), sorted(rows, key=_order)))
    return sorted(found, key=lambda one: (-one.share, one.name))


def _order(row: tuple[str, float, int]) -> tuple[bool, float, str]:
    try:
        return True, float(row[0]), ""
    except ValueError:
        return False, 0.0, row[0]
