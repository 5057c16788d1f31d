"""Plans of tables and sweeps, their configurations and the settings of computing, as ``puoc plan`` writes them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Annotated, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    model_validator,
)

from puoc.records import Classes, Encoding, JsonObject, Params, Prior
from puoc.store.cells import Cell
from puoc.store.times import EXPECTED, read_time


class _Part(BaseModel):
    """A part of a plan, frozen. Unknown keys of a file are ignored."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)


class EntryPlan(_Part):
    """A method with its settings in a table or a sweep."""

    entry: str
    method: str
    kind: Literal["oc", "pu", "pu_oc"]
    twin: str | None  # of a PU-OC method: the OC method that it extends
    labels: Literal["pu", "oracle"]
    prior: Prior | None
    encoder: Encoding | str | None
    numerics: Literal["fp32", "bf16"]
    code_digest: str
    skip: str | None  # why it does not apply to the dataset
    published_as: str | None = None  # the row of the paper that it is compared with; None: the row of its method
    printed: bool = False  # its hyperparameters in params.yaml are those that the paper prints

    @property
    def oracle(self) -> bool:
        """Return True for a reference that sees true labels; it has no rank, no twin and no part in selection."""
        return self.labels == "oracle"

    @property
    def told_alpha(self) -> bool:
        """Return True if a fit gets the true share of positives in U, which nobody knows outside of a benchmark."""
        return self.prior is not None and self.prior.kind == "true"

    @property
    def label(self) -> str:
        """Return the name that stands beside a number of the entry: with a note if a fit is told alpha."""
        return f"{self.entry} (told alpha)" if self.told_alpha else self.entry

    def to_json(self) -> JsonObject:
        """Return the value of the entry in a file, without its name."""
        content = self.model_dump(mode="json", exclude={"entry"})
        content["prior"] = self.prior.canonical() if self.prior else None
        content["encoder"] = self.encoder.canonical() if isinstance(self.encoder, Encoding) else self.encoder
        if self.published_as is None:
            del content["published_as"]
        if not self.printed:
            del content["printed"]
        return content


class Config(_Part):
    """The configuration of an entry of a table: its hyperparameters and where they come from."""

    params: Params
    source: str
    params_by_class: dict[str, Params] = Field({}, alias="by_pos")  # where this class alone is positive
    config_id: str | None = None  # these two of a configuration that a sweep chose
    is_published: StrictBool | None = None

    def params_of(self, pos: Classes) -> Params:
        """Return the hyperparameters for these positive classes."""
        return self.params_by_class.get(str(pos[0]), self.params) if len(pos) == 1 else self.params

    def to_json(self) -> JsonObject:
        """Return the value of the configuration in a file."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class SweepConfig(_Part):
    """A configuration that a sweep lists."""

    config_id: str
    params: Params
    is_published: StrictBool

    def params_of(self, pos: Classes) -> Params:
        """Return the hyperparameters, which are the same for all classes."""
        return self.params

    def to_json(self) -> JsonObject:
        """Return the value of the configuration in a file."""
        return self.model_dump(mode="json")


class SharedRows(_Part):
    """Share of a seed's rows of P, U and the test set that another seed also has, mean over the cells."""

    P: float
    U: float
    test: float


class UserDataPlan(_Part):
    """The part of the plan of a table that describes its user data."""

    tested: StrictBool  # False: there are no labelled test rows, so there is no AUC
    warnings: tuple[str, ...] = Field(alias="marks")  # overlap that was allowed, shown with every number
    notes: tuple[str, ...]  # which rows were read and which were left out


class BasePlan(_Part):
    """The fields that the plans of tables and of sweeps share: entries x cells x seeds on a dataset."""

    table: str
    title: str
    scenario: str
    dataset: str
    data_digest: str
    draw_digest: str
    labelled_draw_digest: str | None = None  # of cells whose labelling is not the default; None: there are none
    scoring_digest: str
    seeds: tuple[StrictInt, ...] = Field(min_length=1)
    cells: tuple[Cell, ...] = Field(min_length=1)
    user_data: UserDataPlan | None = Field(None, alias="own")
    entries_by_name: dict[str, EntryPlan] = Field(min_length=1, alias="entries")

    #: Keys of a file, in their order.
    _keys: ClassVar[tuple[str, ...]] = (
        *("table", "title", "scenario", "dataset", "data_digest", "draw_digest", "labelled_draw_digest"),
        *("scoring_digest", "seeds", "cells", "own"),
    )

    @model_validator(mode="before")
    @classmethod
    def _name_entries(cls, value: object) -> object:
        """Add to each entry of a file its name in that file."""
        entries = value.get("entries") if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(entries, dict):
            return value
        named = {name: entry | {"entry": name} if isinstance(entry, dict) else entry for name, entry in entries.items()}
        return value | {"entries": named}

    @property
    def entries(self) -> tuple[EntryPlan, ...]:
        """Return the entries, in their order."""
        return tuple(self.entries_by_name.values())

    @property
    def cell_names(self) -> tuple[str, ...]:
        """Return the names of the cells, in their order."""
        return tuple(cell.name for cell in self.cells)

    @property
    def tested(self) -> bool:
        """Return True if there are labelled test rows. User data may have none, and then there is no AUC."""
        return self.user_data is None or self.user_data.tested

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the warnings about user data: overlap that was allowed, shown with every number."""
        return self.user_data.warnings if self.user_data else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the remarks about user data: which rows were read and which were left out."""
        return self.user_data.notes if self.user_data else ()

    def to_json(self) -> JsonObject:
        """Return the content of the plan's file."""
        content = self.model_dump(mode="json", by_alias=True, exclude={"cells", "entries_by_name"})
        content["cells"] = [cell.canonical() for cell in self.cells]
        content["entries"] = {name: entry.to_json() for name, entry in self.entries_by_name.items()}
        return {key: content[key] for key in self._keys if content[key] is not None}


