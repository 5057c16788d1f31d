"""What can be seen to go wrong before anything is started: machines, disk, ledger, versions, MLflow's store, time."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from puoc.plan.forecast.costs import Forecast, duration
from puoc.run.executors.ray_nodes import NodeReport, ask_nodes, unequal, unshared, versions_here
from puoc.run.sweep.cluster import Present, Wanted, present_here, present_in
from puoc.store.counting import counted

_GIB = 2**30
_RESERVE = _GIB  # bytes to be free beside what the sweep writes
_LOOKED_AT = 200  # records, to tell how large a fit's files are


class Finding(NamedTuple):
    """One thing that was looked at."""

    what: str
    says: str
    is_fault: bool = False


def machines(wanted: Wanted, present: Present) -> list[Finding]:
    """What is wanted against what is there."""
    where = f"in {present.nodes} nodes" if wanted.address else "on this machine"
    asked = f"{wanted.workers} asked" if wanted.workers else "one worker each"
    few_cpus = (wanted.workers or 1) > present.cpus
    gpus = f"{wanted.gpus} asked, {present.gpus} present {where}"
    where_to = "; expected --gpus of at most that, or an --address with more" if wanted.gpus > present.gpus else ""
    change = "; expected --workers, or compute.workers in params.yaml, of at most that" if few_cpus else ""
    return [
        Finding("CPUs", f"{asked}, {present.cpus} present {where}{change}", few_cpus),
        Finding("GPUs", gpus + where_to, wanted.gpus > present.gpus),
    ]


def here(wanted: Wanted) -> list[Finding]:
    """``machines`` of this one."""
    return machines(wanted, present_here())


def cluster(ray: Any, wanted: Wanted, root: Path) -> list[Finding]:
    """What the nodes of a joined cluster have, whether they share the ledger, and whether their versions are equal."""
    nodes = ask_nodes(ray, (root / "ledger").resolve())
    return [*machines(wanted, present_in(ray)), *_shared(nodes), *_versions(nodes)]


def _shared(nodes: list[NodeReport]) -> list[Finding]:
    faults = [Finding("ledger", fault, is_fault=True) for fault in unshared(nodes)]
    return faults or [Finding("ledger", f"written by {len(nodes)} nodes and seen here")]


def _versions(nodes: list[NodeReport]) -> list[Finding]:
    faults = [Finding("versions", fault, is_fault=True) for fault in unequal(nodes)]
    words = ", ".join(f"{name} {value}" for name, value in versions_here().items())
    return faults or [Finding("versions", words + (f", equal on {len(nodes)} nodes" if len(nodes) > 1 else ""))]


def local(root: Path, missing: int = 0) -> list[Finding]:
    """Disk, the ledger's folder, versions and MLflow's store on this machine.

    Parameters
    ----------
    missing : fits that are to be recorded.
    """
    return [*_disk(root, missing), *_ledger(root), *_versions([]), _store(root)]


def _disk(root: Path, missing: int) -> list[Finding]:
    each = _bytes_of_a_fit(root / "ledger")
    need = _RESERVE + missing * each
    found = []
    for what, folder, wanted in (
        ("ledger's disk", root, need),
        ("temporary folder", Path(tempfile.gettempdir()), _GIB),
    ):
        free = shutil.disk_usage(folder).free
        words = f"{free / _GIB:.1f} GiB free, {wanted / _GIB:.1f} GiB wanted"
        if what == "ledger's disk" and missing:
            words += f" (1 GiB and {counted(missing, 'fit')} of {each / 2**20:.2f} MiB)"
        found.append(Finding(what, words, free < wanted))
    return found


def _bytes_of_a_fit(ledger: Path) -> int:
    """Mean size of a fit's record, model and scores, from a part of the ledger; 1 MiB before there is any."""
    total = records = 0
    for folder in sorted(ledger.glob("[0-9a-f][0-9a-f]")):
        for item in os.scandir(folder):
            with suppress(FileNotFoundError):
                total += item.stat().st_size
                records += item.name.endswith(".json")
        if records >= _LOOKED_AT:
            break
    return total // records if records else 2**20


def _ledger(root: Path) -> list[Finding]:
    folder = root / "ledger"
    try:
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".doctor-") as inside:
            first, second = Path(inside, "a"), Path(inside, "b")
            first.write_bytes(b"")
            os.link(first, second)
    except OSError as error:
        says = f"{folder}: {error.strerror}; expected a folder that takes files and hard links"
        return [Finding("ledger", says, is_fault=True)]
    return [Finding("ledger", f"{folder} takes files and hard links")]


def _store(root: Path) -> Finding:
    """MLflow's store, if there is one: its schema is the one of the installed mlflow."""
    from puoc.reporting.tracking.address import TrackingError
    from puoc.reporting.tracking.store import Busy, Store

    store = Store(root)
    if store.database is not None and not store.database.exists():
        return Finding("MLflow", f"no store at {store.name} yet")
    try:
        with store.lock(5):
            store.open()
    except Busy as busy:
        return Finding("MLflow", str(busy))
    except TrackingError as error:
        return Finding("MLflow", str(error), is_fault=True)
    return Finding("MLflow", f"{store.name} opens with the installed version")


def forecast(missing: int, seconds: float, costs: Forecast, workers: int | None) -> Finding:
    """How long the missing fits will take, by measured costs and the ledger's own fits.

    Parameters
    ----------
    seconds : of all of them, one after the other.
    costs : what told so.
    workers : None where nobody knows how many: of a cluster that does not answer.
    """
    if not missing:
        return Finding("forecast", "nothing is missing")
    words = f"{counted(missing, 'fit')} on " + (
        counted(workers, "worker") if workers else "a cluster that does not answer"
    )
    if seconds:
        words += f": about {duration(seconds / (workers or 1))}" + ("" if workers else " divided by its CPUs")
        rests = "fits of this ledger" if costs.from_ledger else "seconds measured on another machine"
        words += f", by {rests}; a busy or slower machine takes longer"
    if costs.unknown:
        words += f"; no cost is known of {', '.join(sorted(costs.unknown))}, a first fit will tell"
    return Finding("forecast", words)


def refuse(findings: list[Finding]) -> None:
    """Raise ValueError with every fault among them."""
    faults = [f"{one.what}: {one.says}" for one in findings if one.is_fault]
    if faults:
        raise ValueError("\n".join(faults))
