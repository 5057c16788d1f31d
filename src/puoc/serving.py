"""The model that MLflow loads: ``mlflow.pyfunc.load_model`` calls ``_load_pyfunc`` with the folder of a logged model.

``predict`` takes rows as stored: an array of shape (n, *shape) or (n, number of values), or a DataFrame whose columns
are those values. For a model of a user's table or texts, it takes a DataFrame with the columns of the file. The
signature of a logged model has the shapes and types that MLflow checks before it calls this module. So through
``mlflow.pyfunc`` a model of images takes arrays, or a DataFrame of one column with a flat list in each row.

The type in the signature is float32 for integers too, as for pictures of 0 to 255: MLflow converts JSON to that type,
and would turn values in [0, 1] into zeros without a word. As floats they reach ``predict``, which refuses fractions.
Arrays of integers are passed as ``X.astype("float32")``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from puoc.datasets.readers.pu_data import counter_of
from puoc.methods.persistence import model_file as modelfile

_LOG = logging.getLogger(__name__)

MODEL_FILE = "model.safetensors"


class ServedModel:
    """A fitted model with the interface of MLflow's python_function."""

    def __init__(self, path: Path):
        self.model = modelfile.load(path)

    def predict(
        self, model_input: pd.DataFrame | ArrayLike, params: Mapping[str, object] | None = None
    ) -> NDArray[np.float64]:
        """Return scores (n,), higher = more likely positive, bit-equal to ``model_file.score``.

        Raises
        ------
        ValueError : there are parameters, or the rows do not fit the model. It is an error of MLflow too, so that a
            client of ``mlflow models serve`` gets its words.
        """
        try:
            return self._scores(model_input, params)
        except ValueError as error:
            raise _refusal(str(error)) from error

    def _scores(
        self, model_input: pd.DataFrame | ArrayLike, params: Mapping[str, object] | None
    ) -> NDArray[np.float64]:
        if params:
            raise ValueError(
                f"got the parameters {sorted(params)}; expected none, since a score depends on the rows alone"
            )
        preparing = modelfile.preparing(self.model.meta)
        if preparing is not None and isinstance(model_input, pd.DataFrame):
            block = preparing.from_frame(model_input)
            counter = counter_of(preparing)
            counter.add(block)
            for line in counter.result().lines():
                _LOG.warning(line)
            return modelfile.score(self.model, block.X)
        X = model_input.to_numpy() if isinstance(model_input, pd.DataFrame) else np.asarray(model_input)
        return modelfile.score(self.model, modelfile.as_rows(X, self.model.meta))


def _refusal(message: str) -> ValueError:
    from mlflow.exceptions import MlflowException
    from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE

    class RefusedRows(MlflowException, ValueError):  # noqa: N818 - names the input
        """Rows that do not fit the model."""

    return RefusedRows(message, error_code=INVALID_PARAMETER_VALUE)


def _load_pyfunc(data_path: str) -> ServedModel:
    """Load the model below ``data_path``, the folder that MLflow passes."""
    path = Path(data_path)
    return ServedModel(path / MODEL_FILE if path.is_dir() else path)
