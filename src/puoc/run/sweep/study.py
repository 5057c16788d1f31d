"""The Optuna study of a sweep in a file: a view for optuna-dashboard, made again from the ledger at any time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from puoc.records import Params
from puoc.run.sweep.request import Sweep
from puoc.run.sweep.tpe import known, replay
from puoc.store.ledger import Ledger

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

    from puoc.plan.search_spaces import Part

_MANY = 100  # a range over more than two decades is shown on a logarithmic axis


def write_study(root: Path, sweep: Sweep) -> tuple[Path, int]:
    """Write ``work/study/<sweep>.log`` anew; the file and how many configurations are in it.

    Values are those that choosing sees: the AUC of withheld P against withheld U. No test AUC is in the file.
    """
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    path = root / "work" / "study" / f"{sweep.name}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    temporary.unlink(missing_ok=True)
    found = known(sweep, Ledger(root / "ledger"))
    parts = sweep.parts if sweep.parts is not None else [_around([one.params for one in found])]
    n = replay(JournalStorage(JournalFileBackend(str(temporary))), parts, found, sweep.name)
    temporary.replace(path)
    return path, n


def _around(configs: list[Params]) -> Part:
    """A space that holds listed configurations: what varies among them, numbers as ranges."""
    names = dict.fromkeys(name for config in configs for name in config)
    values = {name: [config.get(name) for config in configs] for name in names}
    return {name: _distribution(found) for name, found in values.items() if any(one != found[0] for one in found)}


def _distribution(values: list[JsonValue]) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if len(numbers) < len(values):
        choices = [value for value in values if not isinstance(value, (list, dict))]  # Optuna takes no others
        return CategoricalDistribution(list(dict.fromkeys(choices)))
    low, high = min(numbers), max(numbers)
    log = low > 0 and high / low >= _MANY
    if isinstance(low, int) and isinstance(high, int) and all(isinstance(value, int) for value in numbers):
        return IntDistribution(low, high, log=log)
    return FloatDistribution(low, high, log=log)
