"""A table of images on another machine, on which nothing can be fetched and to which little fits at once.

    python bench/table2.py pack --project DIR --methods drocc pu_drocc --seeds 2 --out parts     # here
    python bench/table2.py run parts/part-*.tar --work there --out out --budget 8m --device cuda    # there, as often
    puoc ledger import out/records.parquet                                           # in DIR, then puoc run one_vs_all

``pack`` writes the params, the plan's data and the records of ``--known`` to files of at most ``--megabytes`` each;
images are compressed without loss. ``run`` unpacks the parts that it gets, and computes once it has had all of them.
What it has computed stays in ``--work``, so the same command continues. The records have the ids of the project's own
fits, since the device and the batching are no part of an id. The other machine needs the core dependencies of puoc.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
BLOCK = 1000  # images of a file
ACROSS = 25  # images beside each other in it
INDEX = "index.json"  # in each part: which files there are


def pack(given: argparse.Namespace) -> None:
    """Write the parts."""
    params = _read(given.project / "params.yaml")
    table = params["tables"].get(given.table)
    if table is None:
        raise SystemExit(f"--table: got {given.table!r}; expected one of {', '.join(params['tables'])}")
    unknown = sorted(set(given.methods) - set(table["methods"]))
    if unknown:
        raise SystemExit(f"--methods: got {', '.join(unknown)}; {given.table} has {', '.join(table['methods'])}")
    table |= {"methods": given.methods, "seeds": given.seeds, "configs": "published"}
    params |= {
        "compute": {"workers": 1, "lane_map": "auto", "max_lanes": given.lanes, "models": "none", "device": "cpu"},
        "tables": {given.table: table},
        "tune": {},
        "methods": {name: params["methods"][name] for name in given.methods},
    }
    data = given.project / "work" / "prepared" / table["dataset"]
    if not (data / "meta.json").is_file():
        raise SystemExit(f"{data}: no prepared data; run puoc prepare in {given.project}")
    files = dict(_files(given, params, data, table["dataset"]))
    given.out.mkdir(parents=True, exist_ok=True)
    for old in given.out.glob("part-*.tar"):
        old.unlink()
    parts = _fill(files, int(given.megabytes * 1e6))
    index = json.dumps({"table": given.table, "dataset": table["dataset"], "files": list(files)}).encode()
    for number, names in enumerate(parts, 1):
        path = given.out / f"part-{number}-of-{len(parts)}.tar"
        with tarfile.open(path, "w") as tar:
            for name, content in [(INDEX, index), *((name, files[name]) for name in names)]:
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")  # noqa: T201 - a script's output


def _files(given: argparse.Namespace, params: Any, data: Path, dataset: str) -> Iterator[tuple[str, bytes]]:
    text = io.StringIO()
    YAML(typ="safe").dump(params, text)
    yield "params.yaml", text.getvalue().encode()
    for path in sorted((given.project / "tuning").rglob("*.yaml")):
        yield str(path.relative_to(given.project)), path.read_bytes()
    for number, path in enumerate(given.known):
        yield f"known-{number}.parquet", path.read_bytes()
    folder = Path("work") / "prepared" / dataset
    for path in sorted(data.iterdir()):
        if path.name == "X.npy":
            X = np.load(path, mmap_mode="r")
            for start in range(0, len(X), BLOCK):
                yield f"{folder}/X-{start:08d}", compressed(np.array(X[start : start + BLOCK]))
        else:
            yield f"{folder}/{path.name}.xz", lzma.compress(path.read_bytes())


def _fill(files: dict[str, bytes], limit: int) -> list[list[str]]:
    """Return names of files, in parts of at most so many bytes."""
    parts: list[list[str]] = []
    left = 0
    for name, content in files.items():
        size = len(content) + 1024  # its header and padding
        if len(content) > limit:
            raise SystemExit(f"--megabytes: got {limit / 1e6:g}; expected at least {size / 1e6:.1f}, for {name}")
        if size > left:
            parts.append([])
            left = limit
        parts[-1].append(name)
        left -= size
    return parts


def compressed(X: np.ndarray[Any, Any]) -> bytes:
    """Return rows (n, *shape) as bytes: images of bytes as one picture without loss, others as they are."""
    kind = {"dtype": X.dtype.str, "shape": X.shape}
    head = json.dumps(kind).encode() + b"\n"
    if X.dtype != np.uint8 or X.ndim != 4 or X.shape[1] not in (1, 3):
        return head + lzma.compress(X.tobytes())
    n, channels, height, width = X.shape
    down = -(-n // ACROSS)
    tiles = np.zeros((down * ACROSS, channels, height, width), np.uint8)
    tiles[:n] = X
    grid = tiles.reshape(down, ACROSS, channels, height, width).transpose(0, 3, 1, 4, 2)
    picture = grid.reshape(down * height, ACROSS * width, channels).repeat(3 // channels, axis=2)
    out = io.BytesIO()
    Image.fromarray(picture).save(out, "WEBP", lossless=True, quality=50, method=4)
    return head + out.getvalue()


def restored(content: bytes) -> np.ndarray[Any, Any]:
    """Return the rows that ``compressed`` made bytes of."""
    head, _, body = content.partition(b"\n")
    kind = json.loads(head)
    if not body.startswith(b"RIFF"):
        return np.frombuffer(lzma.decompress(body), kind["dtype"]).reshape(kind["shape"])
    n, channels, height, width = kind["shape"]
    picture = np.asarray(Image.open(io.BytesIO(body)).convert("RGB"))[:, :, :channels]
    grid = picture.reshape(-1, height, ACROSS, width, channels).transpose(0, 2, 4, 1, 3)
    return grid.reshape(-1, channels, height, width)[:n]


def run(given: argparse.Namespace) -> None:
    """Unpack parts; with all of them, compute what is missing within the budget and export all records."""
    given.work.mkdir(parents=True, exist_ok=True)
    for path in given.parts:
        with tarfile.open(path) as tar:
            tar.extractall(given.work, filter="data")
    index = json.loads((given.work / INDEX).read_text())
    missing = [name for name in index["files"] if not (given.work / name).exists()]
    if missing:
        have = len(index["files"]) - len(missing)
        print(f"{have} of {len(index['files'])} files are here; waiting for the others")  # noqa: T201
        return
    _assemble(given.work / "work" / "prepared" / index["dataset"])
    params = _read(given.work / "params.yaml")
    params["compute"]["device"] = given.device
    with (given.work / "params.yaml").open("w") as file:
        YAML(typ="safe").dump(params, file)
    _puoc(given.work, "plan")
    if not (given.work / "ledger").exists():
        for known in sorted(given.work.glob("known-*.parquet")):
            _puoc(given.work, "ledger", "import", known.name)
    _puoc(given.work, "run", index["table"], "--budget", given.budget)
    given.out.mkdir(parents=True, exist_ok=True)
    records = given.out.resolve() / "records.parquet"
    records.unlink(missing_ok=True)
    _puoc(given.work, "ledger", "export", str(records))
    shutil.copy(given.work / "results" / "tables" / f"{index['table']}.parquet", given.out)


def _assemble(folder: Path) -> None:
    if (folder / "meta.json").exists():
        return
    for path in sorted(folder.glob("*.xz")):
        if path.stem != "meta.json":
            (folder / path.stem).write_bytes(lzma.decompress(path.read_bytes()))
    np.save(folder / "X.npy", np.concatenate([restored(path.read_bytes()) for path in sorted(folder.glob("X-*"))]))
    (folder / "meta.json").write_bytes(lzma.decompress((folder / "meta.json.xz").read_bytes()))  # last, as puoc does


def _puoc(folder: Path, *words: str) -> None:
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-m", "puoc", *words], cwd=folder, env=env, check=False)
    if done.returncode not in (0, 3):  # 3: rows have failed, and are recorded
        raise SystemExit(f"puoc {' '.join(words)}: exit code {done.returncode}")


def _read(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


def main() -> None:
    """Pack or run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    packing = verbs.add_parser("pack", help="write the parts")
    packing.add_argument("--project", type=Path, default=ROOT, help="a project with prepared data")
    packing.add_argument("--table", default="one_vs_all")
    packing.add_argument("--methods", nargs="+", required=True)
    packing.add_argument("--seeds", type=int, required=True)
    packing.add_argument("--lanes", type=int, default=8, help="largest number of fits that are trained as one batch")
    packing.add_argument("--known", type=Path, nargs="*", default=[], help="records.parquet of earlier runs")
    packing.add_argument("--megabytes", type=float, default=25.0, help="most of a part")
    packing.add_argument("--out", type=Path, required=True)
    packing.set_defaults(do=pack)
    running = verbs.add_parser("run", help="unpack parts, and compute once all are there")
    running.add_argument("parts", type=Path, nargs="*")
    running.add_argument("--work", type=Path, required=True, help="folder that stays between the runs")
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--budget", default="8m", help="as puoc run --budget")
    running.add_argument("--device", default="cuda")
    running.set_defaults(do=run)
    given = parser.parse_args()
    given.do(given)


if __name__ == "__main__":
    main()
