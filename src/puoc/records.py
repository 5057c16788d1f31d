"""Records of samples, fits, trials and their results.

A fit is identified by its content: ``Record.id`` hashes the canonical JSON of a record. So two tables that need the
same fit share it. No record names a table or a scenario.

The file is longer than others, because the records contain one another, and their JSON is read as one format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal, Self

from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

#: Array of any numeric type; a docstring gives its shape.
Array = NDArray[Any]
#: Hyperparameters by name, as plain JSON types.
Params = dict[str, JsonValue]
#: A JSON object.
JsonObject = dict[str, JsonValue]
Classes = tuple[int, ...]
Status = Literal["ok", "failed", "skipped"]


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical_json(value: object) -> str:
    """Return JSON text that is equal for equal content: sorted keys, no blanks, shortest floats, no NaN."""
    return _CANONICAL.encode(value)


def content_id(value: object) -> str:
    """Return the hash of a JSON value, 24 hexadecimal digits."""
    return blake2b(canonical_json(value).encode(), digest_size=12).hexdigest()


class Record(BaseModel):
    """A frozen record, compared by content. The JSON has no absent optional fields, so adding a field keeps old ids."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def canonical(self) -> JsonObject:
        """Return the record as plain JSON types, without absent fields."""
        return self.model_dump(mode="json", exclude_none=True)

    @cached_property
    def id(self) -> str:
        """Return the hash of the canonical JSON."""
        return content_id(self.canonical())

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other values for some fields; its id is computed anew."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("id", None)  # pydantic copies a cached value too
        return copied


class Labelling(Record):
    """A mechanism of biased labelling (SAR): how the propensity e(x) = p(labelled | y=1, x) depends on a positive row.

    ``clear_first`` is p^strength and ``ambiguous_first`` (1.5 - p)^strength, where p = p(y=1 | x) is from a model of
    true labels. ``linear`` is 1 - strength + strength z, where z is a feature scaled to [0, 1]. ``by_class`` is
    1 - strength for some of the positive classes and 1 for the others. As the number of labelled rows is fixed, the
    propensity counts up to a factor.
    """

    sar: Literal["clear_first", "ambiguous_first", "linear", "by_class"]
    strength: float = Field(gt=0, le=100)
    feature: int | None = Field(None, ge=0)  # of linear: position in the flattened row
    classes: Classes | None = None  # of by_class, sorted

    @model_validator(mode="after")
    def _whole(self) -> Self:
        needed = {"linear": "feature", "by_class": "classes"}.get(self.sar)
        for name in ("feature", "classes"):
            if (getattr(self, name) is not None) != (name == needed):
                owner = "linear" if name == "feature" else "by_class"
                raise ValueError(f"expected the key {name} with sar: {owner}, and with no other mechanism")
        if self.sar == "linear" and self.strength >= 1:
            raise ValueError("expected a strength below 1 with sar: linear, which is the range of the propensity")
        if self.sar == "by_class" and self.strength > 1:
            raise ValueError("expected a strength of at most 1 with sar: by_class; 1 labels no row of these classes")
        return self

    @property
    def needs_model(self) -> bool:
        """Return True if the propensity depends on p(y=1 | x)."""
        return self.sar in ("clear_first", "ambiguous_first")

    @property
    def label(self) -> str:
        """Return a short name, such as ``clear_first 10`` or ``by_class {1,2} 1``."""
        which = "" if self.feature is None else f" {self.feature}"
        if self.classes is not None:
            which = f" {','.join(map(str, self.classes))}"
        return f"{self.sar}{which} {self.strength:g}"


