"""The metrics of a trial from what the ledger stores: its scores, or else its ROC curve. Nothing is fitted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO

import numpy as np

from puoc.analysis.metrics import curve_metrics, test_metrics, withheld_metrics
from puoc.analysis.metrics.counts import Scores, Withheld
from puoc.analysis.metrics.curve import StoredCurve
from puoc.analysis.metrics.probabilities import probabilities_of
from puoc.analysis.statistics import roc
from puoc.analysis.statistics.withheld_scores import decode
from puoc.records import Array, Fit, FitResult, TrialResult
from puoc.store.ledger import Ledger
from puoc.store.ledger_records import content_name


def stored_test_metrics(ledger: Ledger, fit: Fit, trial: TrialResult, alpha: float | None) -> dict[str, float]:
    """Return the metrics of the test rows of a trial by name: those that the stored scores or curve determine.

    Parameters
    ----------
    alpha : share of positives in U in the cell, to which precisions are re-weighted.
    """
    if trial.auc is None:
        return {}
    scores = _whole_scores(ledger, trial)
    if scores is not None:
        wide = np.asarray(scores, dtype=np.float64)
        given = Scores(wide[: trial.n_pos], wide[trial.n_pos :], alpha, probabilities_of(fit.method, fit.params, wide))
        return test_metrics(given) | {"auc": trial.auc}
    if trial.roc is None:
        return {"auc": trial.auc}
    return curve_metrics(StoredCurve(trial.auc, roc.decode(trial.roc), trial.n_pos, trial.n_neg))


def _whole_scores(ledger: Ledger, trial: TrialResult) -> Array | None:
    """Return the scores of a trial; None if they were not kept, or if their file is gone or damaged.

    ``puoc ledger verify`` names such a file. It must not keep a table from being written.
    """
    path = ledger.scores_path(trial)
    if path is None:
        return None
    try:
        content = path.read_bytes()
        if content_name(content) not in path.name:
            return None
        scores: Array = np.load(BytesIO(content), allow_pickle=False)
    except (OSError, ValueError):
        return None
    return scores if scores.shape == (trial.n_pos + trial.n_neg,) else None


def stored_withheld_metrics(result: FitResult, auc: float | None) -> dict[str, float]:
    """Return the criteria on the withheld rows of a fit by name. A record without their scores has the AUC alone."""
    recorded = {} if auc is None else {"auc_val_pu": auc}
    if result.withheld is None:
        return recorded
    positive, unlabelled = decode(result.withheld)
    sample, alpha = result.fit.sample, result.alpha if result.alpha is not None else result.alpha_hat
    n_unl = None if sample.n_neg_unl is None else (sample.n_pos_unl or 0) + sample.n_neg_unl
    return withheld_metrics(Withheld(positive, unlabelled, alpha, sample.n_pos_lab, n_unl)) | recorded


def as_text(metrics: Mapping[str, float]) -> str | None:
    """Return metrics as a JSON object, in the order of their names; None if there are none."""
    return json.dumps(dict(sorted(metrics.items()))) if metrics else None
