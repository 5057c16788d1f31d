"""Raw files that are known by what is read from them: another copy with the same values will do, other values never."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from hashlib import sha1, sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from puoc.datasets import DATASETS
from puoc.datasets.declare.content_checked import HandedFile, ReadFile, ReadFolder
from puoc.datasets.elpv import members, read_cells
from puoc.datasets.pendigits import read_table
from puoc.datasets.prepare import FetchError, ensure, write_fetched

ROWS = np.array([[1, 20, 100], [0, 7, 3]], dtype=np.uint8)
TABLE = b"  1, 20,100\n  0,  7,  3\n"
Register = Callable[..., None]


def known(values: np.ndarray) -> dict[str, Any]:
    return {"size": values.nbytes, "sha256": sha256(values.tobytes()).hexdigest()}


@pytest.fixture(autouse=True)
def no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PUOC_MIRROR", raising=False)


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    """A dataset ``told`` of one file, made of digits for the purpose."""

    def made(file: Any) -> None:
        monkeypatch.setitem(DATASETS, "told", type("Told", (DATASETS["digits"],), {"name": "told", "files": (file,)}))

    return made


def placed(root: Path, content: bytes, name: str = "table") -> Path:
    file = root / "told" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return root


@pytest.mark.parametrize("content", [TABLE, b"1,20,100\r\n0,7,3", b"1, 20, 100\n\n0, 7, 3\n"])
def test_the_same_values_written_differently_are_the_same_file(
    register: Register, tmp_path: Path, content: bytes
) -> None:
    register(ReadFile(path="table", read=read_table, **known(ROWS)))
    mirror = placed(tmp_path / "mirror", content)
    assert [entry["source"] for entry in ensure("told", tmp_path / "data", mirror=mirror)] == ["mirror"]
    assert (tmp_path / "data" / "told" / "table").read_bytes() == content
    assert [entry["source"] for entry in ensure("told", tmp_path / "data")] == ["present"]
    write_fetched(["told"], tmp_path / "data", tmp_path / "work")
    assert known(ROWS)["sha256"] in (tmp_path / "work" / "told.json").read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TABLE.replace(b"20", b"21"), "table: got values of 6 bytes with sha256 .*, expected 6 bytes with sha256"),
        (TABLE.splitlines(keepends=True)[0], "table: got values of 3 bytes"),
        (b"<html>moved</html>", "table cannot be read: could not convert string .*; the source is damaged"),
        (TABLE.replace(b"  7", b"-7"), "table cannot be read: "),
    ],
    ids=["a value", "a row", "html", "out of range"],
)
def test_other_values_are_an_error_and_leave_nothing(
    register: Register, tmp_path: Path, content: bytes, message: str
) -> None:
    register(ReadFile(path="table", read=read_table, **known(ROWS)))
    with pytest.raises(FetchError, match=message):
        ensure("told", tmp_path / "data", mirror=placed(tmp_path / "mirror", content))
    assert list((tmp_path / "data").rglob("*")) == [tmp_path / "data" / "told"]
    placed(tmp_path / "data", content)
    with pytest.raises(FetchError, match=r"delete it or run `puoc fetch --replace`"):
        ensure("told", tmp_path / "data")
    ensure("told", tmp_path / "data", mirror=placed(tmp_path / "mirror", TABLE), replace=True)
    assert (tmp_path / "data" / "told" / "table").read_bytes() == TABLE


@pytest.mark.parametrize("kind", [HandedFile, ReadFile])
def test_what_no_address_gives_is_said_in_words(register: Register, tmp_path: Path, kind: Any) -> None:
    how = {"read": read_table} if kind is ReadFile else {}
    register(kind(path="table", obtain="accept the terms of its authors", **how, **known(ROWS)))
    with pytest.raises(FetchError) as raised:
        ensure("told", tmp_path / "data", mirror=tmp_path / "mirror")
    assert str(raised.value) == (
        f"told: table was not found: {tmp_path}/mirror/told/table (absent), {tmp_path}/mirror/table (absent); "
        "accept the terms of its authors, or name a folder that has it by `puoc fetch --from` or PUOC_MIRROR"
    )
    with pytest.raises(FetchError, match="told: table was not found: no source is declared; accept"):
        ensure("told", tmp_path / "data")


def cells(root: Path, n: int, suffix: str = "png", side: int = 300, mode: str = "L") -> dict[str, np.ndarray]:
    """Pictures cell00.png, ... with smooth random content, by name."""
    random, pictures = np.random.default_rng(0), {}
    root.mkdir(parents=True, exist_ok=True)
    for i in range(n):
        picture = Image.fromarray(random.integers(0, 256, (5, 5), dtype=np.uint8)).resize((side, side)).convert(mode)
        picture.save(root / f"cell{i:02}.{suffix}")
        pictures[f"cell{i:02}.{suffix}"] = np.asarray(picture)
    return pictures


def folder_of(source: Path, **how: Any) -> ReadFolder:
    """The folder ``cells`` as it is there, all of it."""
    return ReadFolder(
        path="cells", read=read_cells, members=lambda at: members(99, 0.0, at), **known(read_cells(source)), **how
    )


def test_a_folder_is_brought_as_a_whole_and_verified_as_a_whole(register: Register, tmp_path: Path) -> None:
    source = tmp_path / "mirror" / "told" / "cells"
    pictures = cells(source, 5)
    (source / "notes.txt").write_text("not a picture")
    (source.parent.parent / "cells").mkdir()  # less near, and empty
    clean = tmp_path / "clean"
    cells(clean, 5)
    register(folder_of(clean, obtain="take pictures"))
    assert [entry["source"] for entry in ensure("told", tmp_path / "data", mirror=tmp_path / "mirror")] == ["mirror"]
    here = tmp_path / "data" / "told" / "cells"
    assert {path.name for path in here.iterdir()} == set(pictures)
    assert ensure("told", tmp_path / "data")[0]["source"] == "present"
    (here / "cell03.png").unlink()
    with pytest.raises(
        FetchError, match=r"cells: got values of 160000 bytes .*delete it or run `puoc fetch --replace`"
    ):
        ensure("told", tmp_path / "data")
    ensure("told", tmp_path / "data", mirror=tmp_path / "mirror", replace=True)
    assert {path.name for path in here.iterdir()} == set(pictures)
    (here / "cell03.png").write_bytes(b"no picture")
    with pytest.raises(FetchError, match="cells cannot be read: cannot identify image file"):
        ensure("told", tmp_path / "data")


def test_a_file_where_a_folder_should_be_is_no_source(register: Register, tmp_path: Path) -> None:
    cells(tmp_path / "clean", 2)
    register(folder_of(tmp_path / "clean", obtain="take pictures"))
    with pytest.raises(FetchError, match=r"cells \(absent\), .*cells \(absent\); take pictures, or name a folder"):
        ensure("told", tmp_path / "data", mirror=placed(tmp_path / "mirror", b"", "cells"))


def test_a_package_may_hold_more_than_the_folder(
    register: Register, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ten pictures in the package, three have the wanted label and the lowest SHA-1 of their names."""
    package = tmp_path / "site" / "cells_of_a_test"
    pictures = cells(package / "data" / "images", 10)
    labels = [f"images/{name}  {0.0 if i % 2 else 1.0}  mono" for i, name in enumerate(pictures)]
    (package / "data" / "labels.csv").write_text("\n".join(labels) + "\n")
    (package / "__init__.py").write_text("raise RuntimeError('it was imported')")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])
    chosen = members(3, 0.0, package / "data")
    hashes = {name: sha1(f"images/{name}".encode()).hexdigest() for i, name in enumerate(pictures) if i % 2}
    assert list(chosen) == sorted(hashes, key=hashes.__getitem__)[:3]
    for name, path in chosen.items():
        (tmp_path / "chosen").mkdir(exist_ok=True)
        (tmp_path / "chosen" / name).write_bytes(path.read_bytes())
    expected = known(read_cells(tmp_path / "chosen"))
    register(
        ReadFolder(
            path="cells",
            read=read_cells,
            members=lambda at: members(3, 0.0, at),
            package=("cells_of_a_test", "data"),
            **expected,
        )
    )
    assert ensure("told", tmp_path / "data")[0]["source"] == "package"
    assert {path.name for path in (tmp_path / "data" / "told" / "cells").iterdir()} == set(chosen)


