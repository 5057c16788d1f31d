"""A model file may be damaged or hostile: it is read, or refused in words, and costs no more than its size."""

from __future__ import annotations

import json
import struct
import tracemalloc
from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from trees import paths

from puoc.datasets.readers import read_pair
from puoc.methods import make
from puoc.methods.encoders import make as make_encoder
from puoc.methods.persistence import model_file as modelfile
from puoc.methods.persistence.header import MAX_VALUES
from puoc.methods.persistence.model_file import Meta, Threshold

NET = {"lr": 0.001, "lr_decay": 1.0, "epochs": 1, "batch_size": 16, "batching": "union"}
KINDS = {
    "kernel": ("oc_svm", {"kernel": "rbf", "nu": 0.5, "gamma": 1.0}, None),
    "linear": ("pu_svm", {"solver": "exact", "kernel": "linear", "risk": "non_negative", "lam": 0.1}, None),
    "network": ("nnpu", {**NET, "correction": "ascent", "surrogate": "sigmoid"}, None),
    "encoder": ("oc_svm", {"kernel": "linear", "nu": 0.5}, ("components", {"dimension": 2, "cut": 6.0})),
}
#: Values that stand in for any value of the header.
AWKWARD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**6, 10**10, 2**63, 10**30, 1e308, float("nan"), float("inf"), "", "drocc", "x" * 10_000,
    "\x00", [], {}, [[1]], [10**5, 10**5, 3], {"name": "autoencoder", "params": {}},
)  # fmt: skip


@cache
def content(kind: str) -> bytes:
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(60, 2)), rng.integers(3, size=60)])
    with TemporaryDirectory() as folder:
        table = Path(folder) / "p.csv"
        table.write_text("a,b,c\n" + "\n".join(f"{a:.3f},{b:.3f},{'uvw'[int(c)]}" for a, b, c in rows))
        pair = read_pair(table, table)
    name, params, encoding = KINDS[kind]
    steps, X = pair.preparing, pair.X_p
    encoder = None if encoding is None else make_encoder(*encoding).fit(X, X)
    seen = X if encoder is None else encoder.encode(X)
    method = make(name, params)
    method.fit(seen, None if method.one_class else seen, alpha=None if method.one_class else 0.5)
    meta = Meta(
        method=name, params=params, shape=steps.shape, dtype=steps.dtype, scale=steps.scale,
        versions={"numpy": "2"}, about={"seed": 0}, prepared=steps.model_dump(mode="json"), marks=("doubtful",),
        threshold=Threshold(by="recall", asked=0.9, value=0.1, rows=10, share=0.9),
    )  # fmt: skip
    return modelfile.dump(method, meta, encoder)


def parts(file: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Return the arrays of the header, the metadata and the data."""
    length = struct.unpack("<Q", file[:8])[0]
    header = json.loads(file[8 : 8 + length])
    return header, json.loads(header.pop("__metadata__")["puoc"]), file[8 + length :]


def joined(arrays: dict[str, Any], meta: object, data: bytes) -> bytes:
    header = json.dumps({"__metadata__": {"puoc": json.dumps(meta)}, **arrays}).encode()
    return struct.pack("<Q", len(header)) + header + data


def changed(tree: Any, path: tuple[Any, ...], value: Any, rng: np.random.Generator) -> Any:
    tree = deepcopy(tree)
    place = tree
    for key in path[:-1]:
        place = place[key]
    if isinstance(place, dict) and rng.random() < 0.15:
        del place[path[-1]]
    elif isinstance(place, dict) and rng.random() < 0.1:
        place["another"] = value
    else:
        place[path[-1]] = value
    return tree


@pytest.mark.parametrize("kind", KINDS)
def test_a_header_with_any_value_changed_is_read_or_refused_in_words(kind: str) -> None:
    arrays, meta, data = parts(content(kind))
    modelfile.score(modelfile.load(joined(arrays, meta, data)), np.zeros((2, *meta["shape"]), np.uint8))
    rng = np.random.default_rng(list(kind.encode()))
    refused = 0
    for n in range(150):
        value = AWKWARD[int(rng.integers(len(AWKWARD)))]
        of_meta = n % 3 > 0
        tree = meta if of_meta else arrays
        places = list(paths(tree))
        other = changed(tree, places[int(rng.integers(len(places)))], value, rng)
        file = joined(arrays if of_meta else other, other if of_meta else meta, data)
        tracemalloc.start()
        try:
            model = modelfile.load(file)
            modelfile.score(model, np.zeros((2, *model.meta.shape), np.uint8))
        except ValueError as error:
            refused += 1
            assert 10 < len(str(error)) < 3000, str(error)[:500]  # noqa: PT017
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 50e6, other
    assert 50 < refused < 150


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_or_flipped_anywhere_is_read_or_refused_in_words(kind: str) -> None:
    whole = content(kind)
    rng = np.random.default_rng(1)
    for n in range(60):
        file = bytearray(whole)
        place = int(rng.integers(min(len(file), 3000)))
        if n % 2:
            file[place] = int(rng.integers(256))
        else:
            del file[place:]
        try:
            modelfile.load(bytes(file))
        except ValueError as error:
            assert len(str(error)) > 10  # noqa: PT017


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"shape": [10**10]}, "shape.0': expected less than or equal to 67108864, got 10000000000"),
        ({"shape": [3, 100_000, 100_000]}, r"header field 'shape': a row of .* has 30,000,000,000 values; expected"),
        ({"shape": [MAX_VALUES], "prepared": None}, r"arrays of shapes .* expected for rows of shape \(67108864,\)"),
        ({"dtype": "drocc"}, "'dtype': expected 'bool', .* got 'drocc'"),
        ({"threshold": {}}, "'threshold.by' is missing"),
        ({"threshold": {"by": "alpha", "asked": 0.1, "value": "x", "rows": 1, "share": 0}}, "threshold.value': exp"),
        ({"encoder": {"name": "sequence", "params": {"values": 10**9}}}, "multiple of 1000000000"),
        ({"scale": float("inf")}, "'scale': expected a finite number"),
        ({"dtype": "uint8"}, "'prepared' makes rows of .*'float32'.*; expected .*'uint8'"),
        ({"method": "x" * 10**6}, "'method': string should have at most 200 characters"),
    ],
)  # fmt: skip
def test_what_a_header_claims_is_told(changes: dict[str, Any], expected: str) -> None:
    arrays, meta, data = parts(content("network"))
    with pytest.raises(ValueError, match=expected):
        modelfile.load(joined(arrays, meta | changes, data))


def test_a_header_that_claims_more_than_the_file_has_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    for length in (10**6, 2**40, 2**64 - 1):
        path.write_bytes(struct.pack("<Q", length) + b"{}")
        for read in (modelfile.load, modelfile.read_meta):
            with pytest.raises(ValueError, match=r"it claims a header of .* bytes and has 10 bytes in all"):
                read(path)
    deep = json.dumps({"__metadata__": {"puoc": "[" * 100_000}}).encode()
    path.write_bytes(struct.pack("<Q", len(deep)) + deep)
    with pytest.raises(ValueError, match="nested too deeply"):
        modelfile.load(path)


def test_a_folder_and_a_device_are_no_model_files(tmp_path: Path) -> None:
    for path, kind in ((tmp_path, "a folder"), (Path("/dev/zero"), "a pipe or a device")):
        for read in (modelfile.load, modelfile.read_meta):
            with pytest.raises(ValueError, match=f"{kind}.*expected a model file"):
                read(path)
