"""Records of fits that differ from planned fits only in digests: find, compare and adopt them.

The id of a fit hashes the digests of its code. So a change of code that changes no number gives every fit another id.
The record of a fit can then be adopted for the fit that is equal in everything but its digests.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from pydantic import JsonValue

from puoc.records import Array, Fit, FitResult, JsonObject, Trial, TrialResult, content_id
from puoc.store.ledger import Ledger
from puoc.store.ledger_files import read_record
from puoc.store.ledger_records import Entry, Scored

#: The digests of a fit, with their keys in its JSON.
_DIGESTS = {
    "code": ("code_digest",),
    "draw": ("draw_digest",),
    "encoder": ("encoder", "code_digest"),
    "prior": ("prior", "code_digest"),
    "encoder of prior": ("prior", "encoder", "code_digest"),
}
#: Numbers of a record that come from training, and those that come from scoring.
_TRAINED, _SCORED = ("alpha", "alpha_hat"), ("auc", "auc_train_pool", "auc_val_pu")

Digests = dict[str, str]


class Difference(NamedTuple):
    """A difference between two records of a fit."""

    fit_id: str  # of the older record
    array: str
    largest: float | None  # absolute difference of two numbers; None if shapes or types differ

    def __str__(self) -> str:
        size = "shapes or types differ" if self.largest is None else f"largest absolute difference {self.largest:.3g}"
        return f"fit {self.fit_id}: {self.array}: {size}"


class Comparison(NamedTuple):
    """The compared parts of two records, and their differences."""

    compared: tuple[str, ...]  # kinds: weights, scores, AUCs, curve, alpha, alpha_hat
    differences: tuple[Difference, ...]


# which records


def digests_of(fit: JsonObject) -> Digests:
    """Return the digests in the canonical JSON of a fit."""
    return _split_digests(fit)[0]


def id_without_digests(fit: JsonObject) -> str:
    """Return an id of everything in the canonical JSON of a fit but its digests."""
    return content_id(_split_digests(fit)[1])


def equal_but_digests(ledger: Ledger, wanted_ids: Collection[str]) -> dict[str, list[str]]:
    """Return ids of successful fits by ``id_without_digests``, for the ids in ``wanted_ids``.

    Raises
    ------
    ValueError : a record is damaged.
    """
    fit_ids: dict[str, list[str]] = defaultdict(list)
    for fit_id in ledger.ids():
        if not ledger.is_final(fit_id):
            continue
        path = record_path(ledger, fit_id)
        try:
            result = json.loads(path.read_bytes())["result"]
            bare_id, is_ok = id_without_digests(result["fit"]), result["status"] == "ok"
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}: not a record, or damaged ({error}); see puoc ledger verify") from error
        if is_ok and bare_id in wanted_ids:
            fit_ids[bare_id].append(fit_id)
    return fit_ids


def record_path(ledger: Ledger, fit_id: str) -> Path:
    """Return the path of the final record of a fit."""
    return ledger.root / fit_id[:2] / f"{fit_id}.json"


def _split_digests(fit: JsonObject) -> tuple[Digests, JsonObject]:
    """Return the digests in a fit's JSON, and the JSON without them, which shares all other parts with the first."""
    digests, rest = Digests(), dict(fit)
    for name, (*outer_keys, last_key) in _DIGESTS.items():
        part: JsonValue = rest
        for key in outer_keys:
            inner = part.get(key) if isinstance(part, dict) else None
            if isinstance(part, dict) and isinstance(inner, dict):
                part[key] = inner = dict(inner)
            part = inner
        if isinstance(part, dict) and last_key in part:
            digests[name] = str(part.pop(last_key))
    return digests, rest


# comparison


