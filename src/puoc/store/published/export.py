"""Export of records to a folder of published results."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from puoc.store.atomic import read_json, write_bytes, write_json
from puoc.store.checked_parquet import write_rows
from puoc.store.ledger import Ledger
from puoc.store.published.form import (
    MANIFEST,
    PARAMS,
    PLAN,
    PLANNED,
    SUFFIX,
    Manifest,
    PublishedFit,
    PublishedRow,
    content_digest,
    published_form,
)
from puoc.store.published.reading import read_manifest


class About(NamedTuple):
    """What the manifest says besides the records."""

    title: str  # names the results in reports of other projects
    written: str  # date
    puoc: str  # version


def export_folder(
    ledger: Ledger, folder: Path, about: About, *, project: Path, params: Path, fits: Collection[str]
) -> Manifest:
    """Write the final records of some fits to a folder.

    The files are written to a temporary folder beside it and then renamed, the manifest last. So a reader gets the old
    results, the new ones or, between two renames, an error. If nothing but the date has changed, the old date stays.

    Parameters
    ----------
    project, params : the folder of the project, whose plan is included, and the params file of the plan.
    fits : ids; fits without a final record are left out.

    Raises
    ------
    ValueError : a record is damaged, no fit has a record, or the folder has other files. It is not changed then.
    """
    folder = folder.resolve()
    old = _names_of_earlier(folder)
    entries = {fit_id: entry for fit_id in sorted(fits) if ledger.is_final(fit_id) and (entry := ledger.get(fit_id))}
    if not entries:
        raise ValueError(f"{folder}: no planned fit has a record; nothing was written")
    temporary = folder.with_name(f".{folder.name}.export")
    shutil.rmtree(temporary, ignore_errors=True)  # of an export that was killed
    temporary.mkdir(parents=True)
    try:
        manifest = _write(temporary, [published_form(entry) for entry in entries.values()], about, project, params)
        manifest = _with_earlier_date(folder, manifest)
        write_bytes(temporary / MANIFEST, manifest.to_bytes())
        if not old and not (folder.exists() and any(folder.iterdir())):
            temporary.replace(folder)  # an empty folder is replaced as well
            return manifest
        for name in [*manifest.files, MANIFEST]:
            (temporary / name).replace(folder / name)
        for name in old - {*manifest.files, MANIFEST}:
            (folder / name).unlink(missing_ok=True)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return manifest


def _names_of_earlier(folder: Path) -> set[str]:
    """Return the names of the files of an earlier export; empty for a new or empty folder.

    Raises
    ------
    ValueError : the folder has files and no manifest, or is a file. They are not of an export and must not be replaced.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: got a file; expected a folder, or a file whose name ends in .parquet")
    if not folder.exists() or not any(folder.iterdir()):
        return set()
    try:
        value = read_json(folder / MANIFEST)
        if value["format"] != Manifest.model_fields["format"].default:
            raise ValueError(f"{folder / MANIFEST}: got another format")
        listed = {str(name) for name in value["files"] if Path(name).name == name}
        return listed | {path.name for path in folder.glob(f"*{SUFFIX}")}  # an export that was killed left some
    except (OSError, ValueError, KeyError, TypeError) as error:
        expected = f"expected a new or empty folder, or one with the {MANIFEST} of an earlier export"
        raise ValueError(f"{folder}: got a folder with other files; {expected}") from error


def _with_earlier_date(folder: Path, manifest: Manifest) -> Manifest:
    """Return the manifest with the date of the folder's manifest if nothing else differs."""
    try:
        old = read_manifest(folder)
    except ValueError:
        return manifest
    is_same = old.model_copy(update={"written": manifest.written, "checksum": manifest.checksum}) == manifest
    return old if is_same else manifest


def _write(folder: Path, published: list[PublishedFit], about: About, project: Path, params: Path) -> Manifest:
    """Write all files but the manifest, and return the manifest."""
    by_dataset: dict[str, list[PublishedFit]] = defaultdict(list)
    for fit in published:
        by_dataset[fit.result.fit.sample.dataset].append(fit)
    write_bytes(folder / PARAMS, params.read_bytes())
    write_json(folder / PLAN, _plan_files(project))
    names = [PARAMS, PLAN]
    for dataset, members in sorted(by_dataset.items()):
        names.append(f"{dataset}{SUFFIX}")
        write_rows(folder / names[-1], [fit.row for fit in members], PublishedRow, compression="zstd")
    return _describe(published, about, {name: sha256((folder / name).read_bytes()).hexdigest() for name in names})


def _plan_files(project: Path) -> dict[str, JsonValue]:
    """Return the plan and the configurations of a project, without the note on the params file that they come from."""
    paths = sorted(path for part in PLANNED for path in (project / "work" / part).rglob("*.json"))
    return {path.relative_to(project).as_posix(): read_json(path) for path in paths if path.name != "source.json"}


def _describe(published: list[PublishedFit], about: About, files: dict[str, str]) -> Manifest:
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
        **about._asdict(),
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
