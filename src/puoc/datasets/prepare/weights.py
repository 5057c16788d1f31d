"""Weights of pretrained networks: files that are found by the first digits of their sha256."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from puoc.datasets.prepare.verify import FetchError, hexdigest
from puoc.store.atomic import write_bytes

#: Files of torchvision by network and first digits of the sha256, with which their names end.
ADDRESSES = {
    ("resnet18", "f37072fd"): "https://download.pytorch.org/models/resnet18-f37072fd.pth",
    ("mobilenet_v2", "b0353104"): "https://download.pytorch.org/models/mobilenet_v2-b0353104.pth",
}


def weights_file(network: str, sha256: str, mirror: Path | None = None, *, keep: bool = False) -> Path:
    """Return the file with this digest; a file of torchvision is downloaded once into torch's cache.

    Parameters
    ----------
    sha256 : the first digits, at least 8.
    mirror : its folder ``weights`` is searched after ``data/weights``; default: environment variable PUOC_MIRROR.
    keep : copy a file of the mirror to ``data/weights``, since a later command does not know this mirror.

    Raises
    ------
    FetchError : the file is missing or cannot be downloaded.
    OSError : the file cannot be copied.
    """
    mirror = mirror or (Path(os.environ["PUOC_MIRROR"]) if os.environ.get("PUOC_MIRROR") else None)
    for path in _candidates(mirror):
        if _digest(path, path.stat().st_mtime_ns).startswith(sha256):
            kept = Path("data/weights") / path.name
            if keep and path.parent not in (kept.parent.resolve(), _torch_cache().resolve()):
                write_bytes(kept, path.read_bytes())
                return kept.resolve()
            return path
    address = next((url for (of, digits), url in ADDRESSES.items() if of == network and digits == sha256[:8]), None)
    advice = "put the file into data/weights, or into the folder weights of a mirror (PUOC_MIRROR)"
    if address is None:
        known = ", ".join(digits for of, digits in ADDRESSES if of == network)
        raise FetchError(
            f"no weights of {network} with sha256 {sha256}... in data/weights, the mirror or torch's cache; "
            f"{advice}; torchvision offers {known}"
        )
    return _download(address, sha256, advice)


def _download(address: str, sha256: str, advice: str) -> Path:
    import torch

    path = _torch_cache() / address.rpartition("/")[2]
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        torch.hub.download_url_to_file(address, str(path), hash_prefix=sha256, progress=False)
    except (OSError, RuntimeError) as error:  # the second: another digest
        raise FetchError(f"{path} could not be downloaded from {address}: {error}; {advice}") from error
    return path


def _candidates(mirror: Path | None) -> Iterator[Path]:
    for folder in (Path("data/weights"), *([mirror / "weights"] if mirror else []), _torch_cache()):
        yield from sorted(path.resolve() for path in folder.glob("*.pth"))


def _torch_cache() -> Path:
    import torch

    return Path(torch.hub.get_dir()) / "checkpoints"


@cache
def _digest(path: Path, changed: int) -> str:
    return hexdigest(path, "sha256")
