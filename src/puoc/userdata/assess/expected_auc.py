"""What each family is expected to be worth: the robustness map corrected by what the withheld rows say.

A situation is not known: whether new negatives come in, how many negatives U has, how many V. Over each that the
evidence allows, the map gives a family's lead over PU-OC, normal about its mean; a gain of AUC on rows with a share
``s`` of negatives measures s times the lead (see ``reliability_gain``). So each situation has a weight, by how well it
explains the gains, and a lead that they correct. The rows of U say nothing of new negatives; those of V do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from puoc.analysis.reliability.robustness_map import Region, ShiftKind, alphas_within, region
from puoc.userdata.assess.evidence import Evidence, Gained
from puoc.userdata.assess.reference_methods import FAMILIES, Family

# Chosen on the data that the map is learned on, each dataset left out of its own map: docs/reliability.md.
NEW: Final = (0.5, 0.9)  # probability of new negatives where the test does not report them, and where it does
DRAW: Final = 0.1  # standard deviation of a lead between what the halves measure and what the whole gives
ERROR: Final = 2.0  # times that of the gain: models of half the rows, of one draw

_LEAST_SHARE: Final = 0.02  # of negatives
_SHARES: Final = 7  # of V that are tried


class Lead(NamedTuple):
    """Of a family over PU-OC, in AUC of positives against the negatives that come in."""

    mean: float
    spread: float  # standard deviation


@dataclass
class _Normal:
    """A lead in one situation; ``explains`` sums the log density of what was seen."""

    mean: float
    variance: float
    explains: float = 0.0

    def see(self, own: Gained, share: float) -> None:
        """Correct it by a gain on rows with this share of negatives."""
        share = max(share, _LEAST_SHARE)
        noise = share**2 * DRAW**2 + (ERROR * own.error) ** 2
        if noise == 0:
            return
        whole = share**2 * self.variance + noise
        off = own.gain - share * self.mean
        self.explains -= 0.5 * (np.log(whole) + off**2 / whole)
        weight = share * self.variance / whole
        self.mean += weight * off
        self.variance *= 1 - weight * share


def leads(evidence: Evidence, table: pd.DataFrame) -> tuple[dict[Family, Lead], float]:
    """The lead of each family, and the probability that new negatives come in.

    Parameters
    ----------
    table : a robustness map.
    """
    later = evidence.incoming
    new = NEW[later is not None and later.new_negatives]
    alphas = alphas_within(evidence.alpha.low, evidence.alpha.high)
    shares = [0.0] if later is None else np.linspace(1 - later.alpha_high, 1 - later.alpha_low, _SHARES).tolist()
    weights, kinds, means, variances = [], [], [], []
    for alpha in alphas:
        by_kind: dict[ShiftKind, Region] = {
            kind: region(table, (alpha, alpha), evidence.n_u, kind) for kind in ("none", "new")
        }
        chances: dict[ShiftKind, float] = {"none": 1 - new, "new": new}
        for kind, chance in chances.items():
            for share in shares:
                found = [_lead(evidence, at, by_kind, kind, alpha, share) for at in range(len(FAMILIES))]
                weights.append(np.log(chance) + sum(one.explains for one in found))
                kinds.append(kind == "new")
                means.append([one.mean for one in found])
                variances.append([one.variance for one in found])
    w = np.exp(np.array(weights) - max(weights))
    w /= w.sum()
    mean = w @ np.array(means)
    spread = np.sqrt(np.maximum(w @ (np.array(variances) + np.square(means)) - mean**2, 0))
    found_leads = {family: Lead(float(m), float(s)) for family, m, s in zip(FAMILIES, mean, spread, strict=True)}
    return found_leads, float(w @ np.array(kinds))


def _lead(
    evidence: Evidence, at: int, by_kind: dict[ShiftKind, Region], kind: ShiftKind, alpha: float, share: float
) -> _Normal:
    family = FAMILIES[at]
    if family == "PU-OC":
        return _Normal(0.0, 0.0)
    of_u, of_kind = (_Normal(by_kind[k].lead[family], by_kind[k].spread[family] ** 2) for k in ("none", kind))
    # what U shows is a lead over its own negatives, whatever comes in
    of_u.see(evidence.gained[at], 1 - alpha)
    found = of_u if kind == "none" else _Normal(of_kind.mean, of_kind.variance, of_u.explains)
    if evidence.incoming is not None:
        found.see(evidence.incoming.gained[at], share)
    return found
