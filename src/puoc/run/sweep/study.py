"""The Optuna study of a sweep in a file for optuna-dashboard. It can be written again from the ledger at any time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from puoc.records import Params
from puoc.run.sweep.request import Sweep
from puoc.run.sweep.tpe import known_configs, replay
from puoc.store.ledger import Ledger

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

    from puoc.plan.search_spaces import Part

_LOG_RATIO = 100  # a range over more than two decades is shown on a logarithmic axis


def write_study(root: Path, sweep: Sweep) -> tuple[Path, int]:
    """Write ``work/study/<sweep>.log`` again; return its path and the number of configurations in it.

    The values are the AUCs of withheld P against withheld U, by which configurations are selected. The file contains
    no test AUC.
    """
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    path = root / "work" / "study" / f"{sweep.name}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    temporary.unlink(missing_ok=True)
    known = known_configs(sweep, Ledger(root / "ledger"))
    parts = sweep.parts if sweep.parts is not None else [_space_around([config.params for config in known])]
    n = replay(JournalStorage(JournalFileBackend(str(temporary))), parts, known, sweep.name)
    temporary.replace(path)
    return path, n


def _space_around(configs: list[Params]) -> Part:
    """Return a space that contains these configurations: the hyperparameters that vary, with numbers as ranges."""
    names = dict.fromkeys(name for config in configs for name in config)
    values = {name: [config.get(name) for config in configs] for name in names}
    return {
        name: _distribution(listed) for name, listed in values.items() if any(value != listed[0] for value in listed)
    }


def _distribution(values: list[JsonValue]) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if len(numbers) < len(values):
        choices = [
            value for value in values if not isinstance(value, (list, dict))
        ]  # Optuna accepts no lists or mappings
        return CategoricalDistribution(list(dict.fromkeys(choices)))
    low, high = min(numbers), max(numbers)
    log = low > 0 and high / low >= _LOG_RATIO
    if isinstance(low, int) and isinstance(high, int) and all(isinstance(value, int) for value in numbers):
        return IntDistribution(low, high, log=log)
    return FloatDistribution(low, high, log=log)
