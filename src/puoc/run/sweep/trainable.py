"""A Ray trial: one configuration with all its seeds. Its actor is used for configuration after configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ray import tune
from ray.tune.result import DONE

from puoc.methods import normalise
from puoc.records import Params
from puoc.run.sweep.evaluate import answer
from puoc.run.sweep.request import Sweep, epochs_of
from puoc.run.sweep.tpe import params_of
from puoc.store.plans import ComputeSpec

REFUSED, VALUE, USED, EPOCHS = "refused", "val", "gpu_used", "epochs"  # keys of a result


class Task(NamedTuple):
    """What all trials of a sweep share."""

    root: Path
    settings: ComputeSpec
    session: str
    sweep: Sweep
    listed: dict[str, Params]  # hyperparameters by the name of a configuration


class Configuration(tune.Trainable):  # type: ignore[misc]
    """Answers the configuration that it is given: named, or suggested by a search."""

    def setup(self, config: dict[str, Any], task: Task) -> None:
        """Called in a new actor."""
        import torch

        torch.set_num_threads(1)
        self._task = task
        self._begin(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Called in an actor that has answered another configuration before."""
        self._begin(new_config)
        return True

    def _begin(self, config: dict[str, Any]) -> None:
        task = self._task
        named = task.listed.get(config.get("config_id", ""))
        self._params = named if named is not None else params_of(config, task.sweep)
        epochs = epochs_of(self._params)  # 0: the method has none, and there is one step
        self._rungs = [*(rung for rung in task.sweep.rungs if rung < epochs), epochs]

    def step(self) -> dict[str, Any]:
        """Answer the configuration, or with successive halving its next rung: the same with fewer epochs."""
        task, epochs = self._task, self._rungs.pop(0)
        shorter = {"epochs": epochs} if epochs else {}
        params = normalise(task.sweep.method, self._params | shorter)
        try:
            found = answer(task.root, task.settings, task.session, task.sweep.of(params))
        except (
            OSError,
            ValueError,
        ) as error:  # no fault of this configuration: the storage, the data, a damaged record
            return {REFUSED: str(error), "is_storage": isinstance(error, OSError), VALUE: 0.0, EPOCHS: 1, DONE: True}
        result = {VALUE: found.val, EPOCHS: epochs or 1, USED: _used(task.settings.device)}
        return result | found._asdict() | {DONE: not self._rungs or found.failed > 0}


def _used(device: str) -> float:
    """Share of the GPU's memory that is in use now; 0 on a CPU."""
    if device == "cpu":
        return 0.0
    import torch

    free, total = torch.cuda.mem_get_info(torch.device(device))
    return 1 - free / total
