"""Too little memory: a command says what limits it, and neither waits for ever nor shows a traceback."""

from __future__ import annotations

import subprocess
import sys
from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit, setrlimit

import numpy as np
import pytest
import torch

from puoc.cli.memory import exit_without_memory


def under(limit: int, *words: str) -> tuple[int, str]:
    """Run a command whose address space has this many bytes; return the exit code and the standard error."""
    code = f"import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit})); "
    code += f"sys.argv = {['puoc', *words]!r}; runpy.run_module('puoc', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, done.stderr


def test_an_address_space_in_which_nothing_runs_is_refused_before_anything_starts() -> None:
    code, said = under(400_000_000, "methods")
    assert code == 2, said
    assert "a limit allows this process 0.4 GB of addresses; expected 5 GB or more" in said
    assert said.rstrip().endswith("nothing was started")


def of_numpy() -> None:
    np.empty(2**62, dtype=np.uint8)


def of_torch() -> None:
    torch.empty(2**62, dtype=torch.uint8)


def of_a_library() -> None:
    raise ImportError("libtorch_cpu.so: failed to map segment from shared object")


def of_python() -> None:
    bytearray(2**62)


@pytest.mark.parametrize("demand", [of_numpy, of_torch, of_a_library, of_python])
def test_memory_that_is_used_up_ends_a_command_with_one_line(demand, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end, exit_without_memory():
        demand()
    assert end.value.code == 1
    assert capsys.readouterr().err.startswith("the memory is used up")


def test_a_limit_of_addresses_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    before = getrlimit(RLIMIT_AS)
    if before[1] != RLIM_INFINITY:
        pytest.skip("this process has a limit that cannot be raised")
    setrlimit(RLIMIT_AS, (2**45, before[1]))
    try:
        with pytest.raises(SystemExit), exit_without_memory():
            of_numpy()
    finally:
        setrlimit(RLIMIT_AS, before)
    assert "a limit allows this process 35184.4 GB of addresses" in capsys.readouterr().err


def test_other_errors_stay_as_they_are() -> None:
    for error in (RuntimeError("shapes"), OSError("disk full"), ImportError("no module")):
        with pytest.raises(type(error), match=str(error)), exit_without_memory():
            raise error
