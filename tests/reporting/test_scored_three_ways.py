"""A registered model has the same scores from ``mlflow models serve``, ``puoc score`` and Python with the wheel alone.

An empty environment takes gigabytes, so the wheel is unpacked into a folder of its own, and all that the core does not
bring is hidden from that process, as if it was not installed.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError

import mlflow
import numpy as np
import psutil
import pytest
from light import HIDING, hidden
from own_tables import TESTED, ask, computes, does, people, tables
from project import PATIENCE, REPOSITORY

from puoc.reporting.tracking import Store, register_best, track

ALONE = """
import importlib.util
import json
from pathlib import Path

import pandas as pd
import puoc
from typer.testing import CliRunner
from puoc.cli.app import app

done = CliRunner().invoke(app, ["score", "--model", "model", "new.csv", "--out", "scores.csv"])
scores = puoc.load("model").decision_function(pd.read_csv("new.csv"))
absent = [name for name in ("mlflow", "dvc", "ray", "optuna", "plotly") if importlib.util.find_spec(name) is None]
said = {"code": done.exit_code, "output": done.output, "scores": scores.tolist(), "absent": absent}
Path("answers.json").write_text(json.dumps(said | {"puoc": puoc.__file__}))
"""


@contextmanager
def served(store: str, model: str, log: Path) -> Iterator[str]:
    """Start ``mlflow models serve`` on this machine; the address that answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["models", "serve", "-m", model, "--env-manager", "local", "--host", "127.0.0.1", "--port", str(port)]
    environment = os.environ | {
        "MLFLOW_TRACKING_URI": store,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    with log.open("w") as said:
        server = subprocess.Popen(
            [sys.executable, "-m", "mlflow", *words, "--workers", "1"], env=environment, stdout=said, stderr=said
        )
    try:
        until, address = time.monotonic() + PATIENCE, f"http://127.0.0.1:{port}"
        while True:
            try:
                urllib.request.urlopen(f"{address}/ping", timeout=PATIENCE).close()
                break
            except (URLError, ConnectionError):
                assert server.poll() is None, log.read_text()
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.2)
        yield address
    finally:
        children = psutil.Process(server.pid).children(recursive=True) if server.poll() is None else []
        server.terminate()
        server.wait(PATIENCE)
        for child in children:
            if child.is_running():
                child.terminate()


def wheel_alone(folder: Path) -> Path:
    """The wheel, built without a network and unpacked."""
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, source)
    shutil.copytree(REPOSITORY / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    words = ["wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True)
    [wheel] = folder.glob("puoc-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "wheel")
    return folder / "wheel"


@pytest.mark.slow
def test_a_registered_model_scores_alike_when_served_on_the_command_line_and_from_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, alone = tmp_path / "project", tmp_path / "alone"
    root.mkdir()
    alone.mkdir()
    monkeypatch.chdir(root)
    tables(root)
    assert ask(root, TESTED, "n_pos_lab: 30")[0] == 0
    does("fetch", "prepare")
    computes("table")
    track(root)
    [best] = [one for one in register_best(root) if one.version is not None]
    store = Store(root).uri
    X = people(50, 9, 0.3)
    with served(store, f"models:/{best.name}@best", tmp_path / "served.log") as address:
        body = json.dumps({"dataframe_split": X.to_dict(orient="split", index=False)}).encode()
        asked = urllib.request.Request(f"{address}/invocations", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            scores = np.array(json.load(answer)["predictions"])
    assert scores.shape == (50,)
    assert len(np.unique(scores)) > 25
    mlflow.set_tracking_uri(store)
    folder = Path(mlflow.artifacts.download_artifacts(f"models:/{best.name}@best", dst_path=str(tmp_path / "model")))
    shutil.copy(folder / "data" / "fitted" / "model.safetensors", alone / "model")
    X.to_csv(alone / "new.csv", index=False)
    wheel = wheel_alone(tmp_path)
    code = f"HIDDEN = {hidden()!r}\n{HIDING}\n{ALONE}"
    environment = {"PYTHONPATH": str(wheel), "OMP_NUM_THREADS": "1", "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=alone, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((alone / "answers.json").read_text())
    assert found["code"] == 0, found["output"]
    assert Path(found["puoc"]).is_relative_to(wheel)
    assert found["absent"] == ["mlflow", "dvc", "ray", "optuna", "plotly"]
    # JSON and CSV have the shortest text that gives the number back, so all are equal to the last bit
    assert scores.tolist() == found["scores"]
    with (alone / "scores.csv").open(newline="") as lines:
        assert scores.tolist() == [float(line["score"]) for line in csv.DictReader(lines)]