class Sample(Record):
    """The training data of a fit: the numbers of rows of each class. The sample and the seed determine the rows.

    The sample of an OC fit has no unlabelled rows (``neg``, ``n_pos_unl`` and ``n_neg_unl`` are absent), so that one OC
    fit serves every table with the same labelled positives.
    """

    dataset: str
    data_digest: str  # of the prepared arrays
    pos: Classes  # classes that are positive, sorted
    n_pos_lab: int = Field(gt=0)  # labelled positives drawn
    holdout: float = Field(0.0, ge=0, lt=1)  # share of the rows of P and of U that is withheld after drawing
    neg: Classes | None = None  # classes of the negatives in U, sorted
    n_pos_unl: int | None = Field(None, ge=0)
    n_neg_unl: int | None = Field(None, ge=0)
    unknown_u: Literal[True] | None = None  # user data: the classes of U are unknown; n_neg_unl counts all its rows
    reading: str | None = None  # user data: id of the reader that turns a file into rows; the model keeps it
    labelling: Labelling | None = None  # absent: SCAR
    #: the labelled rows are taken out of the sample that has U; absent: case control, P is drawn beside U
    setting: Literal["single_training_set"] | None = None
    n_noise: int | None = Field(None, gt=0)  # rows among the n_pos_lab that are negatives; absent: none

    @model_validator(mode="after")
    def _whole(self) -> Self:
        unlabelled = (self.neg, self.n_pos_unl, self.n_neg_unl)
        if any(part is None for part in unlabelled) and not all(part is None for part in unlabelled):
            raise ValueError(f"got neg, n_pos_unl and n_neg_unl {unlabelled}; expected all three or none")
        return self

    @property
    def alpha(self) -> float | None:
        """Return the share of positives in U, p(y=1 | s=0); None if there is no U or the share is unknown."""
        if self.n_pos_unl is None or self.n_neg_unl is None or self.n_pos_unl + self.n_neg_unl == 0 or self.unknown_u:
            return None
        return self.n_pos_unl / (self.n_pos_unl + self.n_neg_unl)

    @property
    def is_plain(self) -> bool:
        """Return True for SCAR, case control and no noise in P: P does not depend on U."""
        return self.labelling is None and self.setting is None and self.n_noise is None

    def labelled_only(self) -> Sample:
        """Return the sample without U, as an OC method uses it. U stays where the rows of P depend on it."""
        if not self.is_plain:
            return self
        return self.model_copy(update={"neg": None, "n_pos_unl": None, "n_neg_unl": None})


class Encoding(Record):
    """An encoder of rows: learned from the sample by a separate fit, or frozen, which is the same for every sample."""

    name: str
    params: Params
    #: the rows that it is learned from: ``all_positives`` are all training rows of the positive classes, which users do
    #: not have; ``training_rows`` are P and U. Absent for a frozen encoder
    ae_data: Literal["labelled_positives", "all_positives", "training_rows"] | None = None
    code_digest: str


class Prior(Record):
    """The source of the class prior alpha of a fit.

    The kind is ``true`` (from the draw), ``fixed`` (a number), or the name of an estimator or of a method that
    estimates alpha. In the last case a separate fit on the same sample estimates it.
    """

    kind: str
    value: float | None = Field(None, gt=0, lt=1)
    params: Params | None = None  # this and the next two: only if alpha is estimated
    encoder: str | Encoding | None = None
    code_digest: str | None = None

    @model_validator(mode="after")
    def _value_where_fixed(self) -> Self:
        if (self.kind == "fixed") != (self.value is not None):
            raise ValueError(f"got the prior {self.kind} with value {self.value}; expected a value only if fixed")
        return self


