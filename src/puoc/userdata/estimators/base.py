"""What all estimators share: arguments, the fit by way of ``puoc fit``, scores, and model files.

The file is longer than others, because scikit-learn's contract is one class, whose methods use what ``fit`` sets.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from puoc import methods
from puoc.datasets.readers.preprocess import TablePreparing
from puoc.datasets.readers.pu_data import counter_of
from puoc.datasets.readers.unseen import Block
from puoc.methods.persistence import model_file as modelfile
from puoc.records import Params
from puoc.registry import METHODS
from puoc.userdata import fit as fitting
from puoc.userdata.estimators.arguments import check_arguments
from puoc.userdata.estimators.labels import Labels, labels_of
from puoc.userdata.estimators.rows import ArrayRows, Sides, categories_of, is_frame, pair_of, plain_rows, raw_rows
from puoc.userdata.estimators.scorers import pu_auc_score
from puoc.userdata.estimators.words import errors_in_arguments, in_arguments
from puoc.userdata.preflight import learns_from_u
from puoc.userdata.settings import Settings, settings
from puoc.userdata.thresholds import ThresholdRule

_LOG = logging.getLogger(__name__)

#: Largest seed that is drawn from a RandomState.
_SEEDS = 2**31 - 1
#: Arguments of every estimator beside its hyperparameters, with their defaults but for ``threshold``.
COMMON: dict[str, Any] = {
    "class_prior": "tice",
    "encoder": None,
    "recall": 0.9,
    "withhold": 0.2,
    "repeats": None,
    "scaling": "minmax",
    "pos_label": None,
    "random_state": 0,
}
ABOUT = "estimator"  # key of the notes in the header of a model file


class PUEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of ``PUClassifier`` and ``OneClassDetector``, which describe the arguments."""

    _positive_alone = False  # whether fit needs no unlabelled rows
    method: str

    params: Params | None
    class_prior: Any
    encoder: str | None
    threshold: str | None
    recall: float
    withhold: float
    repeats: Any
    scaling: str
    pos_label: Any
    random_state: Any

    _columns: list[str] | None  # names by position; None for a model of puoc fit, which finds columns by name

    def _method(self) -> str:
        return self.method

    def _hyperparameters(self) -> Params:
        return dict(self.params or {})

    def _settings(self) -> Settings:
        """Return the settings of ``puoc fit``. Raises ValueError for an argument that the method does not take."""
        check_arguments(vars(self))
        prior = None if self.class_prior in (None, "tice") else self.class_prior
        with errors_in_arguments():
            return settings(
                self._method(),
                given={name: _plain(value) for name, value in self._hyperparameters().items() if value is not None},
                prior=None if prior is None else prior if isinstance(prior, str) else repr(float(prior)),
                encoder=self.encoder,
                needs_prior=self.threshold == "alpha",
                may_use_prior=self.threshold == "recall",
            )

    def _fit(self, X: Any, y: Any, X_p: Any, X_u: Any) -> Self:
        """Fit to X with labels y, or to X_p and X_u."""
        chosen = self._settings()
        sides, labels = self._sides(X, y, X_p, X_u)
        if isinstance(sides.P, ArrayRows):
            chosen = chosen.for_inputs("image" if sides.P.X.ndim == 4 else "sequence")
        seed = self._seed()
        from_positives = METHODS[chosen.method].kind == "oc" and not learns_from_u(chosen.encoder)
        rule = ThresholdRule(self.threshold == "alpha", self.recall if self.threshold == "recall" else None)
        about: dict[str, Any] = {"columns": self._columns, "classes": labels.classes.tolist()}
        about["named"] = hasattr(self, "feature_names_in_")
        with errors_in_arguments():
            pair = pair_of(
                sides,
                scaling=self.scaling,
                categories=self._categories,
                from_positives=from_positives,
                withhold=self.withhold if rule.recall is not None else 0.0,
                seed=seed,
                repeats=self.repeats,
            )
            fitted = fitting.fit(
                pair, chosen, seed=seed, rule=rule, check_ranking=False, about=cast("Any", {ABOUT: about})
            )
        self.notes_ = [in_arguments(note) for note in fitted.notes]
        self.classes_ = labels.classes
        self._take(fitted.content)
        return self

    def _seed(self) -> int:
        from sklearn.utils import check_random_state

        if isinstance(self.random_state, int | np.integer) and self.random_state >= 0:
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(_SEEDS))

    def _sides(self, X: Any, y: Any, X_p: Any, X_u: Any) -> tuple[Sides, Labels]:
        """Return the rows of P and U, checked as scikit-learn does."""
        if (X is None) == (X_p is None):
            raise ValueError("got X and X_p, or neither; expected fit(X, y), or fit(X_p=..., X_u=...)")
        if X is None:
            if y is not None:
                raise ValueError("got y with X_p; expected no y, since X_p holds the labelled positives")
            P = self._checked(X_p, "X_p", reset=True)
            U = None if X_u is None else self._checked(X_u, "X_u", reset=False)
            if U is not None and U.shape[1:] != P.shape[1:]:
                raise ValueError(f"X_u has rows of shape {U.shape[1:]}; expected {P.shape[1:]}, as X_p has")
            labels = Labels(np.ones(len(P), dtype=np.bool_), np.array([0, 1]))
            return Sides(self._raw(P, "X_p"), None if U is None else self._raw(U, "X_u")), labels
        if X_u is not None:
            raise ValueError("got X and X_u; expected fit(X, y), or fit(X_p=..., X_u=...)")
        X = self._checked(X, "X", reset=True)
        labels = self._labels(len(X), y)
        check_consistent_length(X, labels.labelled)
        parts = [X.loc[mask] if is_frame(X) else X[mask] for mask in (labels.labelled, ~labels.labelled)]
        if not labels.labelled.any():
            raise ValueError("y has no labelled positive; expected at least one row of that class")
        if labels.labelled.all() and not self._positive_alone:
            raise ValueError(
                f"y has one class only, the labelled positives; {self._method()} needs unlabelled rows too, with y of "
                "0 or -1"
            )
        return Sides(self._raw(parts[0], "X_p"), self._raw(parts[1], "X_u") if len(parts[1]) else None), labels

    def _labels(self, n: int, y: Any) -> Labels:
        """Return which of n rows are labelled."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None: expected "
                "1 for labelled positives, and 0 or -1 for unlabelled rows, or fit(X_p=..., X_u=...)"
            )
        return labels_of(y, self.pos_label)

    def _raw(self, X: Any, where: str) -> Any:
        assert self._columns is not None, "set by a fit"
        return raw_rows(X, self._columns, where)

    def _checked(self, X: Any, name: str, *, reset: bool) -> Any:
        """Return X as a DataFrame of pandas or an array of numbers, and set what scikit-learn sets at a fit."""
        X = plain_rows(X)
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if not len(X):
                raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
            if not X.shape[1]:
                raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        else:
            X = validate_data(self, X, reset=reset, dtype="numeric", allow_nd=True, ensure_all_finite="allow-nan")
            if X.ndim > 4:
                raise ValueError(f"{name} has rows of shape {X.shape[1:]}; expected at most three axes a row")
            if X.ndim > 2 and not np.isfinite(X).all():
                raise ValueError(f"Input {name} contains NaN or infinity; expected finite numbers")
        if reset:
            if len(X) < 2:
                raise ValueError(f"{name}: got n_samples = {len(X)}; expected at least 2 rows to learn from")
            names = getattr(self, "feature_names_in_", None)
            self._categories = categories_of(X)
            self._columns = [f"x{at}" for at in range(X.shape[1])] if names is None else [str(one) for one in names]
        return X

    def _take(self, content: bytes) -> None:
        """Take the model of a model file."""
        self.model_bytes_ = content
        self._model = model = modelfile.load(content)
        meta, threshold = model.meta, model.meta.threshold
        self.hyperparameters_ = dict(meta.params)
        self.class_prior_ = meta.about.get("alpha")
        self.threshold_ = None if threshold is None else threshold.value
        # a score that equals the threshold counts as positive: the offset is the number just below
        self.offset_ = 0.0 if threshold is None else float(np.nextafter(threshold.value, -np.inf))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return scores (n,), higher = more likely positive; they equal those of ``puoc score`` with the saved model.

        Parameters
        ----------
        X : (n, d) array, or a DataFrame with the columns of the fit; (n, *shape) for pictures and sequences.

        Raises
        ------
        ValueError : X does not fit the model.
        """
        check_is_fitted(self, "model_bytes_")
        preparing = modelfile.preparing(self._model.meta)
        if self._columns is None:
            return self._scores_by_name(plain_rows(X), preparing)
        X = self._checked(X, "X", reset=False)
        raw = self._raw(X, "X")
        if isinstance(raw, ArrayRows):
            return modelfile.score(self._model, raw.X)
        if not isinstance(preparing, TablePreparing):
            shape = self._model.meta.shape
            raise ValueError(f"X has rows of shape {np.shape(X)[1:]}; expected {shape}, as at the fit")
        with errors_in_arguments():
            return self._scores(preparing, preparing.apply(raw))

    def _scores_by_name(self, X: Any, preparing: Any) -> NDArray[np.float64]:
        """Score the columns of a DataFrame by their names: a model of puoc fit does not know the order of its file."""
        if not is_frame(X):
            raise ValueError(
                f"X is {type(X).__name__}; expected a DataFrame with the columns {', '.join(preparing.names)}, since "
                "the model was fitted to a file"
            )
        with errors_in_arguments():
            return self._scores(preparing, preparing.from_frame(X))

    def _scores(self, preparing: TablePreparing, block: Block) -> NDArray[np.float64]:
        counter = counter_of(preparing)
        counter.add(block)
        for line in counter.result().lines():  # what the rows hold that the training rows did not
            _LOG.info(line)
        return modelfile.score(self._model, block.X)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return ``score_samples(X) - offset_``, shape (n,): above 0 for rows that ``predict`` calls positive.

        Without a threshold the offset is 0. Parameters and errors as ``score_samples``.
        """
        return self.score_samples(X) - self.offset_

    def _reach(self, X: Any) -> NDArray[np.bool_]:
        """Return which rows (n,) reach the threshold. Raises ValueError if there is none."""
        check_is_fitted(self, "model_bytes_")
        if self.threshold_ is None:
            raise ValueError(
                "threshold: got None, so the model gives scores alone; expected threshold='alpha' or 'recall' at the "
                "fit, or decision_function in place of predict"
            )
        return self.score_samples(X) >= self.threshold_

    def score(self, X: Any, y: Any) -> float:
        """Return the AUC of labelled positives against unlabelled rows, as ``puoc.pu_auc_score``.

        Parameters
        ----------
        X : rows as for ``score_samples``.
        y : (n,) 1 for labelled positives, 0 or -1 for unlabelled rows.
        """
        return pu_auc_score(y, self.score_samples(X), pos_label=self.pos_label)

    def save(self, path: str | Path) -> None:
        """Write the model file, which ``puoc.load`` and ``puoc score`` read. It holds arrays and JSON, no pickle.

        Parameters
        ----------
        path : a file that does not exist yet.

        Raises
        ------
        FileExistsError : the file exists; it is not replaced.
        """
        from puoc.store.atomic import create

        check_is_fitted(self, "model_bytes_")
        if not create(Path(path), self.model_bytes_):
            raise FileExistsError(f"{path}: got a file that exists; expected a new path, since no file is replaced")

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: the kinds of rows, missing values, and what y has to be."""
        tags = super().__sklearn_tags__()
        taken = self._inputs()
        tags.input_tags.two_d_array = "vector" in taken
        tags.input_tags.three_d_array = "sequence" in taken
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        tags.target_tags.required = not self._positive_alone
        tags.target_tags.one_d_labels = True
        return tags

    def _inputs(self) -> frozenset[str]:
        try:
            chosen = self._settings()
            return methods.inputs_of(chosen.method, chosen.params)
        except ValueError:  # wrong arguments are reported by fit
            name = self._method()
            cls = METHODS.get(name) if isinstance(name, str) else None
            return frozenset() if cls is None else cls.inputs

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_model", None)  # made again from the bytes of the model file
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "model_bytes_" in state:
            self._take(self.model_bytes_)


def _plain(value: Any) -> Any:
    """Return a number of numpy as one of Python, as a grid of hyperparameters holds them."""
    return value.item() if isinstance(value, np.generic) else value
