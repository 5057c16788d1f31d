"""Files out of an archive: one verified download, declared members alone, whatever the archive holds beside them."""

from __future__ import annotations

import hashlib
import http.server
import io
import shutil
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from project import File

from puoc.datasets import DATASETS
from puoc.datasets.cifar10 import CIFAR10
from puoc.datasets.declare.archived import ArchivedFile
from puoc.datasets.prepare import FetchError, ensure

CONTENTS = {"folder/one": b"one" * 30_000, "folder/two": b"two" * 50_000, "three": b"3"}


class Server(http.server.ThreadingHTTPServer):
    """Serves one body under the name that the official archive has, and counts."""

    body: bytes = b""
    length: int | None = None
    code = 200
    asked = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/some/cifar-10-python.tar.gz"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked += 1
        self.send_response(self.server.code)
        self.send_header("Content-Length", str(self.server.length or len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.delenv("PUOC_MIRROR", raising=False)
    with Server(("127.0.0.1", 0), Handler) as one:
        threading.Thread(target=one.serve_forever, args=(0.01,), daemon=True).start()
        yield one
        one.shutdown()


def plain(name: str, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    return info, content


def link(name: str, target: str, kind: bytes) -> tuple[tarfile.TarInfo, bytes]:
    """No plain file, of the size that the file of this name should have."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, len(CONTENTS.get(name, b""))
    return info, b""


def packed(*members: tuple[tarfile.TarInfo, bytes], level: int = 1) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz", compresslevel=level) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return whole.getvalue()


def serve(server: Server, monkeypatch: pytest.MonkeyPatch, body: bytes, **changed: Any) -> None:
    """Register a dataset ``packed`` of CONTENTS whose official address is the server and whose archive is ``body``."""
    server.body = body
    declared: dict[str, Any] = {"url": server.url, "archive_md5": hashlib.md5(body).hexdigest()} | changed
    files = tuple(
        ArchivedFile(path=path, size=len(content), sha256=hashlib.sha256(content).hexdigest(), md5="", **declared)
        for path, content in CONTENTS.items()
    )
    monkeypatch.setitem(DATASETS, "packed", type("Packed", (CIFAR10,), {"name": "packed", "files": files}))


def below(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def sources(entries: list[dict[str, str | int]]) -> list[str | int]:
    return [entry["source"] for entry in entries]


WHOLE = packed(*(plain(*item) for item in CONTENTS.items()))


def test_one_download_brings_all_files_of_an_archive(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve(server, monkeypatch, WHOLE)
    told: list[str] = []
    assert sources(ensure("packed", tmp_path / "data", on_event=told.append)) == ["url"] * 3
    assert told == [f"{tmp_path}/data/packed/folder/one from {server.url}"]
    assert sources(ensure("packed", tmp_path / "data")) == ["present"] * 3
    assert below(tmp_path / "data" / "packed") == CONTENTS
    assert server.asked == 1


def test_callers_that_want_an_archive_at_once_download_it_once(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve(server, monkeypatch, WHOLE)
    found: list[list[str | int]] = []
    threads = [
        threading.Thread(target=lambda: found.append(sources(ensure("packed", tmp_path / "data")))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(tuple, found)) == [("present",) * 3] * 3 + [("url",) * 3]
    assert server.asked == 1


def test_a_lost_file_is_brought_again_and_the_others_are_not_touched(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve(server, monkeypatch, WHOLE)
    ensure("packed", tmp_path / "data")
    folder = tmp_path / "data" / "packed"
    before = {path: File.of(folder / path) for path in CONTENTS}
    (folder / "folder/two").unlink()
    assert sources(ensure("packed", tmp_path / "data")) == ["present", "url", "present"]
    assert below(folder) == CONTENTS
    for path in ("folder/one", "three"):
        assert File.of(folder / path) == before[path]


def test_a_mirror_with_some_of_the_files_is_used_for_these(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve(server, monkeypatch, WHOLE)
    (tmp_path / "mirror" / "folder").mkdir(parents=True)
    (tmp_path / "mirror" / "folder" / "one").write_bytes(CONTENTS["folder/one"])
    assert sources(ensure("packed", tmp_path / "data", mirror=tmp_path / "mirror")) == ["mirror", "url", "url"]
    assert below(tmp_path / "data" / "packed") == CONTENTS


@pytest.mark.parametrize("place", ["packed", "."])
def test_a_mirror_may_hold_the_archive_itself(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    serve(server, monkeypatch, WHOLE)
    (tmp_path / "mirror" / place).mkdir(parents=True)
    archive = tmp_path / "mirror" / place / "cifar-10-python.tar.gz"
    archive.write_bytes(WHOLE)
    assert sources(ensure("packed", tmp_path / "data", mirror=tmp_path / "mirror")) == ["mirror"] * 3
    assert below(tmp_path / "data" / "packed") == CONTENTS
    assert archive.read_bytes() == WHOLE
    assert server.asked == 0


def refused(tmp_path: Path, message: str) -> None:
    """Fetching fails with the message and leaves neither a file nor a half of one."""
    with pytest.raises(FetchError, match=message):
        ensure("packed", tmp_path / "data")
    assert list((tmp_path / "data").rglob("*")) == [tmp_path / "data" / "packed"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"length": len(WHOLE) + 1},
            r"could not be downloaded from http.*; make the folder writable, repair",
        ),
        ({"body": WHOLE[:-100]}, f"got {len(WHOLE) - 100} bytes with MD5 .*, expected MD5 .*; the source is damaged"),
        ({"body": WHOLE + b"x"}, rf"cifar-10-python\.tar\.gz: got {len(WHOLE) + 1} bytes with MD5"),
        ({"code": 404}, "404"),
    ],
    ids=["connection breaks off", "truncated", "another", "not found"],
)
def test_a_bad_download_is_an_error_and_leaves_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changed: Mapping[str, Any], message: str
) -> None:
    serve(server, monkeypatch, WHOLE)
    for name, value in changed.items():
        setattr(server, name, value)
    refused(tmp_path, message)


def test_an_archive_of_the_wrong_checksum_is_not_opened(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def opened(*_: Any, **__: Any) -> None:
        raise AssertionError("it was opened")

    monkeypatch.setattr(tarfile, "open", opened)
    serve(server, monkeypatch, WHOLE)
    with pytest.raises(AssertionError, match="it was opened"):
        ensure("packed", tmp_path / "data")
    serve(server, monkeypatch, WHOLE, archive_md5="0" * 32)
    refused(tmp_path, f"got {len(WHOLE)} bytes with MD5 {hashlib.md5(WHOLE).hexdigest()}, expected MD5 {'0' * 32}")


ONE, TWO, THREE = (plain(*item) for item in CONTENTS.items())
NO_TWO = "holds no plain file of the declared size as folder/two; the source is damaged"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (packed(ONE, THREE), NO_TWO),
        (packed(ONE, plain("folder/two", b"two"), THREE), NO_TWO),
        (packed(ONE, plain("../folder/two", CONTENTS["folder/two"]), THREE), NO_TWO),
        (packed(ONE, link("folder/two", "/etc/hostname", tarfile.SYMTYPE), THREE), NO_TWO),
        (packed(ONE, link("folder/two", "folder/one", tarfile.LNKTYPE), THREE), NO_TWO),
        (packed(ONE, link("folder/two", "", tarfile.FIFOTYPE), THREE), NO_TWO),
        (
            packed(ONE, plain("folder/two", CONTENTS["folder/two"][::-1]), THREE),
            "folder/two in http.*: got 150000 bytes",
        ),
        (WHOLE[: len(WHOLE) // 2], "is no whole gzipped tar archive"),
        (b"<html>moved</html>", "is no whole gzipped tar archive"),
        (b"", "is no whole gzipped tar archive"),
    ],
    ids=["absent", "size", "outside", "symlink", "hard link", "pipe", "content", "truncated", "html", "empty"],
)
def test_an_archive_without_the_declared_files_is_an_error_and_leaves_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: bytes, message: str
) -> None:
    """Its own checksum is right here: what it holds is checked all the same."""
    serve(server, monkeypatch, body)
    refused(tmp_path, message)


def test_nothing_but_the_declared_files_is_written_wherever_members_point(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    strange = [
        plain("../evil", b"evil"),
        plain("../../evil", b"evil"),
        plain(f"{tmp_path}/evil", b"evil"),
        plain("folder/../../evil", b"evil"),
        link("folder", str(tmp_path / "evil"), tarfile.SYMTYPE),
        plain("folder/one/evil", b"evil"),
        plain("another", b"not asked for"),
    ]
    serve(server, monkeypatch, packed(*strange, ONE, TWO, plain("three", b"4"), THREE, *strange))
    with pytest.raises(FetchError, match="three in http"):
        ensure("packed", tmp_path / "data")
    serve(server, monkeypatch, packed(*strange, ONE, TWO, *strange, THREE))
    ensure("packed", tmp_path / "data")
    assert below(tmp_path / "data") == {f"packed/{path}": content for path, content in CONTENTS.items()}
    assert not list(tmp_path.rglob("evil"))
    assert not (tmp_path.parent / "evil").exists()


@pytest.mark.slow
def test_the_official_files_come_out_of_an_archive_of_them(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mirror: Callable[[str], Path]
) -> None:
    """What is verified by size and sha256 is what the mirror holds, so nothing more is compared."""
    folder = mirror("cifar10") / "cifar10"
    server.body = packed(*(plain(file.path, (folder / file.path).read_bytes()) for file in CIFAR10.files), level=0)
    changed = {"url": server.url, "archive_md5": hashlib.md5(server.body).hexdigest()}
    files = tuple(replace(file, **changed) for file in CIFAR10.files)
    monkeypatch.setitem(DATASETS, "served", type("Served", (CIFAR10,), {"name": "served", "files": files}))
    try:
        assert sources(ensure("served", tmp_path / "data")) == ["url"] * 7
        assert sources(ensure("served", tmp_path / "data")) == ["present"] * 7
        found = {path.name for path in (tmp_path / "data").rglob("*") if path.is_file()}
    finally:
        shutil.rmtree(tmp_path / "data")  # 186 MB
    assert found == {path.name for path in (folder / "cifar-10-batches-py").iterdir()}
    assert server.asked == 1