class Fit(Record):
    """The training of one method, encoder or estimator of the class prior on one sample, with one seed.

    ``code_digest`` covers the code of the method, ``draw_digest`` that of the draw. A fit may need the results of other
    fits on the same sample and seed (``needs``): those of its encoder and of its class prior. They are identified by
    content, so fits that need the same fit share it.
    """

    method: str
    params: Params  # validated by the method's class, so that 1 and 1.0 are equal for a float
    sample: Sample
    seed: int
    prior: Prior | None = None  # absent for OC methods
    encoder: str | Encoding | None = None  # absent: the method uses the raw rows
    numerics: Literal["fp32", "bf16"] = "fp32"
    #: oracle: the true classes of U, for the PN reference alone; all_positives: for an encoder, see ``Encoding``
    labels: Literal["pu", "oracle", "all_positives"] = "pu"
    code_digest: str
    draw_digest: str

    @model_validator(mode="after")
    def _uses_known_classes(self) -> Self:
        uses_classes_of_u = self.labels == "oracle" or (self.prior is not None and self.prior.kind == "true")
        if self.sample.unknown_u and uses_classes_of_u:
            raise ValueError(
                f"{self.sample.dataset}: the classes of U are unknown, so a fit cannot use the true classes or alpha"
            )
        return self

    @property
    def lane_key(self) -> str:
        """Return a key that is equal for fits that can be lanes of one batch: equal shapes and hyperparameters."""
        shared, sample = self.canonical(), self.sample.canonical()
        del shared["seed"]
        shared["sample"] = {
            key: sample.get(key) for key in ("dataset", "n_pos_lab", "n_pos_unl", "n_neg_unl", "holdout")
        }
        return content_id(shared)

    def encoder_fit(self) -> Fit | None:
        """Return the fit of the encoder; None if the encoder is not fitted."""
        encoder = self.encoder
        if not isinstance(encoder, Encoding) or encoder.ae_data is None:
            return None
        return Fit(
            method=encoder.name,
            params=encoder.params,
            sample=self.sample if encoder.ae_data == "training_rows" else self.sample.labelled_only(),
            seed=self.seed,
            labels="all_positives" if encoder.ae_data == "all_positives" else "pu",
            code_digest=encoder.code_digest,
            draw_digest=self.draw_digest,
        )

    def frozen_encoder(self) -> Encoding | None:
        """Return the frozen encoder, whose features are computed once for a dataset; None if there is none."""
        encoder = self.encoder
        return encoder if isinstance(encoder, Encoding) and encoder.ae_data is None else None

    def prior_fit(self) -> Fit | None:
        """Return the fit that estimates the class prior; None if the prior is not estimated."""
        prior = self.prior
        if prior is None or prior.params is None or prior.code_digest is None:
            return None
        return Fit(
            method=prior.kind,
            params=prior.params,
            sample=self.sample,
            seed=self.seed,
            encoder=prior.encoder,
            code_digest=prior.code_digest,
            draw_digest=self.draw_digest,
        )

    def needs(self) -> tuple[Fit, ...]:
        """Return the fits whose results this fit uses directly."""
        return tuple(fit for fit in (self.encoder_fit(), self.prior_fit()) if fit is not None)

    def all_needs(self) -> Iterator[Fit]:
        """Yield the fits that this fit uses, directly or through another one; the same one can come twice."""
        for need in self.needs():
            yield need
            yield from need.all_needs()


class TestSet(Record):
    """The test rows of a trial: every test row of these classes. ``neg`` is empty for user data without a test file."""

    __test__ = False  # not a test case of pytest

    pos: Classes
    neg: Classes


class Trial(Record):
    """A fit scored on one test set. A fit may have several trials: 1->2 and 1->8 are one model."""

    fit: Fit
    test: TestSet


class FitResult(Record):
    """The result of training; one per fit in the ledger."""

    fit: Fit
    status: Status
    reason: str | None = None  # why it failed or was skipped
    attempts: int = Field(1, ge=1)
    auc_val_pu: float | None = None  # AUC of withheld labelled positives against withheld unlabelled rows
    #: scores of the withheld rows as text, see puoc.analysis.statistics.withheld_scores; not in published results
    withheld: str | None = None
    alpha: float | None = None  # class prior that the method used
    alpha_hat: float | None = None  # class prior that the method itself estimated
    curve: dict[str, tuple[float, ...]] = {}  # objective by epoch, or before and after an exact solution
    fit_seconds: float | None = None  # wall time of the batch of lanes / n_lanes
    peak_memory: int | None = None  # of the worker, bytes
    n_lanes: int | None = None
    lane_map: str | None = None
    device: str | None = None
    model: str | None = None  # file beside the record
    versions: dict[str, str] = {}
    git: JsonObject = {}
    machine: str | None = None  # processor, system and number of cores
    session: str | None = None  # the dvc repro that made the attempt, otherwise the process
    #: for a result that was computed for a fit with other digests: the id of that fit, and what was compared
    adopted: JsonObject | None = None
    imported: str | None = None  # title and date of the published results that the record comes from


class TrialResult(Record):
    """The result of scoring a fit on one test set. The scores are in a file beside the record."""

    trial_id: str
    fit_id: str
    test: TestSet
    auc: float | None = Field(None, ge=0, le=1)  # held-out test rows; absent for user data without labelled test rows
    auc_train_pool: float | None = None  # the same model on training rows, as seven of the released scripts score it
    auc_val_pu: float | None = None  # of withheld rows, if scored after the final record; otherwise see FitResult
    n_pos: int
    n_neg: int
    scoring_digest: str
    scores: str | None = None  # file beside the record: scores of the test rows, positives first
    roc: str | None = None  # ROC curve as text, see puoc.analysis.statistics.roc: it stays where scores are not kept
    imported: str | None = None  # title and date of the published results that the record comes from
