"""Model files as fitted estimators."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np

from puoc.datasets.readers.preprocess import TablePreparing
from puoc.methods.persistence import model_file as modelfile
from puoc.methods.persistence.header import FittedEncoder
from puoc.userdata.estimators.base import ABOUT
from puoc.userdata.estimators.classes import class_of, hyperparameter_names


def load(path: str | Path) -> Any:
    """Load a model file of ``save`` or ``puoc fit`` as a fitted estimator of its method's class. No code of it is run.

    The arguments of the estimator are those of the fit, as far as the file has them.

    Parameters
    ----------
    path : the model file.

    Returns
    -------
    A ``PUClassifier`` or a ``OneClassDetector``.

    Raises
    ------
    ValueError : not a model file, or one of pictures or texts in files, which only ``puoc score`` reads.

    Source: ours; the arrays are safetensors, and the rest is JSON (docs/reference/files.md).

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from puoc import PUSVM, load, make_pu
    >>> X, y, _ = make_pu(n_p=40, n_u=80, alpha=0.3, random_state=0)
    >>> model = PUSVM(class_prior=0.3).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model")
    ...     again = load(Path(folder) / "model")
    >>> bool((again.score_samples(X) == model.score_samples(X)).all())
    True
    """
    meta = modelfile.read_meta(Path(path))
    content = Path(path).read_bytes()
    preparing = modelfile.preparing(meta)
    about = cast("dict[str, Any]", meta.about.get(ABOUT) or {})
    if preparing is not None and not isinstance(preparing, TablePreparing):
        raise ValueError(f"{path}: a model of {preparing.kind} in files; expected one of a table; see puoc score")
    names = hyperparameter_names(meta.method)
    arguments: dict[str, Any] = {names[name]: value for name, value in meta.params.items()}
    encoder, threshold = meta.encoder, meta.threshold
    arguments |= {
        "class_prior": meta.about.get("prior", "tice"),
        "encoder": encoder.name if isinstance(encoder, FittedEncoder) else encoder,
        "threshold": None if threshold is None else threshold.by,
        "random_state": meta.about.get("seed", 0),
    }
    if threshold is not None and threshold.by == "recall":
        arguments["recall"] = threshold.asked
    estimator = class_of(meta.method)(**arguments)
    columns = about.get("columns")
    estimator._columns = columns
    if columns is not None:
        estimator.n_features_in_ = len(columns)
        if about.get("named"):
            estimator.feature_names_in_ = np.array(columns, dtype=object)
    elif preparing is None:
        raise ValueError(f"{path}: a model of a dataset of the benchmark; expected one of save or puoc fit")
    estimator.classes_ = np.array(about.get("classes", [0, 1]))
    estimator.notes_ = []
    estimator._take(content)
    return estimator
