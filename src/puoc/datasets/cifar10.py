"""CIFAR-10: 60,000 colour images of ten classes, the data of the paper's main experiments.

The files are pickles, and unpickling can run code. A file is read only if it is identical to the known file byte for
byte, and the unpickler allows only what a numpy array needs.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from hashlib import md5
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from puoc.datasets.declare.archived import ArchivedFile
from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs
from puoc.registry import dataset


def _member(name: str, size: int, md5: str, sha256: str) -> ArchivedFile:
    return ArchivedFile(
        path=f"cifar-10-batches-py/{name}",
        size=size,
        md5=md5,
        sha256=sha256,
        url="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
        archive_md5="c58f30108f718f92721af3b95e74349a",
    )


@dataset("cifar10")
class CIFAR10(Dataset):
    """Images of 3 x 32 x 32 bytes (red, green, blue), with the split of its authors."""

    inputs: ClassVar[Inputs] = "image"
    shape = (3, 32, 32)
    classes = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
    counts: ClassVar = {"train": (5000,) * 10, "test": (1000,) * 10}
    digest = "8bbc26c17219317b8a8ba7274b3bddf4"
    scale = 255.0
    files = (
        _member(
            "data_batch_1",
            size=31035704,
            md5="c99cafc152244af753f735de768cd75f",
            sha256="54636561a3ce25bd3e19253c6b0d8538147b0ae398331ac4a2d86c6d987368cd",
        ),
        _member(
            "data_batch_2",
            size=31035320,
            md5="d4bba439e000b95fd0a9bffe97cbabec",
            sha256="766b2cef9fbc745cf056b3152224f7cf77163b330ea9a15f9392beb8b89bc5a8",
        ),
        _member(
            "data_batch_3",
            size=31035999,
            md5="54ebc095f3ab1f0389bbae665268c751",
            sha256="0f00d98ebfb30b3ec0ad19f9756dc2630b89003e10525f5e148445e82aa6a1f9",
        ),
        _member(
            "data_batch_4",
            size=31035696,
            md5="634d18415352ddfa80567beed471001a",
            sha256="3f7bb240661948b8f4d53e36ec720d8306f5668bd0071dcb4e6c947f78e9682b",
        ),
        _member(
            "data_batch_5",
            size=31035623,
            md5="482c414d41f54cd18b22e5b47cb7c3cb",
            sha256="d91802434d8376bbaeeadf58a737e3a1b12ac839077e931237e0dcd43adcb154",
        ),
        _member(
            "test_batch",
            size=31035526,
            md5="40351d587109b95175f43aff81a1287e",
            sha256="f53d8d457504f7cff4ea9e021afcf0e0ad8e24a91f3fc42091b8adef61157831",
        ),
        _member(
            "batches.meta",
            size=158,
            md5="5ff9c542aee3614f3951f8cda6e48888",
            sha256="f962466ef690d46b226450fb9aadc74ba4bc64a76aa526b5827fe4bc5c7125cb",
        ),
    )
    licence = "None stated by its authors."
    citation = (
        "A. Krizhevsky: Learning Multiple Layers of Features from Tiny Images. Technical report, University of "
        "Toronto, 2009."
    )

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Read the five training batches and the test batch.

        Raises
        ------
        ValueError : a file differs from the known file; it is then not unpickled.
        """
        batches = [read_batch(folder, file) for file in cls.files if not file.path.endswith(".meta")]
        X = np.concatenate([batch["data"] for batch in batches]).reshape(-1, *cls.shape)
        y = np.concatenate([np.array(batch["labels"], dtype=np.int64) for batch in batches])
        is_test = np.concatenate(
            [np.full(len(batch["labels"]), batch["batch_label"].startswith("testing")) for batch in batches]
        )
        return Arrays(X, y, is_test.astype(np.uint8))


def read_batch(folder: Path, file: ArchivedFile) -> dict[str, Any]:
    """Unpickle a file of known content: ``data`` (n, 3072) bytes, ``labels``, ``filenames`` and ``batch_label``.

    Raises
    ------
    ValueError : the file's MD5 differs from the declared one, or the pickle contains objects that arrays do not need.
    """
    content = (folder / file.path).read_bytes()
    got = md5(content, usedforsecurity=False).hexdigest()
    if got != file.md5:
        raise ValueError(
            f"{folder / file.path}: got MD5 {got}, expected {file.md5}; a pickle of unknown content is not read. "
            "Delete the file and run `puoc fetch`"
        )
    batch: dict[str, Any] = ArrayUnpickler(BytesIO(content), encoding="latin1").load()
    return batch


class ArrayUnpickler(pickle.Unpickler):
    """Unpickler that accepts only arrays, texts, numbers and containers."""

    _ALLOWED: ClassVar[Mapping[tuple[str, str], Any]] = {
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        # the name that numpy had in 2009 for the function that every pickled array refers to
        ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    }

    def find_class(self, module_name: str, global_name: str) -> object:
        """Return the class or function that a pickle names, if an array needs it.

        Raises
        ------
        ValueError : an array does not need it; the message names it.
        """
        if (module_name, global_name) not in self._ALLOWED:
            raise ValueError(
                f"the pickle asks for {module_name}.{global_name}; only numpy arrays, texts, numbers and containers "
                "are read"
            )
        return self._ALLOWED[module_name, global_name]
