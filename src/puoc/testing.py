"""Plugin of pytest: the contract tests of puoc for methods of other packages.

``pytest --puoc-contract NAME`` adds them to the tests that pytest collects. An entry point of the group ``pytest11``
names this module, so it has to load fast: it imports neither torch nor the methods until the option is given.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from puoc.records import Params

pytest.register_assert_rewrite("puoc.methods.contract.checks")

_CHECKS = Path(__file__).parent / "methods" / "contract" / "checks.py"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the contract."""
    group = parser.getgroup("puoc")
    group.addoption(
        "--puoc-contract",
        action="append",
        default=[],
        metavar="METHOD",
        help="Add the contract tests of a registered method to the tests. May be given several times.",
    )
    group.addoption(
        "--puoc-contract-params",
        metavar="FILE",
        help="YAML file with the hyperparameters of these tests: method: {setting: {name: value}}. Default: those of "
        "puoc fit.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the file of the checks to what pytest collects."""
    if config.getoption("--puoc-contract"):
        config.addinivalue_line("markers", "slow: takes seconds")
        if str(_CHECKS) not in config.args:
            config.args.append(str(_CHECKS))


def pytest_collection(session: pytest.Session) -> None:
    """Find the hyperparameters of the methods. Raises pytest.UsageError for an unknown method or a wrong file."""
    names = session.config.getoption("--puoc-contract")
    if names:
        from puoc.methods.contract.problems import SETTINGS

        try:
            SETTINGS.update(_settings(names, session.config.getoption("--puoc-contract-params")))
        except ValueError as error:
            raise pytest.UsageError(str(error)) from error


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each check the cases of the methods of the option."""
    names = metafunc.config.getoption("--puoc-contract")
    if names and Path(str(metafunc.module.__file__)) == _CHECKS:
        from puoc.methods.contract.checks import give_cases

        give_cases(metafunc, dict.fromkeys(names))


def _settings(names: list[str], file: str | None) -> dict[str, dict[str, Params]]:
    """Return the hyperparameters of methods by setting, from a file or those of ``puoc fit``."""
    from puoc.methods import METHODS, normalise
    from puoc.store.yaml_file import YamlFile
    from puoc.userdata.settings import packaged_methods

    packaged = dict(packaged_methods())
    given = {} if file is None else YamlFile(Path(file)).data
    if not isinstance(given, dict):
        raise ValueError(f"--puoc-contract-params: got {file}; expected method: {{setting: {{name: value}}}}")
    found: dict[str, dict[str, Params]] = {}
    for name in names:
        if name not in METHODS:
            raise ValueError(f"--puoc-contract: got {name!r}; expected one of {', '.join(sorted(METHODS))}")
        own = getattr(METHODS[name], "default_params", None) or packaged.get(name)
        settings = given.get(name, {} if own is None else {"default": own})
        if not _are_settings(settings):
            raise ValueError(
                f"--puoc-contract: got no hyperparameters of {name}; expected {name}: {{setting: {{name: value}}}} in "
                "the file of --puoc-contract-params, or the attribute default_params of the method"
            )
        found[name] = {}
        for key, params in settings.items():
            try:
                found[name][str(key)] = normalise(name, params)
            except ValueError as error:
                raise ValueError(f"{file or 'default_params'}: {name}, {key}: {error}") from error
    return found


def _are_settings(found: object) -> bool:
    return isinstance(found, dict) and bool(found) and all(isinstance(one, dict) for one in found.values())
