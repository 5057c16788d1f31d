"""A Ray trial: one configuration with all its seeds. Its actor is used for configuration after configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple, TypedDict

from ray import tune

from puoc.methods import normalise
from puoc.records import Params
from puoc.run.sweep.evaluate import answer
from puoc.run.sweep.request import Sweep, epochs_of
from puoc.run.sweep.tpe import params_of
from puoc.store.plans import ComputeSpec

REFUSED: Final = "refused"  # these four are keys of a result
VALUE: Final = "val"
USED: Final = "gpu_used"
EPOCHS: Final = "epochs"


class StepResult(TypedDict, total=False):
    """What a step reports to Ray Tune."""

    val: float
    epochs: int
    gpu_used: float
    ok: int
    known: int
    failed: int
    refused: str  # why no configuration can be computed
    is_storage: bool  # whether that is because of the storage
    done: bool  # the key that ends a Ray trial


class Task(NamedTuple):
    """What all trials of a sweep share."""

    root: Path
    settings: ComputeSpec
    session: str
    sweep: Sweep
    listed: dict[str, Params]  # hyperparameters by the name of a configuration


class Configuration(tune.Trainable):  # type: ignore[misc]
    """Answers the configuration that it is given: named, or suggested by a search."""

    def setup(self, config: Params, task: Task) -> None:
        """Called in a new actor."""
        import torch

        torch.set_num_threads(1)
        self._task = task
        self._begin(config)

    def reset_config(self, new_config: Params) -> bool:
        """Called in an actor that has answered another configuration before."""
        self._begin(new_config)
        return True

    def _begin(self, config: Params) -> None:
        task = self._task
        named = task.listed.get(str(config.get("config_id", "")))
        self._params = named if named is not None else params_of(config, task.sweep)
        epochs = epochs_of(self._params)  # 0: the method has none, and there is one step
        self._rungs = [*(rung for rung in task.sweep.rungs if rung < epochs), epochs]

    def step(self) -> StepResult:
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
            is_storage = isinstance(error, OSError)
            return {REFUSED: str(error), "is_storage": is_storage, VALUE: 0.0, EPOCHS: 1, "done": True}
        return {
            VALUE: found.val,
            EPOCHS: epochs or 1,
            USED: _used(task.settings.device),
            "ok": found.ok,
            "known": found.known,
            "failed": found.failed,
            "done": not self._rungs or found.failed > 0,
        }


def _used(device: str) -> float:
    """Share of the GPU's memory that is in use now; 0 on a CPU."""
    if device == "cpu":
        return 0.0
    import torch

    free, total = torch.cuda.mem_get_info(torch.device(device))
    return 1 - free / total
