"""Where a number of ours was not made as the paper's was: what forbids a verdict, and what a reader must know."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pandas as pd

from puoc.analysis.beside import Beside
from puoc.analysis.frames import present, records
from puoc.analysis.published import UNPRINTED, protocol, read

_SIZES = {
    "n_pos_lab": "labelled positives",
    "n_pos_unl": "unlabelled positives",
    "n_neg_unl": "unlabelled negatives",
}
_IMAGES = ("cifar10", "abnormal1001")
_TEXTS = ("op_spam", "sms_spam")
#: What a method's rows went through before it, by datasets: the first words of an encoder as results name it.
_EXTRACTORS = {
    **dict.fromkeys(("oc_cnn", "pu_cnn"), (_IMAGES, "imagenet resnet18", "ResNet-18 trained on ImageNet")),
    **dict.fromkeys(("oc_svm", "pu_svm"), (_IMAGES, "autoencoder", "a convolutional autoencoder")),
    # files of vectors go by digests, and none of that file is known here
    **dict.fromkeys(("oc_lstm", "pu_lstm"), (_TEXTS, "word_vectors of Google News", "the Google News word vectors")),
}
_SAID = 3  # differences in hyperparameters that are spelled out


@dataclass(frozen=True)
class Reservation:
    """``void``: why no verdict can be given, empty where one can. ``differs_in``: what else is not as published."""

    void: str
    differs_in: str


def reservation(of: Beside, dataset: str, rows: pd.DataFrame) -> Reservation:
    """What keeps a cell from answering the paper's, from its recorded rows (those of one entry and cell)."""
    if of.published in UNPRINTED:
        return Reservation("", "")
    asked = protocol(of.published, of.column)
    void = [_other_data(asked["datasets"], dataset), _other_extractor(of, asked["datasets"], rows)]
    differs = [*_sizes(asked, rows), *_settings(of, rows)]
    differs += ["bf16"] if "bf16" in set(_values(rows, "numerics")) else []
    return Reservation("; ".join(filter(None, void)), "; ".join(differs))


def _other_data(wanted: str, dataset: str) -> str:
    if dataset in wanted.split("|"):
        return ""
    return f"{dataset} stands in for {wanted.replace('|', ' or ') or 'the features that the paper had'}"


def _other_extractor(of: Beside, datasets: str, rows: pd.DataFrame) -> str:
    data, wanted, words = _EXTRACTORS.get(of.method, ((), "", ""))
    if not set(datasets.split("|")) & set(data):
        return ""
    other = sorted({str(name) for name in _values(rows, "encoder") if not str(name).startswith(wanted)})
    bare = "encoder" not in rows or rows["encoder"].isna().any()
    seen = [*other, *(["no encoder"] if bare else [])]
    return f"{', '.join(seen)} where the paper has {words}" if seen else ""


def _sizes(asked: dict[str, str], rows: pd.DataFrame) -> list[str]:
    said = []
    for name, words in _SIZES.items():
        found = sorted({int(value) for value in _values(rows, name)})
        if asked[name] and found not in ([], [int(asked[name])]):
            said.append(f"{' to '.join(str(n) for n in {found[0]: 0, found[-1]: 0})} {words} ({asked[name]})")
    return said


def _settings(of: Beside, rows: pd.DataFrame) -> list[str]:
    """Hyperparameters that differ from the appendix', by our names, the paper's value in brackets."""
    table = read("settings")
    of_method = table[table["method"] == of.method]
    if of_method.empty or not {"pos", "params"} <= set(rows.columns):
        return []
    said: dict[str, None] = {}
    known = sorted(of_method["setting"].unique())
    for row in records(rows[["pos", "params"]].drop_duplicates()):
        given = json.loads(row["params"]) if present(row["params"]) else {}
        settings = _settings_of(of, row["pos"], known)
        options: list[list[str]] = [_unlike(given, of_method[of_method["setting"] == setting]) for setting in settings]
        said |= dict.fromkeys(sorted(options, key=len)[0])
    more = len(said) - _SAID
    return [*list(said)[:_SAID], *([f"{more} more hyperparameters"] if more > 0 else [])]


def _settings_of(of: Beside, pos: Any, known: list[str]) -> list[str]:
    """The settings that the paper may have used: one a positive class where it has that; else any it printed."""
    classes = json.loads(pos) if present(pos) else []
    own = "abnormal" if of.published == "abnormal" else str(classes[0]) if len(classes) == 1 else ""
    return [own] if own in known else known


def _unlike(given: dict[str, Any], printed: pd.DataFrame) -> list[str]:
    return [
        f"{name} {given[name]} ({value})"
        for name, value in zip(printed["parameter"], printed["printed"], strict=True)
        if given.get(name) is not None and not _equal(given[name], value)
    ]


def _equal(given: Any, printed: str) -> bool:
    try:
        return float(given) == float(printed)
    except ValueError:
        return str(given) == printed


def _values(rows: pd.DataFrame, name: str) -> list[Any]:
    return [value for value in rows[name].unique() if present(value)] if name in rows else []