def test_what_cannot_be_had_keeps_nothing_else_from_being_brought(register: Register, tmp_path: Path) -> None:
    register(HandedFile(path="table", obtain="ask its authors", **known(ROWS)))
    with pytest.raises(FetchError, match=r"^abnormal1001: .*\ntold: .* ask its authors, or name"):
        write_fetched(["abnormal1001", "told", "digits"], tmp_path / "data", tmp_path / "work")
    assert [path.name for path in (tmp_path / "work").glob("*.json")] == ["digits.json"]
    assert (tmp_path / "data" / "digits" / "digits.csv.gz").exists()


def zipped(*, encrypted: bool = False) -> bytes:
    """A zip archive, whose only member may say that it is encrypted."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("op_spam_v1.4/negative_polarity/truthful_from_Web/fold1/t_hilton_1.txt", "a hotel " * 99)
    content = bytearray(buffer.getvalue())
    if encrypted:
        content[6] |= 1
        content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def spoilt(content: bytes) -> bytes:
    """An archive with its directory, whose packed bytes are others."""
    return content[:100] + bytes(byte ^ 0x5A for byte in content[100:104]) + content[104:]


DAMAGED = {  # dataset, its file, what lies there
    "a zip without its parts": (
        "op_spam",
        "op_spam/op_spam_v1.4.zip",
        zipped()[:-22] + b"PK\x05\x06" + bytes(4) + bytes([9, 0, 9, 0, 9, 0]) + bytes(8),
    ),
    "a zip with other bytes": ("op_spam", "op_spam/op_spam_v1.4.zip", spoilt(zipped())),
    "an encrypted zip": ("op_spam", "op_spam/op_spam_v1.4.zip", zipped(encrypted=True)),
    "a field without an end": (
        "op_spam",
        "op_spam/deceptive-opinion.csv",
        b'deceptive,hotel,polarity,source,text\n"' + b"x" * 200_000,
    ),
    "pictures for a bomb": ("elpv", "normal/bomb.png", None),
    "labels without a number": ("elpv", "normal/labels.csv", b"images/cell0001.png\n"),
    "labels of words": ("elpv", "normal/labels.csv", b"images/cell0001.png high mono\n"),
}


@pytest.mark.parametrize("where", ["mirror", "data"])
@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_named_whatever_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, where: str
) -> None:
    dataset, file, content = DAMAGED[name]
    if file == "normal/labels.csv":
        where = "mirror"  # in data/ there are pictures alone
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    path = tmp_path / where / dataset / file
    path.parent.mkdir(parents=True)
    if content is None:
        Image.new("L", (300, 300)).save(path)
    else:
        path.write_bytes(content)
    folder, _, inside = file.partition("/")
    with pytest.raises(FetchError, match=rf"{dataset}/{folder}.* cannot be read: .*\S") as raised:
        ensure(dataset, tmp_path / "data", mirror=tmp_path / "mirror")
    assert inside in str(raised.value)