class TablePlan(BasePlan):
    """The plan of one table. It refers to its configurations and does not contain them."""

    configs: Literal["published", "selected"]
    published: str | None = None  # the table of the paper that it is compared with
    shared_rows: SharedRows | None = None  # None: not planned

    _keys: ClassVar[tuple[str, ...]] = (*BasePlan._keys, "configs", "published", "shared_rows", "entries")

    @property
    def redraws(self) -> bool:
        """Return True if seeds draw rows of P or of U. If both contain all rows, every seed has the same sample."""
        shares = self.shared_rows
        return not shares or min(shares.P, shares.U) < 1

    def label(self, entry: str) -> str:
        """Return the name that stands beside a number of an entry, which a later plan may not have any more."""
        return self.entries_by_name[entry].label if entry in self.entries_by_name else entry

    def twin_pairs(self) -> list[tuple[EntryPlan, EntryPlan]]:
        """Return each PU-OC entry with each entry of the OC method that it extends; oracles have no twin."""
        honest = [entry for entry in self.entries if not entry.oracle]
        return [
            (hybrid, parent)
            for hybrid in honest
            for parent in honest
            if hybrid.kind == "pu_oc" and parent.method == hybrid.twin
        ]

    def only(self, entries: Collection[str]) -> Self:
        """Return the plan with some of its entries."""
        kept = {name: entry for name, entry in self.entries_by_name.items() if name in entries}
        return self.model_copy(update={"entries_by_name": kept})


class SweepPlan(BasePlan):
    """The plan of one sweep: one entry with all its configurations, the published one first."""

    holdout: float  # share of P and U that is withheld, to choose a configuration
    space: str
    configs: tuple[SweepConfig, ...] = Field(min_length=1)

    _keys: ClassVar[tuple[str, ...]] = (*BasePlan._keys, "holdout", "space", "entries", "configs")

    def with_configs(self, configs: Collection[SweepConfig]) -> Self:
        """Return the plan with other configurations."""
        return self.model_copy(update={"configs": tuple(configs)})


def _known_device(value: str) -> str:
    if not re.fullmatch(r"cpu|cuda(:\d+)?", value):
        raise ValueError("expected cpu, cuda or cuda:NUMBER")
    return value


def _known_time(value: object) -> object:
    if value is not None and (not isinstance(value, str) or read_time(value) is None):
        raise ValueError(f"expected {EXPECTED}")
    return value


class ComputeSpec(BaseModel):
    """The section ``compute`` of params.yaml: how fits are computed. It changes no result."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: processes with one thread each; auto: as many as there are cores
    workers: Annotated[StrictInt, Field(ge=1)] | Literal["auto"] = "auto"
    lane_map: Literal["auto", "loop", "vmap"] = "auto"
    max_lanes: int = Field(8, ge=1)  # fits trained as one batch
    models: Literal["all", "none"] = "all"  # which fitted models the ledger keeps
    device: Annotated[str, AfterValidator(_known_device)] = "cpu"
    #: time after which the run of a table starts no more fits; absent: no limit
    budget: Annotated[str | None, BeforeValidator(_known_time)] = None

    def to_json(self) -> JsonObject:
        """Return the content of the file. A key that may be absent is left out, so that older files stay equal."""
        return self.model_dump(mode="json", exclude_none=True)


class FrozenWeights(_Part):
    """The files of a frozen encoder: word vectors, or the weights of a network."""

    vectors: str | None = None
    weights: str | None = None
    network: str | None = None

    @model_validator(mode="after")
    def _has_network(self) -> Self:
        if self.weights is not None and self.network is None:
            raise ValueError("got weights without network; expected the name of the network that the weights belong to")
        return self
