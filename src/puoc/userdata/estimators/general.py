"""The two general estimators, which take any method by name."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, OutlierMixin
from sklearn.utils.metaestimators import available_if

from puoc.records import Params
from puoc.registry import METHODS
from puoc.userdata.estimators.base import PUEstimator
from puoc.userdata.estimators.labels import Labels, labels_of

#: Methods whose score is the posterior p(y=1 | x) of an unlabelled row, and on each of the tables of
#: docs/evidence/probabilities.parquet has a lower Brier score than alpha, said of each row. Others have not, where TIcE
#: estimates alpha.
_POSTERIORS = ("dedpul",)


def _has_posterior(estimator: PUEstimator) -> bool:
    return estimator._method() in _POSTERIORS


class PUClassifier(ClassifierMixin, PUEstimator):  # type: ignore[misc]
    """A positive-unlabelled method, or a PU-OC one, as a scikit-learn classifier.

    Parameters
    ----------
    method : registered name, such as ``"nnpu"``; ``puoc methods`` lists them.
    params : hyperparameters by name, which replace those of ``puoc fit``.
    class_prior : share of positives among the unlabelled rows, in (0, 1), or an estimator: ``"tice"``, ``"bbe"``,
        ``"dedpul_alpha"`` or ``"dedpul_isotonic"``. None means ``"tice"``. It is not used where neither the
        method nor the threshold needs it.
    encoder : None, ``"flatten"``, ``"components"``, ``"standardised"``, ``"autoencoder"`` or ``"imagenet"``.
    threshold : rule of ``predict``. ``"alpha"``: the share ``class_prior`` of the unlabelled rows is called positive.
        ``"recall"``: at least ``recall`` of new positives is expected to be called positive, by positives that are
        withheld from the fit. None: scores alone, and ``predict`` raises an error.
    recall, withhold : for ``threshold="recall"``: the share of positives, and the share of P that is withheld.
    repeats : for ``threshold="recall"`` if rows of P repeat: ``"together"`` (copies) or ``"apart"``.
    scaling : of columns of numbers, by the training rows: ``"minmax"`` to [0, 1], or ``"standard"``.
    pos_label : label of positives in y. None: 1, where all others are 0 or -1. ``"larger"``: the last label in sorted
        order.
    random_state : seed of the fit; the same one gives the same model. None draws another one for each fit.

    Attributes
    ----------
    classes_ : (2,) label of unlabelled rows, which ``predict`` gives to negatives, and label of positives.
    hyperparameters_ : those of the fit.
    class_prior_ : class prior that was given or estimated; None if none was needed.
    threshold_ : score from which a row is called positive; None without one.
    offset_ : number just below ``threshold_``, which ``decision_function`` subtracts; 0 without a threshold.
    notes_ : what the fit found, in words.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Raises
    ------
    ValueError : in ``fit``: rows that are not finite or too few, labels other than positive and unlabelled, an unknown
        method or hyperparameter, or rows of a kind that the method does not take. In ``predict``: no threshold.

    Source: that of the method; ``puoc methods`` names it.

    Examples
    --------
    >>> from puoc import PUClassifier, make_pu
    >>> X, y, _ = make_pu(n_p=50, n_u=100, alpha=0.3, random_state=0)
    >>> model = PUClassifier("pu_svm", class_prior=0.3).fit(X, y)
    >>> int(model.predict(X[y == 0]).sum())
    30
    """

    def __init__(
        self,
        method: str = "nnpu",
        *,
        params: Params | None = None,
        class_prior: Any = "tice",
        encoder: str | None = None,
        threshold: str | None = "alpha",
        recall: float = 0.9,
        withhold: float = 0.2,
        repeats: str | None = None,
        scaling: str = "minmax",
        pos_label: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.method = method
        self.params = params
        self.class_prior = class_prior
        self.encoder = encoder
        self.threshold = threshold
        self.recall = recall
        self.withhold = withhold
        self.repeats = repeats
        self.scaling = scaling
        self.pos_label = pos_label
        self.random_state = random_state

    def fit(self, X: Any = None, y: Any = None, *, X_p: Any = None, X_u: Any = None) -> Self:
        """Fit to rows X with labels y, or to X_p and X_u.

        Parameters
        ----------
        X : (n, d) array or DataFrame of all rows; for pictures (n, channels, height, width) of uint8, or of floats in
            [0, 1]; for sequences (n, T, 1 + d).
        y : (n,) 1 for labelled positives, 0 or -1 for unlabelled rows; see ``pos_label``.
        X_p, X_u : labelled positives and unlabelled rows, in place of X and y.

        Raises
        ------
        ValueError : the rows, the labels or the arguments do not suit the method. Nothing is kept then.
        """
        _check_kind(self, one_class=False)
        return self._fit(X, y, X_p, X_u)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels (n,) of ``classes_``, by the threshold. Raises ValueError without one."""
        reached = self._reach(X)
        return np.asarray(self.classes_[reached.astype(int)])

    @available_if(_has_posterior)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return probabilities (n, 2) of ``classes_``, for rows with the share of positives of the unlabelled ones.

        Only DEDPUL has this method, since its score is a posterior. It is approximate: on 8 tables, the mean distance
        to the share of positives in ten bins was 0.11, and 0.17 on the worst table (docs/python.md). The posterior has
        DEDPUL's own estimate of the class prior, and not ``class_prior``. ``predict`` follows the threshold and not the
        larger probability.

        Parameters
        ----------
        X : rows as for ``score_samples``.

        Raises
        ------
        ValueError : X does not fit the model.

        Source: Ivanov, DEDPUL, 2020.
        """
        positive = np.clip(self.score_samples(X), 0.0, 1.0)
        return np.stack([1 - positive, positive], axis=1)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags, with those of a binary classifier."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class OneClassDetector(OutlierMixin, PUEstimator):  # type: ignore[misc]
    """A one-class method as a scikit-learn outlier detector.

    It learns from the labelled positives. Unlabelled rows are only used for a threshold by alpha, or by an encoder that
    learns from them.

    Parameters
    ----------
    method : registered name, such as ``"drocc"``; ``puoc methods`` lists them.
    threshold : rule of ``predict``, as for ``PUClassifier``. ``"recall"`` needs positives that are withheld: 9 of them
        for a recall of 0.9, so 45 positives. ``"alpha"`` needs unlabelled rows.
    pos_label : as for ``PUClassifier``; or ``"all"``, which takes all rows as positives whatever y says, as
        scikit-learn's outlier detectors do.
    params, class_prior, encoder, recall, withhold, repeats, scaling, random_state : as for ``PUClassifier``.

    Attributes
    ----------
    See ``PUClassifier``. ``predict`` gives 1 to positives and -1 to other rows.

    Raises
    ------
    ValueError : in ``fit``: rows that are not finite or too few, an unknown method or hyperparameter, or rows of a kind
        that the method does not take. In ``predict``: no threshold.

    Source: that of the method; ``puoc methods`` names it.

    Examples
    --------
    >>> from puoc import OneClassDetector, make_pu
    >>> X, y, truth = make_pu(n_p=100, n_u=100, alpha=0.5, separation=6.0, random_state=0)
    >>> model = OneClassDetector("knn").fit(X[y == 1])
    >>> round(float((model.predict(X[truth == 0]) == -1).mean()), 2)
    1.0
    """

    _positive_alone = True

    def __init__(
        self,
        method: str = "oc_svm",
        *,
        params: Params | None = None,
        class_prior: Any = "tice",
        encoder: str | None = None,
        threshold: str | None = "recall",
        recall: float = 0.9,
        withhold: float = 0.2,
        repeats: str | None = None,
        scaling: str = "minmax",
        pos_label: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.method = method
        self.params = params
        self.class_prior = class_prior
        self.encoder = encoder
        self.threshold = threshold
        self.recall = recall
        self.withhold = withhold
        self.repeats = repeats
        self.scaling = scaling
        self.pos_label = pos_label
        self.random_state = random_state

    def fit(self, X: Any = None, y: Any = None, *, X_p: Any = None, X_u: Any = None) -> Self:
        """Fit to rows X, all positive if there is no y, or to X_p (and X_u for a threshold by alpha).

        Parameters
        ----------
        X, y, X_p, X_u : as for ``PUClassifier.fit``; y may be absent.

        Raises
        ------
        ValueError : as ``PUClassifier.fit``.
        """
        _check_kind(self, one_class=True)
        return self._fit(X, y, X_p, X_u)

    def _labels(self, n: int, y: Any) -> Labels:
        if y is None or (isinstance(self.pos_label, str) and self.pos_label == "all"):
            return Labels(np.ones(n, dtype=np.bool_), np.array([-1, 1]))
        return labels_of(y, self.pos_label)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return 1 for rows (n,) that reach the threshold, and -1 for others. Raises ValueError without a threshold."""
        return np.where(self._reach(X), 1, -1)


def _check_kind(estimator: PUEstimator, *, one_class: bool) -> None:
    name = estimator._method()
    cls = METHODS.get(name) if isinstance(name, str) else None
    if cls is None:
        near = get_close_matches(str(name), METHODS, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"method: got {name!r}{hint}; expected one of {', '.join(sorted(METHODS))}")
    if (cls.kind == "oc") != one_class:
        right = "PUClassifier" if one_class else "OneClassDetector"
        raise ValueError(
            f"method: got {name!r}, which is a method of {right}; expected one of {type(estimator).__name__}"
        )
