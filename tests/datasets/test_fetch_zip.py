"""Files out of a zip archive: a verified archive, declared members alone; as of a tar archive (test_fetch_cifar10)."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from puoc.datasets import DATASETS
from puoc.datasets.declare.archived import ZippedFile
from puoc.datasets.prepare import FetchError, ensure
from puoc.datasets.sms_spam import SMSSpam

ONE, TWO = b"one" * 30_000, b"two" * 50_000


def packed(**members: bytes) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return whole.getvalue()


WHOLE = packed(first=ONE, folder__second=TWO, another=b"not asked for", **{"..__evil": b"evil"})


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Fetch a dataset of two members of an archive that a mirror holds; kinds of the sources."""

    def fetched(body: bytes, **changed: Any) -> list[Any]:
        (tmp_path / "mirror").mkdir(exist_ok=True)
        (tmp_path / "mirror" / "some+archive.zip").write_bytes(body)
        about = {
            "url": "https://example.org/public/some+archive.zip",
            "archive_sha256": hashlib.sha256(body).hexdigest(),
        } | changed
        files = tuple(
            ZippedFile(path=path, name=name, size=len(content), sha256=hashlib.sha256(content).hexdigest(), **about)
            for path, name, content in (("one.txt", "first", ONE), ("kept/two.txt", "folder/second", TWO))
        )
        monkeypatch.setitem(DATASETS, "packed", type("Packed", (SMSSpam,), {"name": "packed", "files": files}))
        return [entry["source"] for entry in ensure("packed", tmp_path / "data", mirror=tmp_path / "mirror")]

    return fetched


def below(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_declared_members_come_out_under_their_own_names_and_nothing_else(
    served: Callable[..., list[Any]], tmp_path: Path
) -> None:
    assert served(WHOLE) == ["mirror", "mirror"]
    assert below(tmp_path / "data") == {"packed/one.txt": ONE, "packed/kept/two.txt": TWO}
    assert not list(tmp_path.rglob("*evil*"))
    assert served(WHOLE) == ["present", "present"]


@pytest.mark.parametrize(
    ("body", "changed", "said"),
    [
        (WHOLE, {"archive_sha256": "0" * 64}, "got .* bytes with SHA256 .*, expected SHA256 0{64}"),
        (packed(first=ONE), {}, "holds no plain file of the declared size as kept/two.txt"),
        (packed(first=ONE, folder__second=TWO[:-1]), {}, "holds no plain file of the declared size as kept/two.txt"),
        (packed(first=ONE, folder__second=TWO[::-1]), {}, r"kept/two.txt in .*: got 150000 bytes"),
        (WHOLE[: len(WHOLE) // 2], {}, "is no whole zip archive"),
        (WHOLE[:200] + b"#" * 20 + WHOLE[220:], {}, "is no whole zip archive"),
        (b"<html>moved</html>", {}, "is no whole zip archive"),
    ],
    ids=["another", "absent", "size", "content", "truncated", "damaged", "html"],
)
def test_another_archive_is_an_error_and_leaves_nothing(
    served: Callable[..., list[Any]], tmp_path: Path, body: bytes, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(FetchError, match=said):
        served(body, **changed)
    assert below(tmp_path / "data") == {}


def test_an_encrypted_member_is_refused(served: Callable[..., list[Any]]) -> None:
    body = bytearray(packed(first=ONE, folder__second=TWO))
    body[6] |= 1  # the flag in the first member's own header, and in the archive's list
    body[body.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(FetchError, match=r"is no whole zip archive \(.*encrypted"):
        served(bytes(body))
