"""Expected AUC of each family: what other tables say of such a situation, and what the user's rows say.

The situation is not known: the shares of negatives in U and in V, and whether the negatives of V are new. For each
combination that the evidence allows, the model of ``puoc.analysis.reliability.leads`` has a normal distribution of the
leads of OC and PU over PU-OC. The gains on withheld rows correct it, each with the weight that its error earns, and a
combination has a weight by how well it explains them. All chances and losses are those of this mixture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from puoc.analysis.reliability.leads import SHARES, LeadModel, Normals
from puoc.analysis.reliability.robustness_map import ShiftKind
from puoc.records import Array
from puoc.userdata.assess.evidence import Evidence, Gained
from puoc.userdata.assess.reference_methods import FAMILIES, Family

Kind = Literal["none", "new"]

#: Probability of new negatives in V, before its leads are seen: if the test does not report them, and if it does.
NEW: Final = (1 / 3, 0.9)

_CORRELATED: Final = 0.5  # gains over the same PU-OC, where the evidence does not have their covariance
_POINTS: Final = 512  # drawn from each normal, the same in each
_LEAST: Final = 1e-4  # weight of a normal that counts


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
    by_kind: dict[ShiftKind, Standing]  # without new negatives, and with them


def expected(evidence: Evidence, model: LeadModel, new: float = 0.0) -> Expected:
    """Return what is expected of the families.

    Parameters
    ----------
    new : probability of new negatives, where no incoming rows say more.
    """
    n_p, n_u, alpha, incoming = evidence.n_p, evidence.n_u, evidence.alpha, evidence.incoming
    before = model.situations(n_p, n_u, model.alpha_u.log_weights((alpha.low, alpha.high)))
    known = model.of_u.observe(before, *_gains(evidence.gained, evidence.apart), 1 - SHARES)
    novel = model.over_new(n_p, n_u, known)
    if incoming is not None:
        new = NEW[incoming.new_negatives]
        weights = model.alpha_v.log_weights((incoming.alpha_low, incoming.alpha_high))
        gains = _gains(incoming.gained, incoming.apart)
        known, novel = (model.of_v.observe(*_crossed(one, weights, gains)) for one in (known, novel))
    chance = _chance(known, novel, new)
    both = _weighed(known, 1 - chance).and_(_weighed(novel, chance)) if 0 < chance < 1 else (novel if chance else known)
    return Expected(standing(both), chance, {"none": standing(known), "new": standing(novel)})


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


def _chance(known: Normals, novel: Normals, new: float) -> float:
    """Return the probability of new negatives, by how well each case explains the gains."""
    if new in (0, 1):
        return float(new)
    explains = np.logaddexp.reduce(novel.log_weight) - np.logaddexp.reduce(known.log_weight)
    return float(1 / (1 + (1 - new) / new * np.exp(-np.clip(explains, -50, 50))))


def _weighed(one: Normals, chance: float) -> Normals:
    return one._replace(log_weight=one.log_weight - np.logaddexp.reduce(one.log_weight) + np.log(chance))


def standing(leads: Normals) -> Standing:
    """Return what is expected of the families, given the leads of OC and PU over PU-OC."""
    w = np.exp(leads.log_weight - leads.log_weight.max())
    counts = w > _LEAST * w.sum()
    w, mean, spread = w[counts] / w[counts].sum(), leads.mean[counts], leads.covariance[counts]
    drawn = mean[:, None] + _points() @ np.linalg.cholesky(spread + 1e-12 * np.eye(2)).transpose(0, 2, 1)
    auc = np.stack([drawn[..., 0], np.zeros(drawn.shape[:2]), drawn[..., 1]], axis=-1)  # as FAMILIES, over PU-OC
    loss = w @ (auc.max(axis=2, keepdims=True) - auc).mean(axis=1)
    best, worst = (
        w @ (place[..., None] == np.arange(len(FAMILIES))).mean(axis=1)
        for place in (auc.argmax(axis=2), auc.argmin(axis=2))
    )
    first, second, *_ = (FAMILIES[at] for at in np.argsort(loss, kind="stable"))
    ahead = auc[..., FAMILIES.index(first)] - auc[..., FAMILIES.index(second)]
    return Standing(
        {family: _lead(w, auc[..., at] - auc[..., 1]) for at, family in enumerate(FAMILIES)},
        *(dict(zip(FAMILIES, values.tolist(), strict=True)) for values in (loss, best, worst)),
        first=first,
        second=second,
        over=_lead(w, ahead),
        above=float(w @ (ahead > 0).mean(axis=1)),
    )


def _lead(weights: Array, drawn: Array) -> Lead:
    mean = float(weights @ drawn.mean(axis=1))
    return Lead(mean, float(np.sqrt(weights @ np.square(drawn - mean).mean(axis=1))))


def _points() -> Array:
    """Return standard normal points (n, 2), evenly spread (the R2 sequence of Roberts, 2018)."""
    from scipy.special import ndtri

    plastic = 1.32471795724474602596
    even = (0.5 + np.arange(1, _POINTS + 1)[:, None] * np.array([1 / plastic, 1 / plastic**2])) % 1
    points = ndtri(even)
    found: Array = (points - points.mean(axis=0)) / points.std(axis=0)
    return found
