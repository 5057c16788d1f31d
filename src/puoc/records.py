"""The records everything else is keyed by: what a fit is trained on, what was asked, what came out.

A question is identified by its content: ``Record.id`` hashes the record's canonical JSON, so two tables that ask the
same ask for one fit. No record names a table or a scenario.
"""

from __future__ import annotations

import json
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


def canonical_json(value: object) -> str:
    """One text for equal content: sorted keys, no blanks, shortest floats, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def content_id(value: object) -> str:
    """24 hexadecimal digits that name the content of a JSON value."""
    return blake2b(canonical_json(value).encode(), digest_size=12).hexdigest()


class Record(BaseModel):
    """Frozen, compared by content. An absent optional field is left out of the JSON, so adding one keeps old ids."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def canonical(self) -> JsonObject:
        """The record as plain JSON types, without absent fields."""
        return self.model_dump(mode="json", exclude_none=True)

    @property
    def id(self) -> str:
        """Hash of the canonical JSON."""
        return content_id(self.canonical())


class Sample(Record):
    """What a fit is trained on: how many rows of which classes. The rows follow from this and the fit's seed.

    An OC fit carries no unlabelled rows (``neg``, ``n_pos_unl`` and ``n_neg_unl`` are absent), so that one OC fit
    serves every table with the same labelled positives.
    """

    dataset: str
    data_digest: str  # of the prepared arrays
    pos: Classes  # classes that are positive, sorted
    n_pos_lab: int = Field(gt=0)  # labelled positives drawn
    holdout: float = Field(0.0, ge=0, lt=1)  # share of the rows of P and of U that is withheld after drawing
    neg: Classes | None = None  # classes of the negatives in U, sorted
    n_pos_unl: int | None = Field(None, ge=0)
    n_neg_unl: int | None = Field(None, ge=0)
    unknown_u: Literal[True] | None = None  # own data: nobody knows the classes of U; all its rows are in n_neg_unl
    reading: str | None = None  # own data: names the way from a file to the rows, which a fit's model keeps

    @model_validator(mode="after")
    def _whole(self) -> Self:
        unlabelled = (self.neg, self.n_pos_unl, self.n_neg_unl)
        if any(part is None for part in unlabelled) and not all(part is None for part in unlabelled):
            raise ValueError(f"neg, n_pos_unl and n_neg_unl stand together or not at all, got {unlabelled}")
        return self

    @property
    def alpha(self) -> float | None:
        """Share of positives in U, p(y=1 | s=0); absent where there is no U, or nobody knows it."""
        if self.n_pos_unl is None or self.n_neg_unl is None or self.n_pos_unl + self.n_neg_unl == 0 or self.unknown_u:
            return None
        return self.n_pos_unl / (self.n_pos_unl + self.n_neg_unl)

    def labelled_only(self) -> Sample:
        """The same sample as an OC method sees it."""
        return self.model_copy(update={"neg": None, "n_pos_unl": None, "n_neg_unl": None})


class Encoding(Record):
    """A representation: learned from the sample by a fit of its own, or frozen, the same for every sample."""

    name: str
    params: Params
    #: what it is learned from; ``all_positives``, every training row of the positive classes, no user could have;
    #: ``training_rows`` are P and U. Absent for a frozen one
    ae_data: Literal["labelled_positives", "all_positives", "training_rows"] | None = None
    code_digest: str


class Prior(Record):
    """How a method learns the class prior alpha.

    ``true`` (from the draw), ``fixed`` (a given number), or the name of an estimator or of a method that estimates it,
    which a fit of its own then does on the same sample.
    """

    kind: str
    value: float | None = Field(None, gt=0, lt=1)
    params: Params | None = None  # these three where it is estimated
    encoder: str | Encoding | None = None
    code_digest: str | None = None

    @model_validator(mode="after")
    def _value_where_fixed(self) -> Self:
        if (self.kind == "fixed") != (self.value is not None):
            raise ValueError(f"a fixed prior needs a value and no other kind takes one, got {self.kind}, {self.value}")
        return self


