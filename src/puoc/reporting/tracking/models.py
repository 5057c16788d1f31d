"""Fitted models as LoggedModels of MLflow: the ledger's safetensors file in a folder that ``puoc.serving`` can load.

``mlflow.pyfunc.log_model`` writes the same folder in each call, which is most of its cost. Here ``save_model`` writes
it once for models of one kind; each model then replaces only the files that differ.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Container
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from puoc import __version__
from puoc.methods.persistence import model_file as modelfile
from puoc.methods.persistence.model_file import Meta
from puoc.records import Array, content_id
from puoc.serving import MODEL_FILE
from puoc.store.temporary import temporary_folder

if TYPE_CHECKING:
    import pandas as pd
    from mlflow import MlflowClient
    from mlflow.models import ModelSignature

    from puoc.reporting.tracking.batch import Batch

NAME = "model"  # of every model: runs:/<run>/model
_DATA = "fitted"
_MODEL_ID, _RUN_ID = "puoc-mark-model-id", "puoc-mark-run-id"
_REQUIRED = ("numpy", "scipy", "scikit-learn", "torch", "pydantic", "safetensors", "pandas")


class ModelLog:
    """Logs models to one store. Use it as a context manager, since its templates are temporary files."""

    def __init__(self, client: MlflowClient):
        self.client = client
        self._exits = ExitStack()
        self._folder = self._exits.enter_context(temporary_folder("models"))
        self._templates: dict[str, _Template] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    def log(self, experiment: str, run: str, path: Path, tags: dict[str, str], batch: Batch | None = None) -> str:
        """Log a model file as the output of a run; returns the model's id.

        Parameters
        ----------
        batch : collects the rows of a new run; without one, MLflow's API writes them.

        Raises
        ------
        ValueError : the file is not a model file.
        """
        meta = modelfile.read_meta(path)
        about = {"method": meta.method, "contains_training_rows": str(meta.contains_training_rows).lower()}
        params = {key: str(value)[:250] for key, value in meta.params.items()}
        if batch is not None:
            model_id, folder = batch.add_model(experiment, run, NAME, {**tags, **about}, params)
            self._template(meta, path).fill(folder, meta, path, model_id, run)
            return model_id
        from mlflow.entities import LoggedModelOutput

        model = self.client.create_logged_model(experiment, NAME, run, {**tags, **about}, params)
        folder = self._folder / "model"
        self._template(meta, path).fill(folder, meta, path, model.model_id, run)
        self.client.log_model_artifacts(model.model_id, str(folder))
        shutil.rmtree(folder)
        self.client.finalize_logged_model(model.model_id, "READY")
        self.client.log_outputs(run, [LoggedModelOutput(model.model_id, 0)])
        return str(model.model_id)

    def _template(self, meta: Meta, path: Path) -> _Template:
        # without the method, which is in the files that each model has for itself
        kind = content_id([meta.shape, meta.dtype, meta.scale, meta.versions, meta.prepared])
        if kind not in self._templates:
            folder = self._folder / kind
            save_folder(path, folder)
            self._templates[kind] = _Template.read(folder)
            shutil.rmtree(folder)
        return self._templates[kind]


class _Template(NamedTuple):
    """The files of a model folder that models of one kind share. They are kept in memory, since each model has them."""

    shared: dict[str, bytes]  # by path below the folder
    mlmodel: str  # with placeholders for the ids of a model

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read a folder that MLflow wrote."""
        from mlflow.models import Model

        model = Model.load(str(folder))
        model.model_id, model.model_uuid, model.run_id = _MODEL_ID, _MODEL_ID, _RUN_ID
        model.model_size_bytes = None  # it differs by model
        own = {folder / "MLmodel", folder / "data" / _DATA / MODEL_FILE}
        files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path not in own]
        return cls({path.relative_to(folder).as_posix(): path.read_bytes() for path in files}, model.to_yaml())

    def fill(self, folder: Path, meta: Meta, path: Path, model_id: str, run: str) -> None:
        """Write the folder of a model. It must not exist."""
        fitted = folder / "data" / _DATA
        for below in {(folder / name).parent for name in self.shared} | {fitted}:
            below.mkdir(parents=True, exist_ok=True)
        for name, content in self.shared.items():
            (folder / name).write_bytes(content)
        shutil.copyfile(path, fitted / MODEL_FILE)
        (fitted / "model.json").write_text(json.dumps(meta.model_dump(mode="json"), indent=1), encoding="utf-8")
        mlmodel = self.mlmodel.replace(_MODEL_ID, model_id).replace(_RUN_ID, run)
        (folder / "MLmodel").write_text(mlmodel, encoding="utf-8")


def save_folder(path: Path, folder: Path) -> None:
    """Write a model file as a folder that ``mlflow.pyfunc.load_model`` loads.

    Parameters
    ----------
    folder : must not exist, or be empty.
    """
    from mlflow.pyfunc import save_model

    meta = modelfile.read_meta(path)
    with temporary_folder("model") as temporary:
        fitted = temporary / _DATA
        fitted.mkdir()
        shutil.copyfile(path, fitted / MODEL_FILE)
        signature, example = _signature(meta)
        save_model(
            str(folder),
            loader_module="puoc.serving",
            data_path=str(fitted),
            pip_requirements=requirements(meta.versions),
            signature=signature,
            input_example=example,  # invented values: no row of a user's data
        )


def _signature(meta: Meta) -> tuple[ModelSignature, pd.DataFrame | Array]:
    """Return the signature that MLflow enforces, and an example of valid rows."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema, TensorSpec
    from mlflow.types.schema import AnyType

    outputs = Schema([TensorSpec(np.dtype(np.float64), (-1,))])
    frame = modelfile.example(meta)
    if frame is not None:
        # any type: MLflow does not convert integers to floats, and a missing value makes a column of integers float
        columns: list[ColSpec | TensorSpec] = [
            ColSpec(AnyType(), name, required=False)  # type: ignore[no-untyped-call]
            for name in frame.columns
        ]
        return ModelSignature(inputs=Schema(columns), outputs=outputs), frame
    # MLflow converts what comes as JSON to this type before a model sees it: integers would cut fractions to zeros
    dtype, shape = np.dtype(meta.dtype if np.dtype(meta.dtype).kind == "f" else np.float32), meta.shape
    inputs = Schema([TensorSpec(dtype, (-1, *shape))])
    return ModelSignature(inputs=inputs, outputs=outputs), np.full((1, *shape), meta.scale / 2, dtype=dtype)


def requirements(versions: dict[str, str]) -> list[str]:
    """Return the packages needed to score, pinned to the versions of the training if the model contains them."""
    puoc_version = f"puoc=={versions.get('puoc', __version__)}"
    return [puoc_version, *(f"{name}=={versions[name]}" if name in versions else name for name in _REQUIRED)]


def delete_models(client: MlflowClient, experiment: str, run: str, keep: Container[str] = ()) -> None:
    """Delete the models of an interrupted run, except those that other runs refer to."""
    models = client.search_logged_models([experiment], filter_string=f"source_run_id = '{run}'", max_results=50)
    for model in models:
        if f"models:/{model.model_id}" not in keep:
            client.delete_logged_model(model.model_id)
