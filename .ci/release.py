"""Everything of a release but the upload: checks, sdist and wheel in dist/, a trial of the wheel, audit and SBOM.

make release runs it with the tools of the extra ``release``. It looks up known vulnerabilities first: a release ends
there if it has one, or if no database of advisories can be reached. With --unaudited it goes on, and says NOT AUDITED
at its end and in the bill of materials in dist/.

The trial installs the wheel alone into an empty
environment, which takes minutes and about 6 GB below the folder for temporary files, and is removed afterwards.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
#: Most megabytes of the core beside what torch brings.
MOST_MEGABYTES = 1500
_OF_TORCH = ("torch", "torchgen", "functorch", "triton", "nvidia", "cuda")
NOT_AUDITED = "NOT AUDITED: no database of advisories could be reached, so no version was looked up"
_ROWS = 120  # of each file of the trial


def faults_of_words(root: Path, *, unreleased: bool = False) -> Iterator[str]:
    """Yield what disagrees about the version: the code, the changelog and the citation.

    Parameters
    ----------
    unreleased : whether the newest heading of the changelog may be "Unreleased".
    """
    found = re.search(r'^__version__ = "(.+)"$', (root / "src" / "puoc" / "__init__.py").read_text(), re.MULTILINE)
    version = found[1] if found else ""
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        yield f"src/puoc/__init__.py: got __version__ {version!r}; expected a version such as 1.2.3 or 1.2.3rc1"
    headings = re.findall(r"^## (.+)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    newest = headings[0] if headings else ""
    if not (unreleased and newest == "Unreleased") and newest.partition(" ")[0] != version:
        yield f"CHANGELOG.md: got {newest!r} as its newest heading; expected {version}, the version of src/puoc"
    cited = str(YAML(typ="safe", pure=True).load(root / "CITATION.cff").get("version"))
    if cited != version:
        yield f"CITATION.cff: got the version {cited}; expected {version}, as in src/puoc"


def faults_of_wheel(wheel: Path, source: Path) -> Iterator[str]:
    """Yield what the wheel has beside the package, and what it lacks of it."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    strange = sorted(name for name in names if not re.match(r"puoc(-[^/]+\.dist-info)?/", name))
    if strange:
        yield f"{wheel.name}: got {', '.join(strange[:5])}; expected the folder puoc/ and its metadata alone"
    package = {path.relative_to(source).as_posix() for path in source.rglob("*.py")}
    lacking = sorted(package - names)
    if lacking:
        yield f"{wheel.name}: has no {', '.join(lacking[:5])}; expected every module of src/puoc"


def megabytes(packages: Path) -> tuple[float, float]:
    """Return the size of an environment in MB: of torch with its libraries, and of everything else but pip."""
    of_torch = rest = 0
    for path in packages.iterdir():
        name = path.name.lower()
        if name.startswith(("pip", "setuptools", "_distutils")):
            continue
        files = [path] if path.is_file() else path.rglob("*")
        size = sum(file.lstat().st_size for file in files if file.is_file() or file.is_symlink())
        if name.startswith(_OF_TORCH):
            of_torch += size
        else:
            rest += size
    return of_torch / 1e6, rest / 1e6


