"""Expected AUC of each family: the robustness map, corrected by the withheld rows.

The situation is not known: whether there are new negatives, and the shares of negatives in U and in V. For each
situation that the evidence allows, the map gives the lead of a family over PU-OC as a normal distribution. A gain of
AUC on rows with a share ``s`` of negatives measures s times the lead (see ``puoc.analysis.reliability.gain``). The
gains therefore correct the lead in each situation, and a situation has a weight by how well it explains them. Rows of U
contain no information on new negatives, but those of V do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from puoc.analysis.reliability.robustness_map import Region, ShiftKind, alphas_within, region
from puoc.records import Array
from puoc.userdata.assess.evidence import Evidence, Gained
from puoc.userdata.assess.reference_methods import FAMILIES, Family

# Chosen on the data that the map is learned on, each dataset left out of its own map: docs/reliability.md.
NEW: Final = (0.5, 0.9)  # probability of new negatives if the test does not report them, and if it does
DRAW: Final = 0.1  # standard deviation between the lead on halves of the rows and the lead on all rows
ERROR: Final = 2.0  # factor on the error of the gain, which is that of models of half the rows of one draw

_MIN_SHARE: Final = 0.02  # of negatives
_SHARES: Final = 7  # number of shares of negatives in V that are tried


class Lead(NamedTuple):
    """Lead of a family over PU-OC, in AUC of positives against incoming negatives."""

    mean: float
    spread: float  # standard deviation


class Expected(NamedTuple):
    """Leads of the families over all situations that the evidence allows."""

    lead: dict[Family, Lead]
    new: float  # probability of new negatives
    by_kind: dict[ShiftKind, dict[Family, Lead]]  # without new negatives, and with them


@dataclass
class _Normal:
    """A lead in one situation; ``explains`` is the sum of the log densities of the observed gains."""

    mean: float
    variance: float
    explains: float = 0.0

    def observe(self, own: Gained, share: float) -> None:
        """Correct the lead by a gain on rows with this share of negatives."""
        share = max(share, _MIN_SHARE)
        noise = share**2 * DRAW**2 + (ERROR * own.error) ** 2
        if noise == 0:
            return
        whole = share**2 * self.variance + noise
        off = own.gain - share * self.mean
        self.explains -= 0.5 * (np.log(whole) + off**2 / whole)
        weight = share * self.variance / whole
        self.mean += weight * off
        self.variance *= 1 - weight * share


def expected(evidence: Evidence, table: pd.DataFrame) -> Expected:
    """Return the lead of each family, over all situations and by kind, and the probability of new negatives.

    Parameters
    ----------
    table : a robustness map.
    """
    incoming = evidence.incoming
    new = NEW[incoming is not None and incoming.new_negatives]
    alphas = alphas_within(evidence.alpha.low, evidence.alpha.high)
    shares = (
        [0.0] if incoming is None else np.linspace(1 - incoming.alpha_high, 1 - incoming.alpha_low, _SHARES).tolist()
    )
    weights, kinds, means, variances = [], [], [], []
    for alpha in alphas:
        by_kind: dict[ShiftKind, Region] = {
            kind: region(table, (alpha, alpha), evidence.n_u, kind) for kind in ("none", "new")
        }
        chances: dict[ShiftKind, float] = {"none": 1 - new, "new": new}
        for kind, chance in chances.items():
            for share in shares:
                by_family = [_lead(evidence, index, by_kind, kind, alpha, share) for index in range(len(FAMILIES))]
                weights.append(np.log(chance) + sum(lead.explains for lead in by_family))
                kinds.append(kind == "new")
                means.append([lead.mean for lead in by_family])
                variances.append([lead.variance for lead in by_family])
    w = np.exp(np.array(weights) - max(weights))
    w /= w.sum()
    is_new, moments = np.array(kinds), (np.array(means), np.array(variances))
    return Expected(
        _mixed(w, *moments),
        float(w @ is_new),
        {"none": _mixed(w * ~is_new, *moments), "new": _mixed(w * is_new, *moments)},
    )


def _mixed(weights: Array, means: Array, variances: Array) -> dict[Family, Lead]:
    """Return mean and spread of a mixture of situations (s,), whose means and variances are (s, families)."""
    w = weights / weights.sum()
    mean = w @ means
    spread = np.sqrt(np.maximum(w @ (variances + np.square(means)) - mean**2, 0))
    return {family: Lead(float(m), float(s)) for family, m, s in zip(FAMILIES, mean, spread, strict=True)}


def _lead(
    evidence: Evidence, index: int, by_kind: dict[ShiftKind, Region], kind: ShiftKind, alpha: float, share: float
) -> _Normal:
    family = FAMILIES[index]
    if family == "PU-OC":
        return _Normal(0.0, 0.0)
    of_u, of_kind = (_Normal(by_kind[k].lead[family], by_kind[k].spread[family] ** 2) for k in ("none", kind))
    # U measures the lead over its own negatives, whatever the incoming rows are
    of_u.observe(evidence.gained[index], 1 - alpha)
    lead = of_u if kind == "none" else _Normal(of_kind.mean, of_kind.variance, of_u.explains)
    if evidence.incoming is not None:
        lead.observe(evidence.incoming.gained[index], share)
    return lead
