"""Fetching: every source, and what happens when it lies, breaks off or cannot write."""

import hashlib
import http.server
import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from project import REPOSITORY
from typer.testing import CliRunner

from puoc.cli.app import app
from puoc.datasets import DATASETS
from puoc.datasets.declare.dataset import RawFile
from puoc.datasets.prepare import FetchError, compare_with_dvc, directory_md5, ensure, write_fetched
from puoc.datasets.prepare.weights import weights_file

CONTENT = b"seven rows of something\n" * 4000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A dataset with one file, below a folder, whose address is a server of this test; tells what it was asked."""

    class Handler(http.server.BaseHTTPRequestHandler):
        asked, body, length, code = 0, CONTENT, len(CONTENT), 200

        def do_GET(self):
            Handler.asked += 1
            self.send_response(Handler.code)
            self.send_header("Content-Length", str(Handler.length))
            self.end_headers()
            self.wfile.write(Handler.body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/raw.bin"
    raw = RawFile(path="sub/raw.bin", size=len(CONTENT), sha256=SHA256, url=url)
    monkeypatch.setitem(DATASETS, "served", type("Served", (DATASETS["digits"],), {"name": "served", "files": (raw,)}))
    monkeypatch.delenv("PUOC_MIRROR", raising=False)
    yield Handler
    server.shutdown()
    server.server_close()


def files_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_packaged_file_is_copied_once_and_verified_afterwards(tmp_path):
    told = []
    [first] = ensure("digits", tmp_path / "data", on_event=told.append)
    [second] = ensure("digits", tmp_path / "data", on_event=told.append)
    assert (first["source"], second["source"]) == ("package", "present")
    assert len(told) == 1
    assert first["sha256"] == hashlib.sha256((tmp_path / "data/digits/digits.csv.gz").read_bytes()).hexdigest()
    assert files_below(tmp_path / "data") == ["digits/digits.csv.gz"]


def test_a_file_is_downloaded_once(served, tmp_path):
    assert ensure("served", tmp_path / "data") == [
        {"file": "sub/raw.bin", "size": len(CONTENT), "sha256": SHA256, "source": "url"}
    ]
    assert ensure("served", tmp_path / "data")[0]["source"] == "present"
    assert served.asked == 1
    assert (tmp_path / "data/served/sub/raw.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("place", ["served/sub/raw.bin", "sub/raw.bin"])
@pytest.mark.parametrize("through", ["argument", "environment"])
def test_a_mirror_is_asked_before_the_official_address(served, tmp_path, monkeypatch, place, through):
    file = tmp_path / "mirror" / place
    file.parent.mkdir(parents=True)
    file.write_bytes(CONTENT)
    if through == "environment":
        monkeypatch.setenv("PUOC_MIRROR", str(tmp_path / "mirror"))
    given = tmp_path / "mirror" if through == "argument" else None
    assert ensure("served", tmp_path / "data", mirror=given)[0]["source"] == "mirror"
    assert served.asked == 0


def test_a_mirror_without_the_file_is_passed_over(served, tmp_path):
    assert ensure("served", tmp_path / "data", mirror=tmp_path / "nothing")[0]["source"] == "url"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"body": CONTENT[:1000]}, "could not be downloaded from http"),  # the connection breaks off
        ({"body": CONTENT[:1000], "length": 1000}, f"got 1000 bytes with sha256 .*, expected {len(CONTENT)} bytes"),
        ({"body": CONTENT[::-1]}, f"expected {len(CONTENT)} bytes with sha256 {SHA256}; the source is damaged"),
        ({"code": 404}, "404"),
    ],
)
def test_a_bad_download_is_an_error_and_leaves_nothing(served, tmp_path, changed, message):
    for name, value in changed.items():
        setattr(served, name, value)
    with pytest.raises(FetchError, match=message):
        ensure("served", tmp_path / "data")
    assert files_below(tmp_path / "data") == []
    assert [path.name for path in (tmp_path / "data/served").rglob(".*")] == []


def test_a_damaged_mirror_is_an_error_that_names_it(tmp_path):
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror/digits.csv.gz").write_bytes(b"no digits")
    with pytest.raises(FetchError, match=r"mirror/digits\.csv\.gz: got 9 bytes"):
        ensure("digits", tmp_path / "data", mirror=tmp_path / "mirror")
    assert files_below(tmp_path / "data") == []


def test_a_present_wrong_file_is_kept_unless_it_may_be_replaced(tmp_path):
    file = tmp_path / "data/digits/digits.csv.gz"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"mine")
    mine, expected = hashlib.sha256(b"mine").hexdigest(), DATASETS["digits"].files[0].sha256
    message = f"digits.csv.gz: got 4 bytes with sha256 {mine}, .* {expected}; delete it or run `puoc fetch --replace`"
    with pytest.raises(FetchError, match=message):
        ensure("digits", tmp_path / "data")
    assert file.read_bytes() == b"mine"
    assert ensure("digits", tmp_path / "data", replace=True)[0]["source"] == "package"
    assert hashlib.sha256(file.read_bytes()).hexdigest() == expected


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/digits").write_bytes(b"a file where the folder should be")
    with pytest.raises(FetchError, match=r"data/digits cannot be filled: .*; make .* writable"):
        ensure("digits", tmp_path / "data")


def test_a_name_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path):
    (tmp_path / "data/digits/digits.csv.gz/folder").mkdir(parents=True)
    with pytest.raises(FetchError, match=r"digits\.csv\.gz could not be downloaded from .*; make the folder writable"):
        ensure("digits", tmp_path / "data")
    assert files_below(tmp_path / "data") == []


def test_a_file_without_any_source_says_where_it_was_looked_for(tmp_path, monkeypatch):
    raw = RawFile(path="raw.bin", size=1, sha256=SHA256, package=("mlxtend", "data/absent.csv"))
    monkeypatch.setitem(DATASETS, "lost", type("Lost", (DATASETS["digits"],), {"name": "lost", "files": (raw,)}))
    with pytest.raises(FetchError, match=r"lost: raw\.bin .*mirror/lost/raw\.bin \(absent\).*absent\.csv.*PUOC_MIRROR"):
        ensure("lost", tmp_path / "data", mirror=tmp_path / "mirror")


def test_what_a_killed_process_left_is_cleared(tmp_path):
    (tmp_path / "data/digits/.part-abc").mkdir(parents=True)
    (tmp_path / "data/digits/.part-abc/digits.csv.gz").write_bytes(b"half")
    ensure("digits", tmp_path / "data")
    assert files_below(tmp_path / "data") == ["digits/digits.csv.gz"]


def test_two_processes_fetch_a_file_once(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from puoc.datasets.prepare import ensure\n"
        "time.sleep(max(0, float(sys.argv[2]) - time.time()))\n"
        "print(ensure('mnist5k', Path(sys.argv[1]))[0]['source'])"
    )

    start = str(time.time() + 1)
    command = [sys.executable, "-c", code, str(tmp_path / "data"), start]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    outs = [process.communicate(timeout=240) for process in both]
    assert [process.returncode for process in both] == [0, 0], outs
    assert "package" in {out.strip() for out, _ in outs} <= {"package", "present"}
    assert files_below(tmp_path / "data") == ["mnist5k/mnist_5k.csv.gz"]


def test_the_second_of_two_waits_and_then_finds_the_file(served, tmp_path):
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(ensure("served", tmp_path / "data")[0]["source"]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert served.asked == 1
    assert sorted(results) == ["present"] * 3 + ["url"]


def test_the_record_of_a_fetch_is_the_same_whatever_the_source(tmp_path):
    record = tmp_path / "work/data/digits.json"
    write_fetched(["digits"], tmp_path / "data", record.parent)
    before = (record.read_text(), record.stat().st_mtime_ns)
    raw = DATASETS["digits"].files[0]
    assert json.loads(before[0]) == [{"file": raw.path, "size": raw.size, "sha256": raw.sha256}]
    write_fetched(["digits"], tmp_path / "data", record.parent)
    assert (record.read_text(), record.stat().st_mtime_ns) == before
    assert files_below(record.parent) == ["digits.json"]


def dvc(root: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "dvc", *arguments, "-q"]
    subprocess.run(command, cwd=root, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A DVC repository without git whose data/ holds digits and some awkward names, added and pushed."""
    monkeypatch.setenv("DVC_NO_ANALYTICS", "1")
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "site"))
    root = tmp_path / "project"
    root.mkdir()
    ensure("digits", root / "data")
    for name in ("a/x", "a.b", "a-b/y", "Ä ö.txt", "B", "empty"):
        file = root / "data" / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_bytes(b"" if name == "empty" else name.encode() + b"\r\n")
    dvc(root, "init", "--no-scm")
    dvc(root, "remote", "add", "-d", "here", str(tmp_path / "remote"))
    dvc(root, "add", "data")
    dvc(root, "push")
    return root


