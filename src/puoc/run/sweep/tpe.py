"""Search by Optuna's TPE: suggestions from a space with parts, and a study that is replayed from the ledger."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict

from pydantic import JsonValue

from puoc.methods import normalise
from puoc.plan.bind import bind
from puoc.records import JsonObject, Params, content_id
from puoc.run.sweep.request import Sweep
from puoc.store.ledger import Ledger

if TYPE_CHECKING:
    from optuna import Trial
    from optuna.distributions import BaseDistribution
    from optuna.storages import BaseStorage

    from puoc.plan.search_spaces import Part

STUDY = "puoc"
_PART = "part"  # name of the suggestion that chooses a part of the space
_STEP_TOLERANCE = 1e-8  # share of a step, as in Optuna
_EPOCHS = frozenset({"epochs"})


class _RawResult(TypedDict):
    fit: JsonObject
    status: NotRequired[str]
    auc_val_pu: NotRequired[float | None]


class _RawTrial(TypedDict):
    scoring_digest: str


class _RawRecord(TypedDict):
    """The part of a record's JSON that a search reads."""

    result: _RawResult
    trials: dict[str, _RawTrial]


class KnownConfig(NamedTuple):
    """A configuration whose fits are all in the ledger."""

    params: Params
    val: float


def suggest(trial: Trial, parts: list[Part]) -> None:
    """Suggest a part and each of its hyperparameters. With several parts, the names contain the part's number."""
    chosen = trial.suggest_categorical(_PART, list(range(len(parts)))) if len(parts) > 1 else 0
    for name, distribution in parts[chosen].items():
        _suggest(trial, _suggested_name(name, chosen, parts), distribution)


def params_of(config: Params, sweep: Sweep) -> Params:
    """Return the hyperparameters of a suggestion; the entry gives those that the space does not have."""
    parts = sweep.parts or []
    chosen = int(str(config.get(_PART, 0)))
    values = {name: config[_suggested_name(name, chosen, parts)] for name in parts[chosen]}
    return normalise(sweep.method, sweep.configs[0].params | values)


def suggestion_of(params: Params, parts: list[Part]) -> tuple[Params, dict[str, BaseDistribution]] | None:
    """Return the suggestion for these hyperparameters and its distributions; None if they are outside the space."""
    from optuna.distributions import CategoricalDistribution

    for chosen, part in enumerate(parts):
        if all(_contains(distribution, params.get(name)) for name, distribution in part.items()):
            values = {_suggested_name(name, chosen, parts): params.get(name) for name in part}
            distributions = {_suggested_name(name, chosen, parts): distribution for name, distribution in part.items()}
            if len(parts) > 1:
                values[_PART] = chosen
                distributions[_PART] = CategoricalDistribution(list(range(len(parts))))
            return values, distributions
    return None


def evaluated_configs(sweep: Sweep, ledger: Ledger) -> list[KnownConfig]:
    """Return every configuration whose fits are all in the ledger, sorted; any sweep or table may have computed it.

    Its fits equal those of the sweep in everything but the hyperparameters.
    """
    planned_trials = bind(sweep.plan_of(sweep.configs[0].params))
    expected = {_split_params(planned.trial.fit.canonical())[1] for planned in planned_trials}
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for fit_id, record in _records_of(sweep.method, ledger):
        params, rest = _split_params(record["result"]["fit"])
        if rest in expected and record["result"].get("status") == "ok":
            val = _auc_val_pu(fit_id, record, ledger, sweep.plan.scoring_digest)
            if val is not None:
                values[params][rest] = val
    means = {params: fmean(vals.values()) for params, vals in values.items() if len(vals) == len(expected)}
    return [KnownConfig(json.loads(params), val) for params, val in sorted(means.items())]


def known_configs(sweep: Sweep, ledger: Ledger) -> list[KnownConfig]:
    """Return the evaluated configurations that the sweep lists or that lie in its space."""
    return [config for config in evaluated_configs(sweep, ledger) if is_in_sweep(sweep, config.params)]


def is_in_sweep(sweep: Sweep, params: Params) -> bool:
    """Check whether a sweep lists these hyperparameters or may suggest them."""
    entry_params = sweep.configs[0].params
    listed = any(params == config.params for config in sweep.configs)
    return listed or any(_can_suggest(part, params, entry_params) for part in sweep.parts or [])


