"""A Ray trial: one configuration with all its seeds. Ray reuses its actor for further configurations."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple, TypedDict

from ray import tune

from puoc.methods import normalise
from puoc.records import Params
from puoc.run.sweep.evaluate import compute_config
from puoc.run.sweep.ray_nodes import joined_node_faults
from puoc.run.sweep.request import Sweep, epochs_of
from puoc.run.sweep.tpe import params_of
from puoc.store.plans import ComputeSpec

_REMOVE_NODE = "; end Ray on this node or repair it, then give the same command again, which continues the sweep"

REFUSED: Final = "refused"  # these four are keys of StepResult
VALUE: Final = "val"
USED: Final = "gpu_used"
EPOCHS: Final = "epochs"


class StepResult(TypedDict, total=False):
    """Result of a step, which Ray Tune receives."""

    val: float
    epochs: int
    gpu_used: float
    ok: int
    known: int
    failed: int
    refused: str  # reason why no configuration can be computed
    is_storage: bool  # whether the storage is the reason
    done: bool  # the key that ends a Ray trial


class Task(NamedTuple):
    """Data that all trials of a sweep share."""

    root: Path
    settings: ComputeSpec
    session: str
    sweep: Sweep
    listed: dict[str, Params]  # hyperparameters by the id of a configuration
    marker: Path  # a file of this sweep in the folder that all nodes share
    versions: dict[str, str]  # of the process of the sweep


class Configuration(tune.Trainable):  # type: ignore[misc]
    """Computes one configuration, which is listed in the plan or suggested by a search."""

    def setup(self, config: Params, task: Task) -> None:
        """Prepare a new actor for its first configuration."""
        import torch

        torch.set_num_threads(1)
        self._task = task
        self._node_faults = joined_node_faults(task.marker, task.versions)
        self._begin(config)

    def reset_config(self, new_config: Params) -> bool:
        """Prepare an actor for its next configuration."""
        self._begin(new_config)
        return True

    def _begin(self, config: Params) -> None:
        task = self._task
        listed = task.listed.get(str(config.get("config_id", "")))
        self._params = listed if listed is not None else params_of(config, task.sweep)
        epochs = epochs_of(self._params)  # 0: the method has no epochs, and there is one step
        self._rungs = [*(rung for rung in task.sweep.rungs if rung < epochs), epochs]

    def step(self) -> StepResult:
        """Compute the configuration, or with successive halving its next rung, which has fewer epochs."""
        if self._node_faults:  # a node that joined after the checks
            return _refused("; ".join(self._node_faults) + _REMOVE_NODE, is_storage=False)
        task, epochs = self._task, self._rungs.pop(0)
        shorter = {"epochs": epochs} if epochs else {}
        params = normalise(task.sweep.method, self._params | shorter)
        try:
            outcome = compute_config(task.root, task.settings, task.session, task.sweep.plan_of(params))
        except (OSError, ValueError) as error:
            # the cause is the storage, the data or a damaged record, not this configuration
            return _refused(str(error), is_storage=isinstance(error, OSError))
        return {
            VALUE: outcome.val,
            EPOCHS: epochs or 1,
            USED: _used(task.settings.device),
            "ok": outcome.ok,
            "known": outcome.known,
            "failed": outcome.failed,
            "done": not self._rungs or outcome.failed > 0,
        }


def _refused(reason: str, *, is_storage: bool) -> StepResult:
    """Return the result of a step that stops the sweep."""
    return {REFUSED: reason, "is_storage": is_storage, VALUE: 0.0, EPOCHS: 1, "done": True}


def _used(device: str) -> float:
    """Return the share of the GPU's memory that is in use now; 0 on a CPU."""
    if device == "cpu":
        return 0.0
    import torch

    free, total = torch.cuda.mem_get_info(torch.device(device))
    return 1 - free / total