class Fit(Record):
    """One question put to one method, encoder or estimator of the class prior.

    ``code_digest`` covers its code, ``draw_digest`` that of the draw. What another fit on the same sample and seed has
    to answer before, it asks by content (``needs``), so methods that ask the same share the answer.
    """

    method: str
    params: Params  # validated by the method's class, so 1 and 1.0 do not differ where a float is meant
    sample: Sample
    seed: int
    prior: Prior | None = None  # absent for OC methods
    encoder: str | Encoding | None = None  # absent: the method sees the raw rows
    numerics: Literal["fp32", "bf16"] = "fp32"
    #: oracle: the true classes of U, for the PN reference alone; all_positives: of an encoder, see ``Encoding``
    labels: Literal["pu", "oracle", "all_positives"] = "pu"
    code_digest: str
    draw_digest: str

    @model_validator(mode="after")
    def _told_what_is_known(self) -> Self:
        told = self.labels == "oracle" or (self.prior is not None and self.prior.kind == "true")
        if self.sample.unknown_u and told:
            raise ValueError(f"{self.sample.dataset}: nobody knows the classes of U, so no fit can be told them")
        return self

    @property
    def lane_key(self) -> str:
        """Fits with equal keys have equal shapes and hyperparameters and can be trained as lanes of one batch."""
        shared, sample = self.canonical(), self.sample.canonical()
        del shared["seed"]
        shared["sample"] = {
            key: sample.get(key) for key in ("dataset", "n_pos_lab", "n_pos_unl", "n_neg_unl", "holdout")
        }
        return content_id(shared)

    def encoder_fit(self) -> Fit | None:
        """The fit of the encoder; None where nothing is fitted."""
        asked = self.encoder
        if not isinstance(asked, Encoding) or asked.ae_data is None:
            return None
        return Fit(
            method=asked.name,
            params=asked.params,
            sample=self.sample if asked.ae_data == "training_rows" else self.sample.labelled_only(),
            seed=self.seed,
            labels="all_positives" if asked.ae_data == "all_positives" else "pu",
            code_digest=asked.code_digest,
            draw_digest=self.draw_digest,
        )

    def frozen_encoder(self) -> Encoding | None:
        """The encoder whose features a whole dataset has, once; None where there is none."""
        asked = self.encoder
        return asked if isinstance(asked, Encoding) and asked.ae_data is None else None

    def prior_fit(self) -> Fit | None:
        """The fit that estimates the class prior; None where it is given."""
        asked = self.prior
        if asked is None or asked.params is None or asked.code_digest is None:
            return None
        return Fit(
            method=asked.kind,
            params=asked.params,
            sample=self.sample,
            seed=self.seed,
            encoder=asked.encoder,
            code_digest=asked.code_digest,
            draw_digest=self.draw_digest,
        )

    def needs(self) -> tuple[Fit, ...]:
        """Fits whose answers this one takes, directly."""
        return tuple(fit for fit in (self.encoder_fit(), self.prior_fit()) if fit is not None)


class TestSet(Record):
    """Which test rows a fit is scored on: every test row of these classes. No ``neg``: own data without a test file."""

    __test__ = False  # no test case, whatever pytest makes of the name

    pos: Classes
    neg: Classes


class Trial(Record):
    """A fit on a test set. One fit may have many: 1->2 and 1->8 are one model."""

    fit: Fit
    test: TestSet


class FitResult(Record):
    """What training gave; one per fit in the ledger."""

    fit: Fit
    status: Status
    reason: str | None = None  # why it failed or was skipped
    attempts: int = Field(1, ge=1)
    auc_val_pu: float | None = None  # AUC of withheld labelled positives against withheld unlabelled rows
    alpha: float | None = None  # class prior the method was given
    alpha_hat: float | None = None  # class prior the method itself estimated
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
    session: str | None = None  # the dvc repro, or else the process, that made the attempt
    #: of a result that was computed for a fit with other digests: from which fit, and what was compared
    adopted: JsonObject | None = None


class TrialResult(Record):
    """What scoring a fit on one test set gave. The scores lie beside the record."""

    trial_id: str
    fit_id: str
    test: TestSet
    auc: float | None = Field(None, ge=0, le=1)  # held-out test rows; absent where own data have none with labels
    auc_train_pool: float | None = None  # the same model as seven of the released scripts score it: training rows
    auc_val_pu: float | None = None  # of withheld rows, where the fit was scored after its record; else there
    n_pos: int
    n_neg: int
    scoring_digest: str
    scores: str | None = None  # file beside the record: scores of the test rows, positives first
    roc: str | None = None  # ROC curve as text, see puoc.analysis.statistics.roc: it stays where scores are not kept
