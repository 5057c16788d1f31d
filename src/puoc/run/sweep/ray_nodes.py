"""Check that the nodes of a Ray cluster share the folder of the ledger and run the same versions."""

from __future__ import annotations

import os
import shutil
import uuid
from contextlib import suppress
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import puoc
from puoc.store.provenance import versions

_ANSWER_SECONDS = 60.0  # time in which a node must answer


class NodeReport(NamedTuple):
    """Report of one node of a cluster."""

    host: str
    versions: dict[str, str]
    free: int  # bytes on the file system of the ledger
    wrote: str | None  # name of the file that it wrote to the ledger's folder
    fault: str | None  # reason why it wrote no file


def collect_reports(ray: ModuleType, ledger: Path) -> list[NodeReport]:
    """Collect a report from each living node. A node writes a file to the ledger, which this process must then see.

    Before the first fit, the folder above the ledger takes its place.

    Raises
    ------
    ValueError : a node does not answer within a minute.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ledger = ledger if ledger.exists() else ledger.parent
    nodes = living_nodes(ray)
    task = ray.remote(num_cpus=0)(report_node)
    references = [
        task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote(ledger)
        for node in nodes
    ]
    reports: list[NodeReport] = []
    for node, reference in zip(nodes, references, strict=True):
        try:
            reports.append(ray.get(reference, timeout=_ANSWER_SECONDS))
        except ray.exceptions.GetTimeoutError as error:
            raise ValueError(
                f"a node of the cluster did not answer within {_ANSWER_SECONDS:.0f} s; see `ray status`"
            ) from error
        except ray.exceptions.RayError as error:
            if node["NodeID"] not in {other["NodeID"] for other in living_nodes(ray)}:
                continue  # it died before Ray noticed: other nodes do its work
            reason = " ".join(str(error).split())[-300:]
            raise ValueError(f"a node of the cluster cannot run puoc: {reason}") from error
    for i, node_report in enumerate(reports):
        if node_report.wrote is not None:
            path = ledger / node_report.wrote
            if not path.exists():
                fault = f"its files in {ledger} are not visible here: expected one folder that all nodes share"
                reports[i] = node_report._replace(fault=fault)
            with suppress(FileNotFoundError):
                path.unlink()
    return reports


def report_node(ledger: Path) -> NodeReport:
    """Report on this machine as a node, after an attempt to write a file to the ledger's folder."""
    name: str | None = f".doctor-{uuid.uuid4().hex[:12]}"
    fault = None
    try:
        (ledger / str(name)).write_text(os.uname().nodename)
        free = shutil.disk_usage(ledger).free
    except OSError as error:
        name, fault, free = None, f"{ledger} cannot be written there: {error.strerror}", 0
    return NodeReport(os.uname().nodename, versions_here(), free, name, fault)


def versions_here() -> dict[str, str]:
    """Return the versions that nodes must share, with a digest of the sources of puoc."""
    folder, sources = Path(puoc.__file__).parent, blake2b(digest_size=8)
    for path in sorted(folder.rglob("*.py")):
        sources.update(str(path.relative_to(folder)).encode())
        sources.update(path.read_bytes())
    return {**versions(), "ray": version("ray"), "sources of puoc": sources.hexdigest()}


def living_nodes(ray: ModuleType) -> list[dict[str, object]]:
    """Return Ray's descriptions of the living nodes."""
    return [node for node in ray.nodes() if node["Alive"]]


def ledger_faults(nodes: list[NodeReport]) -> list[str]:
    """Return the reasons why nodes cannot write to the ledger."""
    return [f"node {node.host}: {node.fault}" for node in nodes if node.fault]


def version_differences(nodes: list[NodeReport], expected_versions: dict[str, str] | None = None) -> list[str]:
    """Return the versions of nodes that differ from the expected ones, by default those of this process."""
    wanted, differences = expected_versions or versions_here(), list[str]()
    for node in nodes:
        for name in sorted(wanted.keys() | node.versions.keys()):
            got, expected = node.versions.get(name, "none"), wanted.get(name, "none")
            if got != expected:
                differences.append(f"node {node.host} has {name} {got}; expected {expected}")
    return differences


def joined_node_faults(marker: Path, expected_versions: dict[str, str]) -> list[str]:
    """Return the reasons why this machine, which may have joined during a sweep, cannot compute for it.

    Parameters
    ----------
    marker : file that the process of the sweep wrote to the project's folder.
    expected_versions : versions of that process.
    """
    host, fault = os.uname().nodename, None
    if not marker.exists():
        fault = f"{marker} is not visible there: expected one folder of the project that all nodes share"
    node = NodeReport(host, versions_here(), 0, None, fault)
    return [*ledger_faults([node]), *version_differences([node], expected_versions)]
