"""Quick tests with the lowest versions of the core's libraries that pyproject.toml allows, in a new environment.

It can be a CI job of its own, beside .ci/run. The lowest torch is a download of gigabytes on Linux; --torch names one
that is at hand.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "pyyaml")  # any version
#: Tests that need the core alone, of what depends on its libraries most: fits, tables, pages, estimators.
TESTS = (
    "tests/contracts",
    "tests/datasets/test_own_read.py",
    "tests/userdata/test_estimators.py",
    "tests/userdata/test_python_names.py",
    "tests/repository/test_light_wheel.py",
)


def lowest(pyproject: Path) -> dict[str, str]:
    """Return the lowest version of each library of the core, by name.

    Raises
    ------
    ValueError : a library has no lower bound.
    """
    lines = tomllib.loads(pyproject.read_text())["project"]["dependencies"]
    found = {}
    for line in lines:
        match = re.fullmatch(r"([\w.-]+)>=([\w.]+)", line)
        if match is None:
            raise ValueError(
                f"{pyproject}: got the dependency {line!r}; expected name>=version, with its lowest version"
            )
        found[match[1]] = match[2]
    return found


def main() -> None:
    """Make the environment, install and run the tests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", help="another version of torch than the lowest")
    parser.add_argument("--venv", type=Path, help="folder of the environment, which is kept")
    parser.add_argument("--list", action="store_true", help="print the versions as constraints of pip, and do nothing")
    options = parser.parse_args()
    versions = lowest(ROOT / "pyproject.toml")
    if options.torch:
        versions["torch"] = options.torch
    pinned = "".join(f"{name}=={version}\n" for name, version in versions.items())
    if options.list:
        sys.stdout.write(pinned)
        return
    with tempfile.TemporaryDirectory(prefix="puoc-lowest-") as folder:
        constraints = Path(folder) / "constraints-lowest.txt"
        constraints.write_text(pinned)
        venv = options.venv or Path(folder) / "venv"
        python = str(venv / "bin" / "python")
        words = ["-m", "pip", "install", "-q", "--no-compile", "-c", str(constraints)]
        for command in (
            [sys.executable, "-m", "venv", str(venv)],
            [python, *words, f"torch=={versions['torch']}"],  # first, so that pip chooses no other one
            [python, *words, *_TOOLS, "-e", str(ROOT)],
            [python, "-m", "pytest", "-n", "2", "--dist", "worksteal", *TESTS],
        ):
            code = subprocess.run(command, cwd=ROOT, check=False).returncode
            if code:
                sys.exit(f"{' '.join(command[:4])} ...: exit code {code}, with\n{pinned}")


if __name__ == "__main__":
    main()
