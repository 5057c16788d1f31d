"""The hyperparameters of every registered method on toy problems, and the cases that follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from puoc.methods import METHODS
from puoc.methods.contract.problems import SETTINGS, cases

pytest.register_assert_rewrite("puoc.methods.contract.checks")  # test_methods.py imports it after this module

HERE = Path(__file__).parent


def _settings() -> dict[str, dict[str, dict[str, Any]]]:
    """Hyperparameters by method and setting; a method that is in neither file has none, which a test reports."""
    yaml = YAML(typ="safe", pure=True)
    settings = yaml.load(HERE / "toy_params.yaml")
    entries = yaml.load(HERE.parents[1] / "params.yaml")["methods"]
    for entry, spec in entries.items():
        name = spec.get("method") or entry
        if name in METHODS.keys() - settings.keys():
            settings[name] = {"params.yaml": spec["params"]}
    return {name: of for name, of in settings.items() if name in METHODS}


SETTINGS.update(_settings())
CASES = cases(SETTINGS)
