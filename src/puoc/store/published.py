"""Published results: a folder with records as Parquet files, and a manifest with their checksums.

The records are complete except for models, scores of single rows and names of machines. Two ledgers with the same
outcomes have the same ``content``, whatever their order, times and machines are.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter

from puoc.records import Fit, FitResult, Trial, TrialResult, content_id
from puoc.store.atomic import read_json, write_bytes, write_json
from puoc.store.checked_json import read_form
from puoc.store.checked_parquet import read_rows, write_rows
from puoc.store.ledger import Entry, Ledger

MANIFEST = "manifest.json"
#: Beside the manifest: the profile as it was run, and its plan, by the paths of its files.
PARAMS, PLAN = "params.yaml", "plan.json"
_FROM_SOURCE = "expected a folder of puoc ledger export; get it again from where it comes"
_PLANNED = ("plan", "configs")  # folders below work/
_SHOWN = 3  # contradictions in a message
_IMPORTS = "imported"  # folder of a ledger with the origins of its imported records


class Manifest(BaseModel):
    """What a folder of published results contains and where it comes from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["puoc-results"] = "puoc-results"
    version: Literal[1] = 1
    title: str
    written: str  # date
    puoc: str  # version that wrote the folder
    commits: tuple[str, ...]  # of the code that computed the fits
    fits: int
    trials: int
    seeds: dict[str, int]  # largest number of seeds, by dataset
    fits_by_method: dict[str, int]
    hours: float  # sum of the seconds of all fits, as hours of one core
    libraries: dict[str, tuple[str, ...]]  # versions, by library
    machines: tuple[str, ...]
    devices: tuple[str, ...]
    code_digests: dict[str, tuple[str, ...]]  # by method, encoder or prior
    data_digests: dict[str, tuple[str, ...]]  # by dataset
    content: str  # digest of all outcomes
    files: dict[str, str]  # SHA-256 by name


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """A row of a Parquet file: one fit with its trials."""

    fit_id: str
    method: str
    dataset: str
    seed: int
    status: str
    result: str  # JSON of FitResult
    trials: str  # JSON of a list of TrialResult, those first that were scored first


class PublishedFit(NamedTuple):
    """A fit of a folder with its trials."""

    result: FitResult
    trials: tuple[TrialResult, ...]


class _Origin(BaseModel):
    """A note on an import: which fits come from which results."""

    model_config = ConfigDict(frozen=True)

    title: str
    written: str
    fits: tuple[str, ...]


class Imported(NamedTuple):
    """Numbers of fits and trials that an import added, and of those that the ledger had."""

    fits: int
    trials: int
    known: int


# writing


def export_folder(
    ledger: Ledger, folder: Path, *, title: str, written: str, puoc: str, project: Path, fits: Collection[str]
) -> Manifest:
    """Write the final records of some fits to a folder.

    Parameters
    ----------
    title : names the results in reports of other projects.
    written, puoc : date and version of puoc, for the manifest.
    project : the folder of the project, whose params.yaml and plan are included.
    fits : ids; fits without a final record are left out.

    Raises
    ------
    ValueError : a record is damaged, or no fit has a record. The folder is not changed then.
    """
    entries = {fit_id: entry for fit_id in sorted(fits) if ledger.is_final(fit_id) and (entry := ledger.get(fit_id))}
    if not entries:
        raise ValueError(f"{folder}: no planned fit has a record; nothing was written")
    published = [_published(entry) for entry in entries.values()]
    by_dataset: dict[str, list[PublishedFit]] = defaultdict(list)
    for fit in published:
        by_dataset[fit.result.fit.sample.dataset].append(fit)
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for dataset, members in sorted(by_dataset.items()):
        names.append(f"{dataset}.parquet")
        write_rows(folder / names[-1], [_row(fit) for fit in members], PublishedRow, compression="zstd")
    write_bytes(folder / PARAMS, (project / PARAMS).read_bytes())
    write_json(folder / PLAN, _plan_files(project))
    files = {name: _checksum(folder / name) for name in [PARAMS, PLAN, *names]}
    manifest = _describe(published, title, written, puoc, files)
    write_json(folder / MANIFEST, manifest.model_dump(mode="json"))
    for path in folder.glob("*.parquet"):
        if path.name not in files:
            path.unlink()
    return manifest


def _plan_files(project: Path) -> dict[str, JsonValue]:
    """Return the plan and the configurations of a project, without the note on the params file that they come from."""
    paths = sorted(path for part in _PLANNED for path in (project / "work" / part).rglob("*.json"))
    return {str(path.relative_to(project)): read_json(path) for path in paths if path.name != "source.json"}


