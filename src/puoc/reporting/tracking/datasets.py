"""The dataset of a run as MLflow's input: name, digest, source and profile. No row of the data is logged."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from puoc.records import JsonObject
from puoc.registry import DATASETS
from puoc.store.ledger_records import Entry

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput

    from puoc.datasets.declare.dataset import Dataset

CONTEXT = "mlflow.data.context"  # tag of an input that MLflow shows
USED_FOR = "training, test"


@dataclass(frozen=True)
class UsedDataset:
    """A dataset as MLflow stores it.

    Parameters
    ----------
    digest : of the prepared arrays, at most 36 characters as MLflow stores them.
    source, profile : JSON texts.
    """

    name: str
    digest: str
    source_type: str
    source: str
    profile: str

    @classmethod
    def of(cls, entry: Entry | None) -> UsedDataset | None:
        """Return the dataset of a fit; None without a record of the fit, which contains the digest."""
        if entry is None:
            return None
        sample = entry.result.fit.sample
        return _described(sample.dataset, sample.data_digest[:36])

    def as_input(self) -> DatasetInput:
        """Return the entity that MLflow's API takes."""
        from mlflow.entities import Dataset as MlflowDataset
        from mlflow.entities import DatasetInput, InputTag

        data = MlflowDataset(self.name, self.digest, self.source_type, self.source, profile=self.profile)
        return DatasetInput(data, [InputTag(CONTEXT, USED_FOR)])


@cache
def _described(name: str, digest: str) -> UsedDataset:
    declared = DATASETS.get(name)
    source_type, source = _source(name, declared)
    profile = _profile(declared) if declared is not None else {}
    return UsedDataset(name, digest, source_type, json.dumps(source), json.dumps(profile))


def _source(name: str, declared: type[Dataset] | None) -> tuple[str, JsonObject]:
    """Return the kind of source and where the files are from. The paths of a user's own files are not named."""
    files = declared.files if declared is not None else ()
    for file in files:
        if file.url is not None:
            return "http", {"url": file.url}
    for file in files:
        if file.package is not None:
            return "local", {"uri": f"file {file.package[1]} of the package {file.package[0]}"}
    return "local", {"uri": f"dataset {name} of the project"}


def _profile(declared: type[Dataset]) -> JsonObject:
    per_class = [sum(counts) for counts in zip(*declared.counts.values(), strict=True)]
    return {
        "rows": sum(per_class),
        "rows_by_class": dict(zip(map(str, declared.classes), per_class, strict=False)),
        "inputs": declared.inputs,
        "shape": list(declared.shape),
        "licence": declared.licence,
    }
