"""Reader of published results. A folder is accepted whole or not at all; a message names the file that is at fault."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from pathlib import Path, PurePosixPath

from pydantic import JsonValue, TypeAdapter

from puoc.records import FitResult, Trial, TrialResult, canonical_json
from puoc.store.atomic import read_json, write_bytes, write_json
from puoc.store.checked_json import read_form
from puoc.store.checked_parquet import read_rows
from puoc.store.published.form import (
    MANIFEST,
    PARAMS,
    PLAN,
    PLANNED,
    SUFFIX,
    VERSION,
    Manifest,
    PublishedFit,
    PublishedRow,
    content_digest,
)

_FROM_SOURCE = (
    "expected a folder as puoc ledger export writes it; get it again from where it comes, or repeat an interrupted "
    "puoc ledger export"
)
_TRIALS = TypeAdapter(list[TrialResult])
_PLAN_FILES = TypeAdapter(dict[str, JsonValue])


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder and compare the checksum of each file.

    Raises
    ------
    ValueError : there is no manifest, it is damaged or of another version, or a file is missing or was changed; the
        message names it.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise ValueError(f"{folder}: got no {MANIFEST}; {_FROM_SOURCE}")
    manifest = _read_manifest(path)
    for name in manifest.files:
        if name != PurePosixPath(name).name or not (name in (PARAMS, PLAN) or name.endswith(SUFFIX)):
            raise ValueError(f"{path}: files: got {name!r}; {_FROM_SOURCE}")
    for name in (PARAMS, PLAN):
        if name not in manifest.files:
            raise ValueError(f"{path}: files: got no {name}; {_FROM_SOURCE}")
    for name, expected in manifest.files.items():
        if sha256(_read(folder / name)).hexdigest() != expected:
            raise ValueError(f"{folder / name}: the content is not that of the manifest; {_FROM_SOURCE}")
    return manifest


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, IsADirectoryError) as error:
        raise ValueError(f"{path}: the file is missing; {_FROM_SOURCE}") from error


def _read_manifest(path: Path) -> Manifest:
    value = read_json(path)
    version = value.get("version") if isinstance(value, dict) else None
    if isinstance(version, int) and version != VERSION:
        raise ValueError(
            f"{path}: version: got {version}; expected {VERSION}, which puoc of this version reads; "
            "use the version of puoc that wrote the folder, or get the folder again if it is damaged"
        )
    content = path.read_bytes()
    manifest = read_form(path, Manifest, _FROM_SOURCE)
    if not manifest.is_of(content):
        raise ValueError(f"{path}: the content does not match its checksum; {_FROM_SOURCE}")
    return manifest


def read_published(folder: Path) -> tuple[Manifest, list[PublishedFit]]:
    """Read the manifest and all fits of a folder; each fit is checked against its id.

    Raises
    ------
    ValueError : as ``read_manifest``; or a row is damaged, is there twice, or is of another fit or trial than its id
        says; or the outcomes are not those of the manifest.
    """
    manifest, fits = read_manifest(folder), dict[str, PublishedFit]()
    for name in sorted(name for name in manifest.files if name.endswith(SUFFIX)):
        for row in _rows(folder / name):
            try:
                fit = _parse(row)
                if row.fit_id in fits:
                    raise ValueError("got a second row of this fit")
            except (ValueError, TypeError, RecursionError) as error:
                reason = " ".join(str(error).split())[:300]
                raise ValueError(f"{folder / name}: fit {row.fit_id}: {reason}; {_FROM_SOURCE}") from error
            fits[row.fit_id] = fit
    found = list(fits.values())
    if content_digest(found) != manifest.content:
        raise ValueError(f"{folder / MANIFEST}: content: got {manifest.content}, not that of the files; {_FROM_SOURCE}")
    return manifest, found


def _rows(path: Path) -> list[PublishedRow]:
    try:
        return read_rows(path, PublishedRow, _FROM_SOURCE)
    except FileNotFoundError as error:  # removed since the manifest was read: an export is writing to the folder
        raise ValueError(f"{path}: the file is missing; {_FROM_SOURCE}") from error


def _parse(row: PublishedRow) -> PublishedFit:
    result = FitResult.model_validate_json(row.result)
    trials = tuple(_TRIALS.validate_json(row.trials))
    if result.fit.id != row.fit_id:
        raise ValueError(f"got the record of fit {result.fit.id}")
    if result.status == "failed":
        raise ValueError("got the status failed, expected a final record")
    for trial in trials:
        expected = Trial(fit=result.fit, test=trial.test).id
        if trial.trial_id != expected or trial.fit_id != row.fit_id:
            raise ValueError(f"got trial {trial.trial_id} of fit {trial.fit_id}, expected trial {expected}")
    if len({(trial.trial_id, trial.scoring_digest) for trial in trials}) < len(trials):
        raise ValueError("got a trial that is scored twice by the same code")
    files = [result.model, *(trial.scores for trial in trials)]
    if any(name is not None for name in files):
        raise ValueError("got the name of a file with a model or scores, expected none")
    expected_keys = (result.fit.method, result.fit.sample.dataset, result.fit.seed, result.status)
    if (row.method, row.dataset, row.seed, row.status) != expected_keys:
        raise ValueError(f"got {row.method}, {row.dataset}, seed {row.seed}, {row.status}, other than its record says")
    canonical_json([result.canonical(), *(trial.canonical() for trial in trials)])  # raises for NaN
    return PublishedFit(result, trials)


def write_plan(folder: Path, project: Path) -> None:
    """Write the profile and the plan of published results to a project.

    Raises
    ------
    ValueError : a path of the plan is not that of a plan's file. Nothing is written then.
    """
    path = folder / PLAN
    files = read_form(path, _PLAN_FILES, _FROM_SOURCE)
    for name in files:
        if not _is_of_plan(name, files):
            raise ValueError(f"{path}: got the path {name!r}; expected a .json file below work/plan or work/configs")
    write_bytes(project / PARAMS, (folder / PARAMS).read_bytes())
    for name, content in files.items():
        write_json(project / name, content)


def _is_of_plan(name: str, others: Collection[str]) -> bool:
    """Return True if a path stays below the folders of a plan, and no other file is one of its folders."""
    path = PurePosixPath(name)
    if "\0" in name or str(path) != name or ".." in path.parts or path.suffix != ".json":
        return False
    if len(path.parts) < 3 or path.parts[0] != "work" or path.parts[1] not in PLANNED:
        return False
    return not any(str(parent) in others for parent in path.parents)
