"""Deviations of our numbers from the paper's setup: some rule out a verdict, others are shown to the reader."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from pydantic import JsonValue

from puoc.analysis.paper.matching import PublishedCell, published_cells
from puoc.analysis.paper.published import CAPTIONS, UNPRINTED, PrintedSetup, protocol, settings
from puoc.analysis.tables.frames import Value, present
from puoc.records import Params
from puoc.store.plans import TablePlan

_SIZES = {
    "n_pos_lab": "labelled positives",
    "n_pos_unl": "unlabelled positives",
    "n_neg_unl": "unlabelled negatives",
}
_IMAGES = ("cifar10", "abnormal1001")
_TEXTS = ("op_spam", "sms_spam")
#: The feature extractor of a method in the paper: datasets, the first words of an encoder as results name it, words.
_EXTRACTORS = {
    **dict.fromkeys(("oc_cnn", "pu_cnn"), (_IMAGES, "imagenet resnet18", "ResNet-18 trained on ImageNet")),
    **dict.fromkeys(("oc_svm", "pu_svm"), (_IMAGES, "autoencoder", "a convolutional autoencoder")),
    # files of vectors are identified by digests, and the digest of that file is not known here
    **dict.fromkeys(("oc_lstm", "pu_lstm"), (_TEXTS, "word_vectors of Google News", "the Google News word vectors")),
}
#: Methods whose source of the class prior is given in the paper; the kinds as results name them.
_PRIORS = {"pu_svm": "tice", "pu_cnn": "tice", "nnpu": "dedpul", "nnpu_star": "true"}
_NAMED_DIFFERENCES = 3  # differences in hyperparameters that are spelled out; the others are counted


@dataclass(frozen=True)
class Reservation:
    """Deviations of a cell from the paper.

    ``void`` is the reason why no verdict can be given; empty if one can. ``differs_in`` lists other deviations.
    """

    void: str
    differs_in: str


def reservations(
    plans: Sequence[TablePlan], results: Mapping[str, pd.DataFrame | None]
) -> dict[PublishedCell, Reservation]:
    """Return the deviations of each planned cell from the paper; for an average, those of any of its cells.

    ``results`` are recorded rows by table, None if the table was not run.
    """
    datasets = {plan.table: plan.dataset for plan in plans}
    by_entry: dict[tuple[str, str], pd.DataFrame] = {}
    by_cell: dict[tuple[str, str, str], pd.DataFrame] = {}
    cells = published_cells(plans)
    for table in dict.fromkeys(cell.table for cell in cells):
        rows = results.get(table)
        if rows is not None:
            by_entry |= {(table, str(name)): group for name, group in rows.groupby("entry", sort=False)}
            for (entry, name), group in rows.groupby(["entry", "cell"], sort=False):
                by_cell[table, str(entry), str(name)] = group
    reservation_by_cell = {}
    for cell in cells:
        recorded = (
            by_entry.get((cell.table, cell.entry))
            if cell.is_average
            else by_cell.get((cell.table, cell.entry, cell.cell))
        )
        deviations = recorded is not None and reservation(cell, datasets[cell.table], recorded)
        reservation_by_cell[cell] = deviations or Reservation("", "")
    return reservation_by_cell


def reservation(cell: PublishedCell, dataset: str, rows: pd.DataFrame) -> Reservation:
    """Return the deviations of a cell from the paper, from its recorded rows (those of one entry and cell)."""
    if cell.published in UNPRINTED:
        return Reservation("", "")
    published = protocol(cell.published, cell.column)
    void = [_other_data(published.datasets, dataset), _other_extractor(cell, published.datasets, rows)]
    differs = [*_sizes(published, rows), *_priors(cell, rows), *_settings(cell, rows)]
    differs += ["bf16"] if "bf16" in set(_values(rows, "numerics")) else []
    if any(str(source).startswith("selected") for source in _values(rows, "config_source")):
        differs.append("selected configuration")
    return Reservation("; ".join(filter(None, void)), "; ".join(differs))


def _other_data(published_datasets: str, dataset: str) -> str:
    if published_datasets and dataset in published_datasets.split("|"):
        return ""
    return f"{dataset} stands in for {published_datasets.replace('|', ' or ') or 'the features that the paper had'}"


def _other_extractor(cell: PublishedCell, datasets: str, rows: pd.DataFrame) -> str:
    data, encoder_prefix, words = _EXTRACTORS.get(cell.method, ((), "", ""))
    if not set(datasets.split("|")) & set(data):
        return ""
    other = sorted({str(name) for name in _values(rows, "encoder") if not str(name).startswith(encoder_prefix)})
    bare = "encoder" not in rows or rows["encoder"].isna().any()
    names = [*other, *(["no encoder"] if bare else [])]
    return f"{', '.join(names)} where the paper has {words}" if names else ""


def _sizes(published: PrintedSetup, rows: pd.DataFrame) -> list[str]:
    differences = []
    for name, printed in published.sizes.items():
        sizes = sorted({int(value) for value in _values(rows, name)})
        if printed and sizes not in ([], [int(printed)]):
            drawn = " to ".join(str(n) for n in {sizes[0]: 0, sizes[-1]: 0})
            differences.append(f"{drawn} {_SIZES[name]} ({printed})")
    return differences


def _priors(cell: PublishedCell, rows: pd.DataFrame) -> list[str]:
    wanted = _PRIORS.get(cell.method)
    if wanted is None or cell.published in CAPTIONS:
        return []
    return [f"class prior {kind} ({wanted})" for kind in sorted(map(str, _values(rows, "prior"))) if kind != wanted]


def _settings(cell: PublishedCell, rows: pd.DataFrame) -> list[str]:
    """Return the hyperparameters that differ from the appendix, by our names, with the paper's value in brackets."""
    printed = settings(cell.method)
    if not printed or cell.published in CAPTIONS or not {"pos", "params"} <= set(rows.columns):
        return []
    differences: dict[str, None] = {}
    for pos, text in sorted(set(zip(rows["pos"].map(_text), rows["params"].map(_text), strict=True))):
        params = json.loads(text or "{}")
        options = [_unlike(params, printed[setting]) for setting in _settings_of(cell, pos, list(printed))]
        differences |= dict.fromkeys(sorted(options, key=len)[0])
    more = len(differences) - _NAMED_DIFFERENCES
    return [*list(differences)[:_NAMED_DIFFERENCES], *([f"{more} more hyperparameters"] if more > 0 else [])]


def _settings_of(cell: PublishedCell, pos: str, known: list[str]) -> list[str]:
    """Return the settings that the paper may have used: that of the positive class if printed, otherwise all."""
    classes = json.loads(pos or "[]") if protocol(cell.published, cell.column).datasets == "cifar10" else []
    setting = "abnormal" if cell.published == "abnormal" else str(classes[0]) if len(classes) == 1 else ""
    return [setting] if setting in known else known


def _unlike(params: Params, printed: dict[str, str]) -> list[str]:
    return [
        f"{name} {params[name]} ({value})"
        for name, value in printed.items()
        if params.get(name) is not None and not _equal(params[name], value)
    ]


def _equal(value: JsonValue, printed: str) -> bool:
    try:
        return isinstance(value, (int, float, str)) and float(value) == float(printed)
    except ValueError:
        return str(value) == printed


def _values(rows: pd.DataFrame, name: str) -> list[str | float]:
    return rows[name].dropna().unique().tolist() if name in rows else []


def _text(value: Value) -> str:
    return str(value) if present(value) else ""
