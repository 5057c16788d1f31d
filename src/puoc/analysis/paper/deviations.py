"""Where a number of ours was not made as the paper's was: what forbids a verdict, and what a reader must know."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from puoc.analysis.paper.matching import Beside, beside
from puoc.analysis.paper.published import CAPTIONS, UNPRINTED, protocol, settings
from puoc.analysis.tables.frames import present
from puoc.analysis.tables.plans import TablePlan

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
#: Whose class prior the paper says where it comes from; the kinds as results name them.
_PRIORS = {"pu_svm": "tice", "pu_cnn": "tice", "nnpu": "dedpul", "nnpu_star": "true"}
_SAID = 3  # differences in hyperparameters that are spelled out


@dataclass(frozen=True)
class Reservation:
    """``void``: why no verdict can be given, empty where one can. ``differs_in``: what else is not as published."""

    void: str
    differs_in: str


def reservations(plans: Sequence[TablePlan], results: Mapping[str, pd.DataFrame | None]) -> dict[Beside, Reservation]:
    """What keeps each planned cell from answering the paper's; of an average, what keeps any of its cells.

    ``results`` are recorded rows by table, None where it was not run.
    """
    datasets = {plan.table: plan.dataset for plan in plans}
    by_entry: dict[tuple[str, str], pd.DataFrame] = {}
    by_cell: dict[tuple[str, str, str], pd.DataFrame] = {}
    cells = beside(plans)
    for table in dict.fromkeys(one.table for one in cells):
        rows = results.get(table)
        if rows is not None:
            by_entry |= {(table, str(name)): group for name, group in rows.groupby("entry", sort=False)}
            for (entry, cell), group in rows.groupby(["entry", "cell"], sort=False):
                by_cell[table, str(entry), str(cell)] = group
    found = {}
    for one in cells:
        recorded = (
            by_entry.get((one.table, one.entry)) if one.is_average else by_cell.get((one.table, one.entry, one.cell))
        )
        held = recorded is not None and reservation(one, datasets[one.table], recorded)
        found[one] = held or Reservation("", "")
    return found


def reservation(of: Beside, dataset: str, rows: pd.DataFrame) -> Reservation:
    """What keeps a cell from answering the paper's, from its recorded rows (those of one entry and cell)."""
    if of.published in UNPRINTED:
        return Reservation("", "")
    asked = protocol(of.published, of.column)
    void = [_other_data(asked["datasets"], dataset), _other_extractor(of, asked["datasets"], rows)]
    differs = [*_sizes(asked, rows), *_priors(of, rows), *_settings(of, rows)]
    differs += ["bf16"] if "bf16" in set(_values(rows, "numerics")) else []
    if any(str(source).startswith("selected") for source in _values(rows, "config_source")):
        differs.append("selected configuration")
    return Reservation("; ".join(filter(None, void)), "; ".join(differs))


def _other_data(wanted: str, dataset: str) -> str:
    if wanted and dataset in wanted.split("|"):
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


def _priors(of: Beside, rows: pd.DataFrame) -> list[str]:
    wanted = _PRIORS.get(of.method)
    if wanted is None or of.published in CAPTIONS:
        return []
    return [f"class prior {kind} ({wanted})" for kind in sorted(map(str, _values(rows, "prior"))) if kind != wanted]


def _settings(of: Beside, rows: pd.DataFrame) -> list[str]:
    """Hyperparameters that differ from the appendix', by our names, the paper's value in brackets."""
    printed = settings(of.method)
    if not printed or of.published in CAPTIONS or not {"pos", "params"} <= set(rows.columns):
        return []
    said: dict[str, None] = {}
    for pos, params in sorted(set(zip(rows["pos"].map(_text), rows["params"].map(_text), strict=True))):
        given = json.loads(params or "{}")
        options = [_unlike(given, printed[setting]) for setting in _settings_of(of, pos, list(printed))]
        said |= dict.fromkeys(sorted(options, key=len)[0])
    more = len(said) - _SAID
    return [*list(said)[:_SAID], *([f"{more} more hyperparameters"] if more > 0 else [])]


def _settings_of(of: Beside, pos: str, known: list[str]) -> list[str]:
    """The settings that the paper may have used: one a positive class where it has that; else any it printed."""
    classes = json.loads(pos or "[]") if protocol(of.published, of.column)["datasets"] == "cifar10" else []
    own = "abnormal" if of.published == "abnormal" else str(classes[0]) if len(classes) == 1 else ""
    return [own] if own in known else known


def _unlike(given: dict[str, Any], printed: dict[str, str]) -> list[str]:
    return [
        f"{name} {given[name]} ({value})"
        for name, value in printed.items()
        if given.get(name) is not None and not _equal(given[name], value)
    ]


def _equal(given: Any, printed: str) -> bool:
    try:
        return float(given) == float(printed)
    except ValueError:
        return str(given) == printed


def _values(rows: pd.DataFrame, name: str) -> list[Any]:
    return rows[name].dropna().unique().tolist() if name in rows else []


def _text(value: Any) -> str:
    return str(value) if present(value) else ""
