"""What a served model of pictures does with values that are not those of a picture."""

from __future__ import annotations

import json
from pathlib import Path

import mlflow
import numpy as np
import pytest
from mlflow.exceptions import MlflowException
from mlflow.pyfunc.scoring_server import invocations
from tracked_project import model, stored_rows

from puoc.methods.persistence import model_file as modelfile
from puoc.reporting.tracking.models import save_folder

SHAPE = (1, 2, 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("served")
    (path / "model").write_bytes(model("pu_svm", SHAPE))
    save_folder(path / "model", path / "folder")
    return path


def sent(loaded: mlflow.pyfunc.PyFuncModel, X: np.ndarray) -> list[float]:
    """The scores that ``mlflow models serve`` answers with."""
    content = json.dumps({"inputs": X.tolist()})
    answer = invocations(content, "application/json", loaded, loaded.metadata.get_input_schema())
    found: list[float] = json.loads(answer.response)["predictions"]
    return found


def test_scaled_values_sent_to_a_served_model_of_integers_are_refused(folder: Path) -> None:
    loaded = mlflow.pyfunc.load_model(str(folder / "folder"))
    X = stored_rows(3, SHAPE)
    assert np.array_equal(sent(loaded, X), modelfile.score(modelfile.load(folder / "model"), X))
    with pytest.raises(MlflowException, match="do not scale them beforehand"):
        sent(loaded, X / 16)


@pytest.mark.parametrize("value", [-1, 300])
def test_values_that_no_stored_row_has_are_refused(value: int, folder: Path) -> None:
    X = stored_rows(3, SHAPE).astype(np.float32)
    loaded = mlflow.pyfunc.load_model(str(folder / "folder"))
    assert np.array_equal(loaded.predict(X), modelfile.score(modelfile.load(folder / "model"), X))
    X[0, 0, 0, 0] = value
    with pytest.raises(ValueError, match=r"rows hold values from .*; stored values \(uint8\) from 0 to 255 expected"):
        loaded.predict(X)
