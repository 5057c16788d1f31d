"""A column that is cut off at a limit in one file alone is asked about; ends of a scale and of a class are not."""

from __future__ import annotations

import numpy as np
import pytest

from puoc.datasets.audit.auditor import Auditor
from puoc.datasets.audit.facts import of_numbers
from puoc.datasets.audit.limits import Limit, limits

RNG = np.random.default_rng(3)
P, U = RNG.normal(50, 10, 150).round(1), RNG.normal(50, 10, 200).round(1)
COUNTS_P, COUNTS_U = (RNG.poisson(20, n).astype(float) for n in (150, 200))
CENSORED = np.where(P < 43, 21.5, P)  # half of the detection limit


def asked(p: np.ndarray, u: np.ndarray) -> str:
    auditor = Auditor()
    auditor.add(of_numbers("x", p, u, "P and U"))
    (column,) = auditor.done((len(p), len(u))).columns
    return "; ".join(column.reasons) if column.verdict == "asked" else ""


@pytest.mark.parametrize(
    ("p", "u", "text"),
    [
        (P.clip(max=60), U, "is cut off at 60 in the labelled positives: "),
        (P, U.clip(min=40), "is cut off at 40 in the unlabelled rows: "),
        (P.clip(45, 55), U, "is cut off at 45 in the labelled positives"),
        (COUNTS_P.clip(max=21), COUNTS_U, "is cut off at 21 in the labelled positives"),
        (CENSORED, np.append(U, RNG.uniform(10, 20, 20)), "is 21.5 in "),
    ],
)
def test_a_limit_of_one_file_is_asked_about(p: np.ndarray, u: np.ndarray, text: str) -> None:
    assert text in asked(p, u)


@pytest.mark.parametrize(
    ("p", "u"),
    [
        (P, U),
        (P.clip(max=60), U.clip(max=60)),  # the scale ends there
        (np.minimum(P, 60), U[U < 60]),  # nothing lies beyond it
        (P[P < 55], U),  # a class may have no large values, without a pile
        (COUNTS_P.clip(max=40), COUNTS_U),  # as good as nothing is cut off
        (RNG.choice([0.0, 1.0, 2.0], 150), RNG.choice([0.0, 1.0, 2.0, 3.0], 200)),  # few values
    ],
)
def test_ends_of_a_scale_or_of_a_class_are_not(p: np.ndarray, u: np.ndarray) -> None:
    assert asked(p, u) == ""


def test_a_limit_has_the_shares_at_it_and_beyond_it() -> None:
    x, y = np.sort(P.clip(max=60)), np.sort(U)
    assert limits(x, y) == [Limit(60.0, True, float(np.mean(x == 60)), float(np.mean(y > 60)))]
    assert limits(y, x) == []