def test_data_are_compared_with_what_dvc_add_pinned_and_pulled_back(repository):
    data, pin = repository / "data", repository / "data.dvc"
    assert f"md5: {directory_md5(data)}.dir" in pin.read_text()
    assert compare_with_dvc(data, pin) is None
    assert compare_with_dvc(data, repository / "absent.dvc") is None
    (data / "digits/digits.csv.gz").unlink()
    assert "holds other files than data.dvc pins" in compare_with_dvc(data, pin)
    told = []
    assert ensure("digits", data, on_event=told.append)[0]["source"] == "dvc"
    assert told == ["dvc pull data/digits"]
    assert compare_with_dvc(data, pin) is None
    assert ensure("mnist5k", data, on_event=told.append)[0]["source"] == "package"  # the remote does not have it
    assert told[1] == "dvc pull data/mnist5k"
    assert "holds other files than data.dvc pins" in compare_with_dvc(data, pin)


def test_a_remote_that_is_gone_is_told_and_passed_over(repository):
    shutil.rmtree(repository.parent / "remote")
    shutil.rmtree(repository / ".dvc/cache")
    (repository / "data/digits/digits.csv.gz").unlink()
    told = []
    assert ensure("digits", repository / "data", on_event=told.append)[0]["source"] == "package"
    assert "dvc pull data/digits brought nothing (" in told[1]
    assert told[1].endswith("trying the next source")


