"""Fits leave the compiler of torch unloaded, and learn the same once another part of a program has loaded it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from project import REPOSITORY

SCRIPT = """
import sys
import inspect
import torch
from torch import nn
from toys import SETTINGS
from puoc.methods.contract import problems

problems.SETTINGS.update(SETTINGS)
cases = [case.short for case in problems.cases(SETTINGS)]

def scores(case):
    return case.fit(case.sample(0)).decision_function(case.test_rows()[0]).tolist()

def is_loaded():
    return any(name.startswith("torch._dynamo.") for name in sys.modules)

before = {}
for case in cases:
    before[case] = scores(case)
    assert not is_loaded(), f"{case} loads the compiler"
[inspect.getmodule(frame[0]) for frame in inspect.stack()]  # walks through all modules
assert not is_loaded()

net = nn.Linear(3, 1)
compiled = torch.compile(net, backend="eager")
assert torch.equal(compiled(torch.ones(2, 3)), net(torch.ones(2, 3)))
assert is_loaded()
again = torch.optim.SGD(net.parameters(), lr=0.1)
again.load_state_dict(again.state_dict())

@torch.compile(backend="eager")
def step():
    again.zero_grad()
    net(torch.ones(2, 3)).sum().backward()
    again.step()

weight = net.weight.detach().clone()
step()
assert torch.allclose(net.weight, weight - 0.2)
one_each = {case.name: case for case in cases}.values()
assert {case.name: scores(case) == before[case] for case in one_each} == {case.name: True for case in one_each}
"""


@pytest.mark.slow
def test_no_fit_loads_the_compiler_and_none_differs_where_it_is_loaded() -> None:
    paths = [str(REPOSITORY / "tests" / part) for part in ("contracts", ".")]
    words = [sys.executable, "-c", f"import sys; sys.path[:0] = {paths}\n{SCRIPT}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