def write_plan(folder: Path, project: Path) -> None:
    """Write the profile and the plan of published results to a project.

    Raises
    ------
    ValueError : a path of the plan leads out of the project.
    """
    write_bytes(project / PARAMS, (folder / PARAMS).read_bytes())
    for name, content in read_form(folder / PLAN, TypeAdapter(dict[str, JsonValue]), _FROM_SOURCE).items():
        if not (project / name).resolve().is_relative_to((project / "work").resolve()):
            raise ValueError(f"{folder / PLAN}: got the path {name}; expected one below work/")
        write_json(project / name, content)


def _published(entry: Entry) -> PublishedFit:
    """Return a record without what is of no use elsewhere: its model, the scores of rows, and the name of a machine."""
    result = entry.result.model_copy(update={"model": None, "session": None})
    trials = [*entry.trials.values(), *(entry.rescored[key] for key in sorted(entry.rescored))]
    kept = [trial.model_copy(update={"scores": None}) for trial in trials]
    return PublishedFit(result, tuple(kept))


def _row(fit: PublishedFit) -> PublishedRow:
    return PublishedRow(
        fit_id=fit.result.fit.id,
        method=fit.result.fit.method,
        dataset=fit.result.fit.sample.dataset,
        seed=fit.result.fit.seed,
        status=fit.result.status,
        result=json.dumps(fit.result.canonical(), sort_keys=True),
        trials=json.dumps([trial.canonical() for trial in fit.trials], sort_keys=True),
    )


def _describe(published: list[PublishedFit], title: str, written: str, puoc: str, files: dict[str, str]) -> Manifest:
    results = [fit.result for fit in published]
    seeds: dict[str, set[int]] = defaultdict(set)
    code: dict[str, set[str]] = defaultdict(set)
    data: dict[str, set[str]] = defaultdict(set)
    libraries: dict[str, set[str]] = defaultdict(set)
    for result in results:
        fit = result.fit
        seeds[fit.sample.dataset].add(fit.seed)
        code[fit.method].add(fit.code_digest)
        data[fit.sample.dataset].add(fit.sample.data_digest)
        for name, version in result.versions.items():
            libraries[name].add(version)
    return Manifest(
        title=title,
        written=written,
        puoc=puoc,
        commits=_distinct(str(result.git["commit"]) for result in results if "commit" in result.git),
        fits=len(published),
        trials=sum(len(fit.trials) for fit in published),
        seeds={name: len(values) for name, values in sorted(seeds.items())},
        fits_by_method=dict(sorted(Counter(result.fit.method for result in results).items())),
        hours=round(sum(result.fit_seconds or 0.0 for result in results) / 3600, 3),
        libraries={name: _distinct(values) for name, values in sorted(libraries.items())},
        machines=_distinct(result.machine for result in results),
        devices=_distinct(result.device for result in results),
        code_digests={name: _distinct(values) for name, values in sorted(code.items())},
        data_digests={name: _distinct(values) for name, values in sorted(data.items())},
        content=content_digest(published),
        files=files,
    )


def _distinct(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({value for value in values if value is not None}))


