"""Benchmark of one-class (OC), positive-unlabelled (PU) and PU-OC classifiers. See README.md.

From Python: an estimator for each method (``PUSVM``, ``NNPU``, ``DROCC``, ...; ``all_estimators()`` lists them), the
general ``PUClassifier`` and ``OneClassDetector``, splitters, scorers, and functions of plain arrays. docs/python.md
explains them. A name is loaded at its first use, so ``import puoc`` loads no other library. ``__all__`` has all
names but the classes of methods.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = [
    "OneClassDetector",
    "PUClassifier",
    "PUKFold",
    "PUShuffleSplit",
    "__version__",
    "all_estimators",
    "assess",
    "holm",
    "lee_liu_score",
    "load",
    "make_pu",
    "power",
    "proxy_accuracy_score",
    "pu_auc_score",
    "pu_scorer",
    "seeds_for_power",
    "tice",
    "wilcoxon_exact",
]

__version__ = "0.1.0"

_ESTIMATORS = "puoc.userdata.estimators"
_ARRAYS = "puoc.userdata.estimators.arrays"
#: Public names of Python, with the module that has each and its name there.
_PUBLIC = {
    "OneClassDetector": (_ESTIMATORS, "OneClassDetector"),
    "PUClassifier": (_ESTIMATORS, "PUClassifier"),
    "PUKFold": (_ESTIMATORS, "PUKFold"),
    "PUShuffleSplit": (_ESTIMATORS, "PUShuffleSplit"),
    "all_estimators": (_ESTIMATORS, "all_estimators"),
    "assess": (_ARRAYS, "assess"),
    "holm": ("puoc.analysis.statistics.holm", "holm"),
    "lee_liu_score": (_ESTIMATORS, "lee_liu_score"),
    "load": (_ESTIMATORS, "load"),
    "make_pu": (_ARRAYS, "make_pu"),
    "power": ("puoc.analysis.statistics.power", "power"),
    "proxy_accuracy_score": (_ESTIMATORS, "proxy_accuracy_score"),
    "pu_auc_score": (_ESTIMATORS, "pu_auc_score"),
    "pu_scorer": (_ESTIMATORS, "pu_scorer"),
    "seeds_for_power": ("puoc.analysis.statistics.power", "seeds_for_power"),
    "tice": (_ARRAYS, "tice"),
    "wilcoxon_exact": ("puoc.analysis.statistics.signed_rank", "signed_rank_test"),
}


def __getattr__(name: str) -> Any:
    """Return a public name, or the class of a method, which begins with a capital letter."""
    if name in _PUBLIC:
        module, there = _PUBLIC[name]
        return getattr(import_module(module), there)
    if name[:1].isupper():
        found = import_module(_ESTIMATORS).class_named(name)
        if found is not None:
            return found
        from difflib import get_close_matches

        near = get_close_matches(name, [*_PUBLIC, *import_module(_ESTIMATORS).all_estimators()], n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise AttributeError(
            f"module 'puoc' has no attribute {name!r}{hint}; puoc.all_estimators() lists the classes of methods"
        )
    # a module of the package comes here too, before Python imports it
    raise AttributeError(f"module 'puoc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
