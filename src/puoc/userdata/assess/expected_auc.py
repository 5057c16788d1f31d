"""Expected AUC of each family: what other tables say of such a situation, and what the user's rows say.

The situation is not known: the shares of negatives in U and in V, and whether the negatives of V are new. For each
combination that the evidence allows, the model of ``puoc.analysis.reliability.leads`` has a normal distribution of the
leads of OC and PU over PU-OC. The gains on withheld rows correct it, each with the weight that its error earns, and a
combination has a weight by how well it explains them. All chances and losses are those of this mixture.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Final, NamedTuple

import numpy as np

from puoc.analysis.reliability.leads import SHARES, Labelling, LeadModel, Normals
from puoc.analysis.reliability.robustness_map import ShiftKind
from puoc.records import Array
from puoc.userdata.assess.evidence import Evidence, Gained
from puoc.userdata.assess.reference_methods import FAMILIES, Family

KINDS: Final[tuple[ShiftKind, ...]] = ("none", "new")

#: Probability, before the gains are seen, that P is no random sample of the positives. It is stated, not learned.
BIASED: Final = 0.25

#: Probability of new negatives in V, before its leads are seen: if the test does not report them, and if it does.
NEW: Final = (1 / 3, 0.9)

#: Where U may hold no negatives at all, OC is preferred if its expected loss is at most this much above the smallest.
TIE: Final = 0.01

_CORRELATED: Final = 0.5  # gains over the same PU-OC, where the evidence does not have their covariance
_POINTS: Final = 128  # drawn from each normal, the same in each
_LEAST: Final = 1e-3  # weight of a normal that counts


class Lead(NamedTuple):
    """Difference of two families in AUC of positives against incoming negatives."""

    mean: float
    spread: float  # standard deviation


class Standing(NamedTuple):
    """What is expected of the families in one case."""

    lead: dict[Family, Lead]  # over PU-OC
    loss: dict[Family, float]  # expected AUC of the best family minus that of this one
    best: dict[Family, float]  # probability to be the best family
    worst: dict[Family, float]  # probability to be the worst one
    first: Family  # with the smallest expected loss
    second: Family
    over: Lead  # of the first over the second
    above: float  # probability that the first is better than the second


class Expected(NamedTuple):
    """Standings over all situations that the evidence allows."""

    all: Standing
    new: float  # probability of new negatives
    biased: float  # probability that P is no random sample of the positives
    by_kind: dict[ShiftKind, Standing]  # without new negatives, and with them
    by_labelling: dict[Labelling, Standing]  # P a random sample, and labelled by a biased mechanism
    by_both: dict[ShiftKind, dict[Labelling, Standing]]  # the same for each kind of negatives


def expected(evidence: Evidence, models: Mapping[Labelling, LeadModel], new: float = 0.0) -> Expected:
    """Return what is expected of the families.

    Parameters
    ----------
    new : probability of new negatives, where no incoming rows say more.
    """
    if evidence.incoming is not None:
        new = NEW[evidence.incoming.new_negatives]
    chances: dict[Labelling, float] = {"random": 1 - BIASED, "biased": BIASED}
    cases: dict[tuple[Labelling, ShiftKind], Normals] = {}
    for labelling, chance in chances.items():
        known, novel = _cases(evidence, models[labelling])
        cases[labelling, "none"] = _likely(known, chance, 1 - new)
        cases[labelling, "new"] = _likely(novel, chance, new)
    total = {case: float(np.logaddexp.reduce(one.log_weight)) for case, one in cases.items()}
    whole = np.logaddexp.reduce(list(total.values()))
    share = {case: float(np.exp(weight - whole)) for case, weight in total.items()}
    preferred: Family | None = "OC" if evidence.alpha.high >= 1 else None
    return Expected(
        standing(_together(cases.values()), preferred),
        share["random", "new"] + share["biased", "new"],
        share["biased", "none"] + share["biased", "new"],
        {kind: standing(_together(one for case, one in cases.items() if case[1] == kind), preferred) for kind in KINDS},
        {
            name: standing(_together(one for case, one in cases.items() if case[0] == name), preferred)
            for name in chances
        },
        {kind: {name: standing(cases[name, kind], preferred) for name in chances} for kind in KINDS},
    )


def _cases(evidence: Evidence, model: LeadModel) -> tuple[Normals, Normals]:
    """Return the leads over negatives as in U, and over new ones, after all gains."""
    n_p, n_u, alpha, incoming = evidence.n_p, evidence.n_u, evidence.alpha, evidence.incoming
    before = model.situations(n_p, n_u, model.alpha_u.log_weights((alpha.low, alpha.high)))
    known = model.of_u.observe(before, *_gains(evidence.gained, evidence.apart), 1 - SHARES)
    novel = model.over_new(n_p, n_u, known)
    if incoming is None:
        return known, novel
    weights = model.alpha_v.log_weights((incoming.alpha_low, incoming.alpha_high))
    gains = _gains(incoming.gained, incoming.apart)
    return (
        model.of_v.observe(*_crossed(known, weights, gains)),
        model.of_v.observe(*_crossed(novel, weights, gains)),
    )


def _likely(one: Normals, labelled: float, kind: float) -> Normals:
    """Return the normals with the probability of their case; a case without one counts only where it is asked for."""
    return one._replace(log_weight=one.log_weight + np.log(labelled * max(kind, 1e-9)))


def _together(cases: Iterable[Normals]) -> Normals:
    return reduce(Normals.and_, cases)


def _gains(gained: Sequence[Gained], apart: float | None) -> tuple[Array, Array]:
    """Return the gains (2,) of OC and PU over PU-OC and their covariance (2, 2)."""
    one, _, other = gained
    together = _CORRELATED * one.error * other.error
    if apart is not None:
        together = (one.error**2 + other.error**2 - apart**2) / 2
    errors = np.array([[one.error**2, together], [together, other.error**2]])
    return np.array([one.gain, other.gain]), errors


def _crossed(one: Normals, weights: Array, gains: tuple[Array, Array]) -> tuple[Normals, Array, Array, Array]:
    """Return each normal with each share of positives in V, the gains, and the shares of negatives."""
    counts = np.flatnonzero(weights > weights.max() + np.log(_LEAST))
    log_weight = (one.log_weight[:, None] + weights[counts]).ravel()
    mean, spread = (np.repeat(part, len(counts), axis=0) for part in (one.mean, one.covariance))
    return Normals(log_weight, mean, spread), *gains, np.tile(1 - SHARES[counts], len(one.mean))


def standing(leads: Normals, preferred: Family | None = None) -> Standing:
    """Return what is expected of the families, given the leads of OC and PU over PU-OC.

    Parameters
    ----------
    preferred : comes first if its expected loss is within ``TIE`` of the smallest one.
    """
    w = np.exp(leads.log_weight - leads.log_weight.max())
    counts = w > _LEAST * w.max()
    w, mean, spread = w[counts] / w[counts].sum(), leads.mean[counts], leads.covariance[counts]
    drawn = mean[:, None] + _points() @ np.linalg.cholesky(spread + 1e-12 * np.eye(2)).transpose(0, 2, 1)
    share = np.repeat(w / drawn.shape[1], drawn.shape[1])
    auc = dict(zip(FAMILIES, (drawn[..., 0].ravel(), np.zeros(len(share)), drawn[..., 1].ravel()), strict=True))
    one, base, other = auc.values()
    top, least = np.maximum(np.maximum(one, other), base), np.minimum(np.minimum(one, other), base)
    loss = {family: float(share @ (top - own)) for family, own in auc.items()}
    first, second, *_ = sorted(FAMILIES, key=lambda family: loss[family] - TIE * (family == preferred))
    return Standing(
        {family: _lead(share, own) for family, own in auc.items()},
        loss,
        {family: float(share @ (own == top)) for family, own in auc.items()},
        {family: float(share @ (own == least)) for family, own in auc.items()},
        first=first,
        second=second,
        over=_lead(share, auc[first] - auc[second]),
        above=min(1.0, float(share @ (auc[first] > auc[second]))),
    )


def _lead(weights: Array, drawn: Array) -> Lead:
    mean = float(weights @ drawn)
    return Lead(mean, float(np.sqrt(weights @ np.square(drawn - mean))))


@lru_cache(maxsize=1)
def _points() -> Array:
    """Return standard normal points (n, 2), evenly spread (the R2 sequence of Roberts, 2018)."""
    from scipy.special import ndtri

    plastic = 1.32471795724474602596
    even = (0.5 + np.arange(1, _POINTS + 1)[:, None] * np.array([1 / plastic, 1 / plastic**2])) % 1
    points = ndtri(even)
    found: Array = (points - points.mean(axis=0)) / points.std(axis=0)
    return found
