"""Checks before a sweep is started: machines, disk, ledger, versions, the MLflow store, and a forecast of the time."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from puoc.plan.forecast.costs import Forecast, about
from puoc.run.sweep.cluster import MachineRequest, MachineResources, present_here, present_in
from puoc.run.sweep.ray_nodes import NodeReport, collect_reports, ledger_faults, version_differences, versions_here
from puoc.store.counting import counted

_GIB = 2**30
_RESERVED_BYTES = _GIB  # free space required in addition to what the sweep writes
_SAMPLED_RECORDS = 200  # number of records from which the size of a fit is estimated


class Finding(NamedTuple):
    """Result of one check."""

    subject: str
    message: str
    is_fault: bool = False


def machines(request: MachineRequest, present: MachineResources) -> list[Finding]:
    """Compare the requested workers and GPUs with those present."""
    where = f"in {present.nodes} nodes" if request.address else "on this machine"
    requested = f"{request.workers} requested" if request.workers else "one worker each"
    few_cpus = (request.workers or 1) > present.cpus
    gpus = f"{request.gpus} requested, {present.gpus} present {where}"
    change_gpus = "; expected --gpus of at most that, or an --address with more" if request.gpus > present.gpus else ""
    change = "; expected --workers, or compute.workers in params.yaml, of at most that" if few_cpus else ""
    return [
        Finding("CPUs", f"{requested}, {present.cpus} present {where}{change}", few_cpus),
        Finding("GPUs", gpus + change_gpus, request.gpus > present.gpus),
    ]


def here(request: MachineRequest) -> list[Finding]:
    """Check the CPUs and GPUs of this machine."""
    return machines(request, present_here())


def cluster(ray: ModuleType, request: MachineRequest, root: Path) -> list[Finding]:
    """Check the CPUs and GPUs of a joined cluster, and that its nodes share the ledger and have equal versions."""
    nodes = collect_reports(ray, (root / "ledger").resolve())
    return [*machines(request, present_in(ray)), *_shared(nodes), *_versions(nodes)]


def _shared(nodes: list[NodeReport]) -> list[Finding]:
    faults = [Finding("ledger", fault, is_fault=True) for fault in ledger_faults(nodes)]
    return faults or [Finding("ledger", f"{len(nodes)} nodes write to it and this machine can read it")]


def _versions(nodes: list[NodeReport]) -> list[Finding]:
    faults = [Finding("versions", fault, is_fault=True) for fault in version_differences(nodes)]
    words = ", ".join(f"{name} {value}" for name, value in versions_here().items())
    return faults or [Finding("versions", words + (f", equal on {len(nodes)} nodes" if len(nodes) > 1 else ""))]


def local(root: Path, missing: int = 0) -> list[Finding]:
    """Check the disk, the ledger's folder, the versions and the MLflow store of this machine.

    Parameters
    ----------
    missing : number of fits that are still to be recorded.
    """
    return [*_disk(root, missing), *_ledger(root), *_versions([]), _store(root)]


def _disk(root: Path, missing: int) -> list[Finding]:
    fit_bytes = _bytes_of_a_fit(root / "ledger")
    findings = []
    for subject, folder, required in (
        ("ledger's disk", root, _RESERVED_BYTES + missing * fit_bytes),
        ("temporary folder", Path(tempfile.gettempdir()), _GIB),
    ):
        free = shutil.disk_usage(folder).free
        words = f"{free / _GIB:.1f} GiB free, {required / _GIB:.1f} GiB required"
        if subject == "ledger's disk" and missing:
            words += f" (1 GiB and {counted(missing, 'fit')} of {fit_bytes / 2**20:.2f} MiB)"
        findings.append(Finding(subject, words, free < required))
    return findings


def _bytes_of_a_fit(ledger: Path) -> int:
    """Return the mean size in bytes of the files of a fit, from a part of the ledger; 1 MiB if the ledger is empty."""
    total = records = 0
    for folder in sorted(ledger.glob("[0-9a-f][0-9a-f]")):
        for item in os.scandir(folder):
            with suppress(FileNotFoundError):
                total += item.stat().st_size
                records += item.name.endswith(".json")
        if records >= _SAMPLED_RECORDS:
            break
    return total // records if records else 2**20


def _ledger(root: Path) -> list[Finding]:
    folder = root / "ledger"
    try:
        place = folder if folder.exists() else root  # the first fit makes it
        with tempfile.TemporaryDirectory(dir=place, prefix=".doctor-") as inside:
            first, second = Path(inside, "a"), Path(inside, "b")
            first.write_bytes(b"")
            os.link(first, second)
    except OSError as error:
        message = f"{folder}: {error.strerror}; expected a folder that accepts files and hard links"
        return [Finding("ledger", message, is_fault=True)]
    return [Finding("ledger", f"{folder} accepts files and hard links")]


def _store(root: Path) -> Finding:
    """Check that the MLflow store, if there is one, fits the installed version. Nothing is written to it."""
    from puoc.reporting.tracking.address import TrackingError
    from puoc.reporting.tracking.store import Store

    try:
        return Finding("MLflow", Store(root).look())
    except TrackingError as error:
        return Finding("MLflow", str(error), is_fault=True)


def forecast(missing: int, seconds: float, costs: Forecast, workers: int | None) -> Finding:
    """Forecast how long the missing fits take, from measured costs and the fits of the ledger.

    Parameters
    ----------
    missing : number of fits.
    seconds : total computing time, on one worker.
    costs : the forecast that gave ``seconds``.
    workers : None if the number is unknown because the cluster does not respond.
    """
    if not missing:
        return Finding("forecast", "nothing is missing")
    words = f"{counted(missing, 'fit')} on " + (
        counted(workers, "worker") if workers else "a cluster that does not respond"
    )
    if seconds:
        words += f": {about(seconds / (workers or 1))}"
        words += "" if workers else " divided by its CPUs"
        basis = (
            "fits of this ledger"
            if costs.from_ledger
            else "short fits on this machine"
            if costs.from_here
            else "seconds measured on another machine, which may be several times off"
        )
        words += f", from {basis}; a busy machine takes longer"
    if costs.unknown:
        words += f"; no cost is known for {', '.join(sorted(costs.unknown))} before its first fit"
    return Finding("forecast", words)


def raise_for_faults(findings: list[Finding]) -> None:
    """Raise a ValueError that lists the findings that are faults."""
    faults = [f"{finding.subject}: {finding.message}" for finding in findings if finding.is_fault]
    if faults:
        raise ValueError("\n".join(faults))