def compare_records(old: tuple[Ledger, Entry], new: tuple[Ledger, Entry]) -> Comparison:
    """Compare the records of a fit under two ids bit for bit.

    The arrays of the models are compared if both models were kept, and the scores of the test rows. AUCs are compared
    if the same code scored both.
    """
    compared, fit_id = list[str](), old[1].result.fit.id
    differences: list[Difference] = []

    def check(kind: str, name: str, a: ArrayLike, b: ArrayLike) -> None:
        compared.append(kind)
        difference = _difference(np.asarray(a), np.asarray(b))
        if difference != _SAME:
            differences.append(Difference(fit_id, name, difference))

    weights = [_weights(ledger, entry.result) for ledger, entry in (old, new)]
    if all(arrays is not None for arrays in weights):
        for name in sorted({*(weights[0] or {}), *(weights[1] or {})}):
            check("weights", f"weights {name}", *((arrays or {}).get(name, np.empty(0)) for arrays in weights))
    for key in _TRAINED:
        before, now = (getattr(entry.result, key) for _, entry in (old, new))
        if (before, now) != (None, None):
            check(key, key, _number(before), _number(now))
    for name in sorted({*old[1].result.curve, *new[1].result.curve}):
        check("curve", f"curve {name}", *(entry.result.curve.get(name, ()) for _, entry in (old, new)))
    for trial in old[1].trials.values():
        other = new[1].scored(Trial(fit=new[1].result.fit, test=trial.test).id)
        if other is None:
            differences.append(Difference(fit_id, f"trial {trial.trial_id}", None))
            continue
        a, b = old[0].scores(trial), new[0].scores(other)
        if a is not None and b is not None:
            check("scores", f"scores of trial {trial.trial_id}", a, b)
        if trial.scoring_digest == other.scoring_digest:
            for key in _SCORED:
                before, now = getattr(trial, key), getattr(other, key)
                if key == "auc_val_pu":
                    before, now = old[1].auc_val_pu(trial), new[1].auc_val_pu(other)
                if (before, now) != (None, None):
                    check("AUCs", f"{key} of trial {trial.trial_id}", _number(before), _number(now))
    return Comparison(tuple(dict.fromkeys(compared)), tuple(differences))


_SAME = -1.0


def _difference(a: Array, b: Array) -> float | None:
    """Return the largest absolute difference; ``_SAME`` for equal bits, None for other shapes or types."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return None
    if a.tobytes() == b.tobytes():
        return _SAME
    if a.dtype.kind not in "biuf":
        return None
    apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return float(np.nanmax(apart)) if np.isfinite(apart).any() else 0.0


def _number(value: float | None) -> Array:
    return np.asarray([] if value is None else [value], dtype=np.float64)


def _weights(ledger: Ledger, result: FitResult) -> dict[str, Array] | None:
    path = ledger.model_path(result)
    if path is None:
        return None
    from safetensors.numpy import load

    arrays: dict[str, Array] = load(path.read_bytes())
    return arrays


# adoption


def copy_fit(source: Ledger, fit_id: str, target: Ledger) -> None:
    """Link all files of a finished fit into another ledger on the same file system."""
    folder = target.root / fit_id[:2]
    folder.mkdir(parents=True, exist_ok=True)
    for path in (source.root / fit_id[:2]).glob(f"{fit_id}[.+]*"):
        if path.suffix in (".json", ".npy", ".safetensors"):
            with suppress(FileExistsError):
                os.link(path, folder / path.name)


def adopt_record(ledger: Ledger, fit_id: str, fit: Fit, mark: JsonObject) -> bool:
    """Record the result of the fit ``fit_id`` for ``fit``. Return False if ``fit`` has a record or is being computed.

    Parameters
    ----------
    mark : content of ``FitResult.adopted`` besides the id. If the result was itself adopted, its mark is kept in it.

    Raises
    ------
    ValueError : the record or its scores are missing or damaged.
    OSError : the ledger cannot be written.
    """
    read_record(record_path(ledger, fit_id))
    entry, fit_claim = ledger.get(fit_id), ledger.claim(fit.id)
    if entry is None or fit_claim is None:
        return False
    try:
        if ledger.is_final(fit.id):
            return False
        earlier = {"earlier": entry.result.adopted} if entry.result.adopted else {}
        model = entry.result.model and _link(ledger, entry.result.model, fit)
        changes = {"fit": fit, "model": model, "adopted": {"from": fit_id, **mark, **earlier}}
        trials = {trial.trial_id: trial for trial in _renamed(ledger, entry.trials.values(), fit)}
        recorded = ledger.put_adopted(entry.result.model_copy(update=changes), trials)
        for trial in _renamed(ledger, entry.rescored.values(), fit):
            scores = ledger.scores(trial)
            ledger.add_trial(Scored(trial, np.empty(0) if scores is None else scores))
        return recorded
    finally:
        fit_claim.release()


def _renamed(ledger: Ledger, trials: Collection[TrialResult], fit: Fit) -> Iterator[TrialResult]:
    """Yield the trials as those of another fit, with their scores linked to its name."""
    for trial in trials:
        scores = trial.scores and _link(ledger, trial.scores, fit)
        changes = {"trial_id": Trial(fit=fit, test=trial.test).id, "fit_id": fit.id, "scores": scores}
        yield trial.model_copy(update=changes)


def _link(ledger: Ledger, name: str, fit: Fit) -> str:
    """Link a model or scores to the name of another fit and return that name. A missing file is not linked."""
    source, linked = ledger.root / name[:2] / name, f"{fit.id}{name[24:]}"
    target = ledger.root / fit.id[:2] / linked
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError, FileNotFoundError):
        os.link(source, target)
    return linked