def main() -> None:
    """Run all steps, and stop at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unreleased", action="store_true", help="the changelog may still be headed Unreleased")
    parser.add_argument("--unaudited", action="store_true", help="continue if no database of advisories can be reached")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="folder to write; it is emptied first")
    parser.add_argument("--trial", type=Path, help="folder of the empty environment, which is kept")
    options = parser.parse_args()
    dist = options.dist.resolve()
    _say("== version, changelog and citation")
    _stop_at(faults_of_words(ROOT, unreleased=options.unreleased))
    with tempfile.TemporaryDirectory(prefix="puoc-release-") as folder:
        _say("== known vulnerabilities of all pinned versions")
        audited = _audit(Path(folder) / "audit.json", unaudited=options.unaudited)
        source = _committed(Path(folder) / "source")
        _say("== sdist and wheel")
        _emptied(dist)
        _run(sys.executable, "-m", "build", "--outdir", str(dist), str(source))
        _run(sys.executable, "-m", "twine", "check", "--strict", *map(str, sorted(dist.iterdir())))
        [wheel] = dist.glob("*.whl")
        _stop_at(faults_of_wheel(wheel, source / "src"))
        python = _installed(wheel, options.trial or Path(folder) / "trial")
        _try(python, Path(folder) / "work")
        _say("== software bill of materials")
        bill = dist / f"{wheel.stem.partition('-py3')[0]}.cdx.json"
        words = ["environment", str(python), "--pyproject", str(source / "pyproject.toml"), "--output-reproducible"]
        _run(sys.executable, "-m", "cyclonedx_py", *words, "-o", str(bill))
        write_audit(bill, audited)
    _say(audited)
    _say(f"done: {', '.join(path.name for path in sorted(dist.iterdir()))} in {dist}. Nothing was uploaded")


def _committed(folder: Path) -> Path:
    """Write the files of the newest commit to a folder, so that nothing else gets into a release."""
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True)
    if changed.stdout:
        _stop_at([f"got changes that are not committed: {changed.stdout.splitlines()[0].strip()}; expected none"])
    folder.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def _emptied(dist: Path) -> None:
    kept = [path.name for path in dist.glob("*") if not path.name.startswith("puoc-")]
    if kept:
        _stop_at([f"--dist: got {dist}, which has {kept[0]}; expected a folder with files of a release alone"])
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir(parents=True)


def _installed(wheel: Path, folder: Path) -> Path:
    """Install the wheel with what it needs, and nothing else, into a new environment; return its Python."""
    _say("== the wheel alone in an empty environment")
    python = folder / "bin" / "python"
    _run(sys.executable, "-m", "venv", "--clear", str(folder))
    _run(str(python), "-m", "pip", "install", "-q", "--no-compile", "-c", str(ROOT / "constraints.txt"), str(wheel))
    of_torch, rest = megabytes(_packages(python))
    _say(f"{rest:,.0f} MB beside {of_torch:,.0f} MB of torch and its libraries")
    if rest > MOST_MEGABYTES:
        _stop_at([f"the core takes {rest:,.0f} MB beside torch; expected at most {MOST_MEGABYTES:,}"])
    return python


def _packages(python: Path) -> Path:
    [packages] = python.parents[1].glob("lib/python*/site-packages")
    return packages


def _try(python: Path, work: Path) -> None:
    """Use what was installed as a user would, in an empty folder, and compare scores with those made here."""
    work.mkdir()
    drawn = random.Random(0)
    for name, positive in (("p", 1.0), ("u", 0.3)):
        with (work / f"{name}.csv").open("w", newline="") as file:
            shifts = [3.0 * (drawn.random() < positive) for _ in range(_ROWS)]
            csv.writer(file).writerows([["a", "b", "c", "d"], *([drawn.gauss(at) for _ in range(4)] for at in shifts)])
    own = ["--positives", "p.csv", "--unlabelled", "u.csv"]
    puoc = str(python.parent / "puoc")
    _used(work, puoc, "--help")
    _used(work, puoc, "assess", *own)
    _used(work, str(python), "-c", "from puoc import *; from puoc import PUSVM; PUSVM, tice, PUClassifier")
    for method in ("pu_svm", "nnpu", "pu_trees"):
        fit = ["fit", "--method", method, "--prior", "0.3", "--no-ranking-check", *own, "--out"]
        _used(work, puoc, *fit, f"{method}.there")
        _used(work, sys.executable, "-m", "puoc", *fit, f"{method}.here")
        there, here = work / f"{method}.there.csv", work / f"{method}.here.csv"
        score = ["score", "--model", f"{method}.here", "u.csv", "--out"]
        _used(work, puoc, *score, str(there))
        _used(work, sys.executable, "-m", "puoc", *score, str(here))
        if there.read_bytes() != here.read_bytes():
            _stop_at([f"{method}: a model that was fitted here has other scores there; expected the same bytes"])
        _say(f"{method}: {_ROWS} scores of a model from here are the same bytes there")
    for words in (["sweep", "--method", "x"], ["track"], ["report"], ["ui"], ["study", "--method", "x"]):
        done = subprocess.run([puoc, *words], cwd=work, env=_alone(), capture_output=True, text=True, check=False)
        said = " ".join((done.stdout + done.stderr).split())
        if done.returncode != 2 or "pip install 'puoc[platform]'" not in said:
            _stop_at([f"puoc {words[0]}: got exit code {done.returncode} and {said[-300:]!r}; expected the pip line"])


def _audit(file: Path, *, unaudited: bool) -> str:
    """Look up the pinned versions; return the result in words. Stop at a known vulnerability.

    pip-audit ends with 0 where it reaches no database, after a line for each version.
    """
    words = ["-r", "constraints.txt", "--no-deps", "--disable-pip", "--progress-spinner", "off"]
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", *words, "-f", "json", "-o", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if file.exists():
        found, skipped, faults = read_audit(json.loads(file.read_text()))
        _say(f"{found} versions looked up, {len(skipped)} not: {', '.join(skipped[:10])}{' ...' * (len(skipped) > 10)}")
        _stop_at(faults)
    else:  # as where the connection is refused
        found, skipped = 0, []
        _say(f"pip-audit: exit code {done.returncode}\n{done.stderr[-500:]}")
    if not found and not unaudited:
        _stop_at([f"{NOT_AUDITED}; expected a network that reaches one, or --unaudited, which goes on without"])
    return audit_in_words(found, skipped)


def audit_in_words(found: int, skipped: list[str]) -> str:
    """Return what an audit says: how many versions have no known vulnerability, and which were not looked up."""
    if not found:
        return NOT_AUDITED
    said = f"audited: pip-audit knows no vulnerability of {found} versions in constraints.txt"
    return f"{said}; NOT AUDITED: {', '.join(skipped)}" if skipped else said


def write_audit(bill: Path, audited: str) -> None:
    """Add the result of the audit to the metadata of a bill of materials."""
    content = json.loads(bill.read_text())
    content.setdefault("metadata", {}).setdefault("properties", []).append({"name": "puoc:audit", "value": audited})
    bill.write_text(json.dumps(content, indent=2) + "\n")


def read_audit(report: dict[str, Any]) -> tuple[int, list[str], list[str]]:
    """Return how many versions pip-audit looked up, the names of those it did not, and a line for each advisory."""
    looked_up, skipped, faults = 0, [], []
    for one in report["dependencies"]:
        if "skip_reason" in one:
            skipped.append(one["name"])
            continue
        looked_up += 1
        for advisory in one["vulns"]:
            mended = ", ".join(advisory["fix_versions"]) or "none yet"
            faults.append(
                f"{one['name']} {one['version']}: {advisory['id']}, mended in {mended}; pin such a version in "
                "constraints.txt, or follow SECURITY.md"
            )
    return looked_up, skipped, faults


def _alone() -> dict[str, str]:
    """Return the environment without packages of other places, which pip would take for installed ones."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


def _used(work: Path, *words: str) -> None:
    """Run a command that must work: one of the new environment, or of this checkout."""
    environment = _alone() | ({"PYTHONPATH": str(ROOT / "src")} if words[0] == sys.executable else {})
    done = subprocess.run(words, cwd=work, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        _stop_at([f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"])


def _run(*words: str) -> None:
    """Run a tool that must succeed; its output is shown."""
    code = subprocess.run(words, cwd=ROOT, env=_alone(), check=False).returncode
    if code:
        _stop_at([f"{' '.join(words[:4])} ...: exit code {code}"])


def _stop_at(faults: Iterator[str] | list[str]) -> None:
    lines = list(faults)
    if lines:
        sys.exit("\n".join(lines))


def _say(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
