"""The nodes of a joined Ray cluster: whether they share the ledger's folder and run the same versions."""

from __future__ import annotations

import os
import shutil
import uuid
from contextlib import suppress
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import puoc
from puoc.store.provenance import versions

_ANSWERS = 60.0  # seconds a node has to answer


class NodeReport(NamedTuple):
    """What one node of a cluster says."""

    host: str
    versions: dict[str, str]
    free: int  # bytes on the file system of the ledger
    wrote: str | None  # name of the file it wrote beside the ledger's folders
    fault: str | None  # why it could not


def ask_nodes(ray: Any, ledger: Path) -> list[NodeReport]:
    """What every living node says; each writes a file beside the ledger, which this process must then see.

    Raises
    ------
    ValueError : a node does not answer within a minute.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = alive(ray)
    task = ray.remote(num_cpus=0)(report)
    asked = [
        task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote(ledger)
        for node in nodes
    ]
    found: list[NodeReport] = []
    for node, answer in zip(nodes, asked, strict=True):
        try:
            found.append(ray.get(answer, timeout=_ANSWERS))
        except ray.exceptions.GetTimeoutError as error:
            raise ValueError(
                f"a node of the cluster did not answer within {_ANSWERS:.0f} s; see `ray status`"
            ) from error
        except ray.exceptions.RayError as error:
            if node["NodeID"] not in {one["NodeID"] for one in alive(ray)}:
                continue  # it died before Ray had noticed: others do its work
            reason = " ".join(str(error).split())[-300:]
            raise ValueError(f"a node of the cluster cannot run puoc: {reason}") from error
    for i, one in enumerate(found):
        if one.wrote is not None:
            path = ledger / one.wrote
            if not path.exists():
                fault = f"what it writes to {ledger} is not seen here: expected one folder that all nodes share"
                found[i] = one._replace(fault=fault)
            with suppress(FileNotFoundError):
                path.unlink()
    return found


def report(ledger: Path) -> NodeReport:
    """What this machine has to say as a node, after trying to write beside the ledger."""
    name: str | None = f".doctor-{uuid.uuid4().hex[:12]}"
    fault = None
    try:
        (ledger / str(name)).write_text(os.uname().nodename)
        free = shutil.disk_usage(ledger).free
    except OSError as error:
        name, fault, free = None, f"{ledger} cannot be written there: {error.strerror}", 0
    return NodeReport(os.uname().nodename, versions_here(), free, name, fault)


def versions_here() -> dict[str, str]:
    """Versions that nodes must share, the digest of puoc's own sources among them."""
    folder, sources = Path(puoc.__file__).parent, blake2b(digest_size=8)
    for path in sorted(folder.rglob("*.py")):
        sources.update(str(path.relative_to(folder)).encode())
        sources.update(path.read_bytes())
    return {**versions(), "ray": version("ray"), "sources of puoc": sources.hexdigest()}


def alive(ray: Any) -> list[dict[str, Any]]:
    """Living nodes, as Ray describes them."""
    return [node for node in ray.nodes() if node["Alive"]]


def unshared(nodes: list[NodeReport]) -> list[str]:
    """What keeps nodes from recording in the one ledger."""
    return [f"node {node.host}: {node.fault}" for node in nodes if node.fault]


def unequal(nodes: list[NodeReport]) -> list[str]:
    """Where nodes run other versions than this process."""
    mine, found = versions_here(), []
    for node in nodes:
        for name in sorted(mine.keys() | node.versions.keys()):
            got, expected = node.versions.get(name, "none"), mine.get(name, "none")
            if got != expected:
                found.append(f"node {node.host} has {name} {got}; expected {expected}")
    return found