def count_configs(sweep: Sweep, known: list[KnownConfig]) -> int:
    """Count the configurations of a sweep among known ones.

    A rung of successive halving is recorded as a configuration with fewer epochs, and is not counted. If only rungs of
    a configuration are known, halving has stopped it, and it counts once.
    """
    entry_params, parts = sweep.configs[0].params, sweep.parts or []
    listed = [_without_epochs(config.params) for config in sweep.configs]
    whole, stopped = Counter[str](), set[str]()
    for config in known:
        rest = _without_epochs(config.params)
        if config.params.get("epochs") in sweep.rungs:
            if rest in listed or any(_can_suggest(part, config.params, entry_params, _EPOCHS) for part in parts):
                stopped.add(content_id(rest))
        elif is_in_sweep(sweep, config.params):
            whole[content_id(rest)] += 1
    return whole.total() + len(stopped - whole.keys())


def replay(storage: BaseStorage, parts: list[Part], known: list[KnownConfig], name: str = STUDY) -> int:
    """Create a study from known configurations; return the number of those in the space."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(storage=storage, study_name=name, direction="maximize", load_if_exists=True)
    n = 0
    for config in known:
        suggestion = suggestion_of(config.params, parts)
        if suggestion is not None and not isnan(config.val):
            n += 1
            values, distributions = suggestion
            attributes = {"config_id": content_id(config.params)[:8]}
            study.add_trial(
                optuna.trial.create_trial(
                    params=values, distributions=distributions, value=config.val, user_attrs=attributes
                )
            )
    return n


def _auc_val_pu(fit_id: str, record: _RawRecord, ledger: Ledger, scoring: str) -> float | None:
    """Return the AUC of the withheld rows by this scoring code, from the record or from a later scoring."""
    if any(trial["scoring_digest"] == scoring for trial in record["trials"].values()):
        return record["result"].get("auc_val_pu")
    entry = ledger.get(fit_id)
    if entry is None:
        return None
    later = (*entry.trials.values(), *entry.rescored.values())
    return next((entry.auc_val_pu(trial) for trial in later if trial.scoring_digest == scoring), None)


def _records_of(method: str, ledger: Ledger) -> Iterator[tuple[str, _RawRecord]]:
    """Yield the final records of a method as JSON with their fit ids.

    Records of other methods are recognised by their bytes, which is ten times as fast as parsing them.
    """
    method_bytes = f'"method": "{method}"'.encode()
    for folder in sorted(ledger.root.glob("[0-9a-f][0-9a-f]")):
        for path in sorted(folder.glob("*.json")):
            if "+" not in path.name and ".failed-" not in path.name and method_bytes in (content := path.read_bytes()):
                record: _RawRecord = json.loads(content)
                if record["result"]["fit"]["method"] == method:
                    yield path.stem, record


def _split_params(fit: JsonObject) -> tuple[str, str]:
    """Return a fit's hyperparameters as text, and the id of its other fields."""
    rest = {key: value for key, value in fit.items() if key != "params"}
    return json.dumps(fit["params"], sort_keys=True), content_id(rest)


def _suggested_name(name: str, chosen: int, parts: list[Part]) -> str:
    return f"{name}_{chosen}" if len(parts) > 1 else name


def _without_epochs(params: Params) -> Params:
    return {name: value for name, value in params.items() if name not in _EPOCHS}


def _can_suggest(part: Part, params: Params, entry_params: Params, ignored: frozenset[str] = frozenset()) -> bool:
    """Check whether a part can suggest these hyperparameters, with those of the entry for names it does not have."""
    return all(
        _contains(part[name], params.get(name)) if name in part else params.get(name) == entry_params.get(name)
        for name in (part.keys() | params.keys() | entry_params.keys()) - ignored
    )


def _contains(distribution: BaseDistribution, value: JsonValue) -> bool:
    """Check whether the distribution contains the value; values between the steps of a range are outside."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(distribution, CategoricalDistribution):
        return value in distribution.choices
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    if not distribution.low <= value <= distribution.high:
        return False
    if isinstance(distribution, IntDistribution):
        return bool((value - distribution.low) % distribution.step == 0)
    steps = (value - distribution.low) / distribution.step if distribution.step else 0.0
    return bool(abs(steps - round(steps)) < _STEP_TOLERANCE)


def _suggest(trial: Trial, name: str, distribution: BaseDistribution) -> None:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(distribution, CategoricalDistribution):
        trial.suggest_categorical(name, distribution.choices)
    elif isinstance(distribution, FloatDistribution):
        trial.suggest_float(name, distribution.low, distribution.high, step=distribution.step, log=distribution.log)
    elif isinstance(distribution, IntDistribution):
        trial.suggest_int(name, distribution.low, distribution.high, step=distribution.step, log=distribution.log)