def _checksum(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


# outcomes


def content_digest(fits: Iterable[PublishedFit]) -> str:
    """Return a digest of the outcomes of fits. It does not depend on their order, on times or on machines."""
    return content_id(sorted([fit.result.fit.id, _outcome(fit.result), *_scores(fit)] for fit in fits))


def _outcome(result: FitResult) -> str:
    numbers = {"alpha", "alpha_hat", "auc_val_pu", "curve", "status"}
    return content_id(result.model_dump(mode="json", include=numbers))


def _scores(fit: PublishedFit) -> list[str]:
    return sorted(_trial_outcome(trial) for trial in fit.trials)


def _trial_outcome(trial: TrialResult) -> str:
    numbers = {"trial_id", "scoring_digest", "auc", "auc_train_pool", "auc_val_pu", "n_pos", "n_neg"}
    return content_id(trial.model_dump(mode="json", include=numbers))


# reading


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder and compare the checksum of each file.

    Raises
    ------
    ValueError : there is no manifest, it is damaged, or a file is missing or was changed; the message names it.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise ValueError(f"{folder}: got no {MANIFEST}; {_FROM_SOURCE}")
    manifest = read_form(path, Manifest, _FROM_SOURCE)
    for name, expected in manifest.files.items():
        if not (folder / name).is_file():
            raise ValueError(f"{folder / name}: the file is missing; {_FROM_SOURCE}")
        if _checksum(folder / name) != expected:
            raise ValueError(f"{folder / name}: the content is not that of the manifest; {_FROM_SOURCE}")
    return manifest


def read_published(folder: Path) -> Iterator[PublishedFit]:
    """Read all fits of a folder whose manifest was read; each is checked against its id.

    Raises
    ------
    ValueError : a row is damaged, or is of another fit or trial than its id says.
    """
    for name in sorted(read_manifest(folder).files):
        if not name.endswith(".parquet"):
            continue
        for row in read_rows(folder / name, PublishedRow, _FROM_SOURCE):
            try:
                yield _parse(row)
            except (ValueError, TypeError) as error:
                reason = " ".join(str(error).split())[:300]
                raise ValueError(f"{folder / name}: fit {row.fit_id}: {reason}; {_FROM_SOURCE}") from error


def _parse(row: PublishedRow) -> PublishedFit:
    result = FitResult.model_validate_json(row.result)
    trials = tuple(TrialResult.model_validate(trial) for trial in json.loads(row.trials))
    if result.fit.id != row.fit_id:
        raise ValueError(f"got the record of fit {result.fit.id}")
    for trial in trials:
        expected = Trial(fit=result.fit, test=trial.test).id
        if trial.trial_id != expected or trial.fit_id != row.fit_id:
            raise ValueError(f"got trial {trial.trial_id} of fit {trial.fit_id}, expected trial {expected}")
    return PublishedFit(result, trials)


# merging


def import_folder(ledger: Ledger, folder: Path, *, keep: bool = False) -> Imported:
    """Add the records of a folder to a ledger. Records that the ledger has stay as they are.

    Parameters
    ----------
    keep : if a fit has another outcome in the ledger, keep that one instead of an error.

    Raises
    ------
    ValueError : the folder is damaged, or a fit has another outcome in the ledger. Nothing is added then.
    """
    published = list(read_published(folder))
    contradictions = [text for fit in published if (text := _contradiction(ledger, fit))]
    if contradictions and not keep:
        shown = "; ".join(contradictions[:_SHOWN]) + ("; ..." if len(contradictions) > _SHOWN else "")
        raise ValueError(
            f"{folder}: {len(contradictions)} of {len(published)} fits have another outcome in the ledger ({shown}); "
            "nothing was imported; give --keep to keep the outcomes of the ledger"
        )
    new = [fit.result.fit.id for fit in published if not ledger.is_final(fit.result.fit.id)]
    _note_origin(ledger, read_manifest(folder), new)
    fits = trials = known = 0
    for fit in published:
        if ledger.put_imported(fit.result, fit.trials):
            fits, trials = fits + 1, trials + len(fit.trials)
            continue
        known += 1
        if _contradiction(ledger, fit) is None:
            trials += sum(ledger.add_imported(trial) for trial in fit.trials)
    return Imported(fits, trials, known)


def _contradiction(ledger: Ledger, fit: PublishedFit) -> str | None:
    """Return how the outcome of a fit differs from that in the ledger; None if it does not, or is not there."""
    fit_id = fit.result.fit.id
    entry = ledger.get(fit_id) if ledger.is_final(fit_id) else None
    if entry is None:
        return None
    name = f"fit {fit_id} of {_in_words(fit.result.fit)}"
    if _outcome(entry.result) != _outcome(fit.result):
        return f"{name}: training"
    for trial in fit.trials:
        mine = entry.scored(trial.trial_id, trial.scoring_digest)
        if mine is not None and _trial_outcome(mine) != _trial_outcome(trial):
            return f"{name}: AUC {mine.auc} in the ledger, {trial.auc} in the folder"
    return None


def _in_words(fit: Fit) -> str:
    return f"{fit.method} on {fit.sample.dataset}, seed {fit.seed}"


# where imported records come from


def _note_origin(ledger: Ledger, manifest: Manifest, fits: list[str]) -> None:
    """Write which fits come from a folder; before they are added, so that none is without its origin."""
    if fits:
        path = ledger.root / _IMPORTS / f"{manifest.content}.json"
        earlier = read_form(path, _Origin, _FROM_SOURCE).fits if path.exists() else ()
        note = _Origin(title=manifest.title, written=manifest.written, fits=tuple(sorted({*earlier, *fits})))
        write_json(path, note.model_dump(mode="json"))


def origins(ledger: Ledger) -> dict[str, str]:
    """Return the title and date of the published results that each imported fit comes from, by id.

    Raises
    ------
    ValueError : a note of an import is damaged.
    """
    notes = [read_form(path, _Origin, _FROM_SOURCE) for path in sorted((ledger.root / _IMPORTS).glob("*.json"))]
    return {fit_id: f"{note.title}, {note.written}" for note in notes for fit_id in note.fits}
