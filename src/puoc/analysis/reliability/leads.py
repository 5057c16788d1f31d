"""Random-effects model of the leads of OC and PU over PU-OC, learned from tables with known truth.

The leads L = (OC - PU-OC, PU - PU-OC) are differences of AUCs of positives against negatives. Three normal models
with known parameters follow each other (docs/reliability.md has their equations):

* the leads of a situation vary around a mean that depends on alpha and on the numbers of rows, with the variance
  between tables and between draws of a table (``Effects``);
* the gains that withheld rows show are the leads times the share of negatives, with the error of the gains and a
  variance between the halves and all rows (``Seen``);
* alpha varies around a regression on the two ends of its interval (``AlphaGiven``).

``bench/assess_model.py`` estimates the parameters and writes leads.json.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np

from puoc.records import Array

Ends = tuple[float, float]
Labelling = Literal["random", "biased"]

#: Shares of positives that are tried.
SHARES: Final = np.array([*np.arange(0.02, 0.06, 0.02), *np.arange(0.05, 0.96, 0.05), 0.98, 1.0])

#: Fewest and most of the situations that the parameters are estimated from. ``terms`` takes other numbers of rows at
#: the nearer end: a slope in the logarithm of a number says nothing of numbers far outside.
LABELLED: Final = (25, 300)
UNLABELLED: Final = (50, 5000)
COLUMNS: Final = (2, 784)
LEAST_SHARE: Final = 0.0926  # of positives in U, rounded to 4 digits

_EXTREME: Final = 0.02  # logits of shares nearer to 0 or 1 are taken at this distance
_NEAR_ONE: Final = 0.9
_TINY: Final = 1e-5  # variance that keeps matrices regular


class Normals(NamedTuple):
    """Weighted normal distributions of the leads: log weights (s,), means (s, 2) and covariances (s, 2, 2)."""

    log_weight: Array
    mean: Array
    covariance: Array

    def and_(self, other: Self) -> Self:
        """Return both together."""
        return type(self)(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


class Effects(NamedTuple):
    """Leads of a situation, before the rows are seen."""

    coefficients: Array  # (terms, 2)
    log_scale: Array  # (2, 2): by lead, at alpha 0 and per unit of alpha
    correlation: float

    def spread(self, alpha: Array) -> Array:
        """Return the covariance (s, 2, 2) between situations of one alpha."""
        scale = np.exp(self.log_scale[:, 0] + self.log_scale[:, 1] * alpha[:, None])
        return covariance(scale, self.correlation)


class Seen(NamedTuple):
    """How gains on withheld rows follow from the leads."""

    factor: Array  # (2,) of the leads, since the models of halves learn from fewer rows
    spread: Array  # (2,) standard deviation of a lead between halves and all rows
    correlation: float
    error: float  # factor on the standard errors of the gains
    apart: Array  # (2,) standard deviation of a gain that no negatives cause: unlabelled positives are not as P

    def observe(self, before: Normals, gains: Array, errors: Array, share: Array) -> Normals:
        """Return the leads after gains (2,) with covariance (2, 2), measured on rows with shares (s,) of negatives."""
        H = share[:, None, None] * np.diag(self.factor)
        noise = share[:, None, None] ** 2 * covariance(self.spread[None], self.correlation) + self.error**2 * errors
        noise = noise + covariance(self.apart[None], self.correlation) + _TINY * np.eye(2)
        cross = before.covariance @ H.transpose(0, 2, 1)
        whole = H @ cross + noise
        off = gains - np.einsum("sij,sj->si", H, before.mean)
        gain = cross @ np.linalg.inv(whole)
        explains = np.linalg.slogdet(whole)[1] + np.einsum("si,sij,sj->s", off, np.linalg.inv(whole), off)
        return Normals(
            before.log_weight - 0.5 * explains,
            before.mean + np.einsum("sij,sj->si", gain, off),
            before.covariance - gain @ H @ before.covariance,
        )


class AlphaGiven(NamedTuple):
    """Alpha, given the ends of its interval."""

    coefficients: Array  # (3,) of 1 and the logits of both ends
    spread: float  # of the logit
    above: float  # weight of a share above the guaranteed upper end, which holds with 97.5 % if P is a random sample

    def middle(self, ends: Ends) -> float:
        """Return the expected logit of alpha."""
        return float(self.coefficients @ [1.0, *logit(np.array(ends))])

    def interval(self, ends: Ends, level: float) -> Ends:
        """Return the central interval of alpha at a level; its upper end is at most the guaranteed one.

        An upper end from ``_NEAR_ONE`` on is taken as 1, since shares near 1 have almost the same logit here.
        """
        from scipy.special import expit, ndtri

        reach = ndtri((1 + level) / 2) * self.spread
        low, high = expit(self.middle(ends) - reach), expit(self.middle(ends) + reach)
        high = 1.0 if high >= _NEAR_ONE else high
        return float(min(low, ends[1])), float(min(high, ends[1]))

    def log_weights(self, ends: Ends) -> Array:
        """Return the log weight of each of ``SHARES``."""
        z = (logit(SHARES) - self.middle(ends)) / self.spread
        found: Array = -0.5 * z**2 + np.where(ends[1] + 0.025 < SHARES, np.log(self.above), 0.0)
        return np.asarray(found - np.logaddexp.reduce(found))


class LeadModel(NamedTuple):
    """All parameters."""

    none: Effects  # leads over negatives as in U
    new: Effects  # leads over new negatives, around their mean given those over the negatives of U
    new_on_none: Array  # (2, 2) regression of the second on the first
    of_u: Seen
    of_v: Seen
    alpha_u: AlphaGiven
    alpha_v: AlphaGiven

    def situations(self, n_p: int, n_u: int, log_weight: Array) -> Normals:
        """Return the leads over the negatives of U for each of ``SHARES``."""
        mean = terms(SHARES, n_p, n_u) @ self.none.coefficients
        return Normals(log_weight, mean, self.none.spread(SHARES))

    def over_new(self, n_p: int, n_u: int, known: Normals) -> Normals:
        """Return the leads over new negatives, given those over the negatives of U for each of ``SHARES``."""
        x = terms(SHARES, n_p, n_u)
        off = known.mean - x @ self.none.coefficients
        R = self.new_on_none
        spread = R @ known.covariance @ R.T + self.new.spread(SHARES)
        return Normals(known.log_weight, x @ self.new.coefficients + off @ R.T, spread)

    def document(self) -> dict[str, Any]:
        """Return the parameters as JSON types, rounded to 4 digits."""
        return {name: _plain(value) for name, value in self._asdict().items()}

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """Return the model of a document."""
        return cls(
            Effects(*_arrays(document["none"])),
            Effects(*_arrays(document["new"])),
            np.array(document["new_on_none"]),
            Seen(*_arrays(document["of_u"])),
            Seen(*_arrays(document["of_v"])),
            AlphaGiven(*_arrays(document["alpha_u"])),
            AlphaGiven(*_arrays(document["alpha_v"])),
        )


@lru_cache(maxsize=1)
def packaged_leads() -> dict[Labelling, LeadModel]:
    """Read the parameters that are included in the package, for P at random and for biased labelling."""
    document = json.loads(files("puoc.analysis.reliability").joinpath("leads.json").read_text())
    return {"random": LeadModel.of(document["random"]), "biased": LeadModel.of(document["biased"])}


def terms(alpha: Array, n_p: Array | int, n_u: Array | int) -> Array:
    """Return the terms (s, 8) of the mean leads: powers of alpha, and log sizes within the ranges, also times alpha."""
    log_u = np.log(np.clip(n_u, *UNLABELLED) / 500) + 0 * alpha
    log_p = np.log(np.clip(n_p, *LABELLED) / 100) + 0 * alpha
    return np.stack([1 + 0 * alpha, alpha, alpha**2, alpha**8, log_u, alpha * log_u, log_p, alpha * log_p], axis=-1)


def logit(share: Array) -> Array:
    """Return the logits of shares, cut at ``_EXTREME``."""
    cut = np.clip(share, _EXTREME, 1 - _EXTREME)
    return np.asarray(np.log(cut / (1 - cut)))


def covariance(spread: Array, correlation: float) -> Array:
    """Return covariances (s, 2, 2) of standard deviations (s, 2) and a correlation."""
    return np.asarray(spread[:, :, None] * spread[:, None, :] * np.array([[1, correlation], [correlation, 1]]))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return {name: _plain(part) for name, part in value._asdict().items()}  # type: ignore[attr-defined]
    return np.round(np.asarray(value, np.float64), 4).tolist()


def _arrays(part: dict[str, Any]) -> list[Any]:
    return [np.array(value) if isinstance(value, list) else value for value in part.values()]
