"""What unlabelled rows add to a one-class method that estimates a density: the excess of U over the positives in it.

U has the density u = alpha p + (1 - alpha) q, of positives p and negatives q. A one-class method that ranks by p
assumes that negatives are spread evenly, with a constant density c. Its PU-OC extension assumes negatives of both
kinds: those of U, whose density times (1 - alpha) is the excess u - alpha p, and evenly spread ones of weight alpha.
The score is

    log p - log(max(u - alpha p, 0) + alpha c) = -log(max(r - alpha, 0) + alpha c / p),    r = u / p.

If U holds no negatives, then u = p and alpha is 1. The excess vanishes, and the score log p - log c has the order of
the one-class method. If U holds negatives alone, then alpha is 0 and the score is the log-likelihood ratio of p and q.
Since r is estimated from few rows, a lower confidence bound takes its place: an excess counts only where it is
significant.
"""

from __future__ import annotations

import numpy as np

from puoc.records import Array


def score(log_ratio: Array, standard_error: Array | float, log_level: Array, alpha: float, caution: float) -> Array:
    """Return the scores of the PU-OC extension.

    Parameters
    ----------
    log_ratio : (n,) estimates of log(u / p).
    standard_error : of ``log_ratio``, a number or (n,).
    log_level : (n,) estimates of log(c / p), which rise as the one-class method finds a row less likely positive.
    alpha : class prior, in (0, 1).
    caution : number of standard errors by which ``log_ratio`` is lowered.
    """
    lowered = np.exp(np.minimum(log_ratio - caution * standard_error, 700.0))  # exp(710) is infinite
    with np.errstate(divide="ignore"):
        log_excess = np.log(np.maximum(lowered - alpha, 0.0))
    found: Array = -np.logaddexp(log_excess, np.log(alpha) + log_level)
    return found
