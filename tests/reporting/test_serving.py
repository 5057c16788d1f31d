"""Model files and what MLflow loads: the same scores to the last bit, and nothing that runs code when it is read."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pickles import is_pickle
from tracked_project import KINDS, SHAPE, fitted, model, stored_rows

from puoc.methods.persistence import model_file as modelfile
from puoc.methods.training import fitting
from puoc.reporting.tracking.models import requirements
from puoc.serving import MODEL_FILE, _load_pyfunc


def served(folder: Path, content: bytes):
    (folder / MODEL_FILE).write_bytes(content)
    return _load_pyfunc(str(folder))


@pytest.mark.parametrize("method", sorted(KINDS))
def test_a_served_model_scores_as_the_fitted_one_to_the_last_bit(method: str, tmp_path: Path) -> None:
    X = stored_rows(50, seed=3)
    expected = fitted(method).decision_function(X.astype(np.float32) / np.float32(16))
    assert np.ptp(expected) > 0
    assert np.array_equal(served(tmp_path, model(method)).predict(X), expected)


def test_images_may_come_flat_or_as_a_data_frame(tmp_path: Path) -> None:
    X = stored_rows(9, (1, 2, 4), seed=3)
    one = served(tmp_path, model("pu_svm", (1, 2, 4)))
    expected = one.predict(X)
    assert expected.shape == (9,)
    assert np.array_equal(one.predict(X.reshape(9, -1)), expected)
    assert np.array_equal(one.predict(pd.DataFrame(X.reshape(9, -1))), expected)


def test_chunks_change_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    X = stored_rows(20, seed=3)
    loaded = modelfile.load(model("pu_svm"))
    whole = modelfile.score(loaded, X)
    monkeypatch.setattr(fitting, "CHUNK", 7)
    assert np.allclose(modelfile.score(loaded, X), whole, rtol=1e-6)
    assert modelfile.score(loaded, X[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (np.zeros((2, 5), np.uint8), r"rows have shape \(5,\), \(6,\) expected"),
        (np.full((2, 6), 0.5), "do not scale them beforehand"),
        (np.full((2, 6), np.nan), "NaN or infinite"),
        (np.full((2, 6), "1"), "numbers"),
    ],
)
def test_rows_that_do_not_fit_are_refused_in_words(rows: np.ndarray, said: str) -> None:
    loaded = modelfile.load(model("pu_svm"))
    with pytest.raises(ValueError, match=said):
        modelfile.score(loaded, rows)


@pytest.mark.slow
def test_equal_models_give_equal_bytes_in_every_process() -> None:
    script = "import tracked_project as t, sys; sys.stdout.buffer.write(t.model('oc_svm', about={'b': 1, 'a': [2]}))"
    here = str(Path(__file__).parents[1])
    env = os.environ | {"PYTHONHASHSEED": "7"}  # another order of sets
    made = subprocess.run([sys.executable, "-c", script], cwd=here, env=env, capture_output=True, check=True).stdout
    assert made == model("oc_svm", about={"b": 1, "a": [2]})


def test_a_newer_or_foreign_file_is_refused_by_name(tmp_path: Path) -> None:
    content = model("oc_svm")
    newer = content.replace(b'\\"version\\":1', b'\\"version\\":2')
    assert newer != content
    with pytest.raises(ValueError, match="format puoc-model version 2, puoc-model version 1 expected"):
        modelfile.load(newer)
    header = json.dumps({"x": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}).encode()
    for foreign in (b"", b"no model", struct.pack("<Q", len(header)) + header):
        path = tmp_path / "foreign.safetensors"
        path.write_bytes(foreign)
        with pytest.raises(ValueError, match=r"foreign.safetensors: not a model file of puoc"):
            modelfile.load(path)
    with pytest.raises(ValueError, match="damaged"):
        modelfile.load(content[:-8])


def test_a_header_field_that_is_missing_or_unknown_is_named() -> None:
    content = model("oc_svm")
    for key, other, expected in (("scale", "scael", "'scale' is missing"), ("versions", "version5", "'version5'")):
        changed = content.replace(f'\\"{key}\\"'.encode(), f'\\"{other}\\"'.encode())
        assert changed != content
        with pytest.raises(ValueError, match=expected):
            modelfile.load(changed)


def test_the_header_says_what_the_model_is(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(model("oc_svm", contains_training_rows=True))
    meta = modelfile.read_meta(path)
    assert (meta.method, meta.contains_training_rows, meta.shape) == ("oc_svm", True, SHAPE)
    assert meta.params["nu"] == 0.5
    assert modelfile.load(path).meta == meta


def test_requirements_are_pinned_where_the_model_names_a_version() -> None:
    found = requirements({"puoc": "9", "torch": "8.7"})
    assert {"puoc==9", "torch==8.7", "safetensors"} <= set(found)


def test_modelfile_and_tracking_load_neither_torch_nor_mlflow() -> None:
    script = "import sys, puoc.methods.persistence.model_file, puoc.reporting.tracking\n"
    script += "print({'torch', 'mlflow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_pickle_detector_knows_a_pickle() -> None:
    assert is_pickle(b"\x80\x04K\x01.")
    assert not is_pickle(model("oc_svm"))