def test_a_pin_of_something_else_is_refused(tmp_path):
    (tmp_path / "data.dvc").write_text("outs:\n- md5: 1234.dir\n  path: data\n")
    with pytest.raises(FetchError, match="no md5 of DVC 3 for data"):
        compare_with_dvc(tmp_path / "data", tmp_path / "data.dvc")


MERGED = """\
outs:
<<<<<<< HEAD
- md5: 1234.dir
=======
- md5: 5678.dir
>>>>>>> other
  hash: md5
  path: data
"""
ODD_PINS = {
    "a merge that is not settled": (MERGED, r"data\.dvc:[23]: "),
    "a tab": ("outs:\n\t- md5: 1\n", r"data\.dvc:2: .*indent with blanks"),
    "a text": ("data\n", r"data\.dvc:1: got 'data' \(a text\); expected a mapping"),
    "a list": ("- outs\n", r"data\.dvc:1: got \['outs'\] \(a list\); expected a mapping"),
    "nothing": ("", r"data\.dvc:1: got nothing; expected a mapping"),
    "no outs": ("deps: []\n", r"data\.dvc:1: outs: got nothing; expected a list"),
    "empty outs": ("hash: md5\nouts:\n", r"data\.dvc:2: outs: got nothing; expected a list"),
    "a number for outs": ("hash: md5\nouts: 3\n", r"data\.dvc:2: outs: got 3 \(a number\); expected a list"),
    "a mapping for outs": ("outs: {path: data}\n", r"data\.dvc:1: outs: got .*\(a mapping\); expected a list"),
    "a text for an out": ("outs:\n- data\n", r"data\.dvc:2: outs\[0\]: got 'data' \(a text\); expected a mapping"),
    "nothing for an out": ("outs:\n- path: data\n-\n", r"data\.dvc:[23]: outs\[1\]: got nothing; expected a mapping"),
    "a list for an md5": ("outs:\n- {path: data, hash: md5, md5: [1]}\n", r"data\.dvc has no md5 of DVC 3 for data"),
    "a tag that is none": ("outs: !!bool x\n", r"data\.dvc:1: outs: got x; expected true or false"),
    "another encoding": ("outs:\n- {path: d\xe4ta}\n", r"data\.dvc:2: not UTF-8 text"),
}


@pytest.mark.parametrize("name", ODD_PINS)
def test_a_pin_that_dvc_did_not_write_is_refused_with_its_place(tmp_path, name):
    text, expected = ODD_PINS[name]
    (tmp_path / "data.dvc").write_bytes(text.encode("latin-1"))
    with pytest.raises(FetchError, match=expected) as raised:
        compare_with_dvc(tmp_path / "data", tmp_path / "data.dvc")
    assert "dvc add data" in str(raised.value)


ENCODER = """
encoders:
  small:
    encoder: imagenet
    params: {{network: mobilenet_v2, weights: {digits}}}
"""


def test_weights_of_a_folder_that_is_named_once_are_found_by_later_commands(tmp_path, monkeypatch):
    content = b"weights of a test"
    digits = hashlib.sha256(content).hexdigest()[:16]
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.delenv("PUOC_MIRROR", raising=False)
    root, stick = tmp_path / "project", tmp_path / "stick"
    shutil.copytree(REPOSITORY / "tuning" / "spaces", root / "tuning" / "spaces")
    monkeypatch.chdir(root)
    text = (REPOSITORY / "profiles/tiny.yaml").read_text() + ENCODER.format(digits=digits)
    assert "\n  nnpu:\n" in text
    Path("params.yaml").write_text(text.replace("\n  nnpu:\n", "\n  nnpu:\n    encoder: small\n"))
    assert CliRunner().invoke(app, ["plan"]).exit_code == 0
    (stick / "weights").mkdir(parents=True)
    (stick / "weights" / "small.pth").write_bytes(content)
    done = CliRunner().invoke(app, ["fetch", "--from", str(stick)])
    assert done.exit_code == 0, done.output
    shutil.rmtree(stick)
    assert weights_file("mobilenet_v2", digits).read_bytes() == content
    assert files_below(root / "data") == ["digits/digits.csv.gz", "weights/small.pth"]
    assert CliRunner().invoke(app, ["fetch"]).exit_code == 0
