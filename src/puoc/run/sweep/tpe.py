"""Search by Optuna's TPE: a space with parts as suggestions, and a study that is made again from the ledger."""

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
_PART = "part"  # which part of a space with several
_NEARLY = 1e-8  # of a step, as Optuna rounds
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


class Known(NamedTuple):
    """A configuration that the ledger answers wholly."""

    params: Params
    val: float


def suggest(trial: Trial, parts: list[Part]) -> None:
    """Suggest a part, and every hyperparameter of it under a name that no other part has."""
    chosen = trial.suggest_categorical(_PART, list(range(len(parts)))) if len(parts) > 1 else 0
    for name, distribution in parts[chosen].items():
        _suggest(trial, _name(name, chosen, parts), distribution)


def params_of(config: Params, sweep: Sweep) -> Params:
    """Hyperparameters of a suggestion, over those of the entry."""
    parts = sweep.parts or []
    chosen = int(str(config.get(_PART, 0)))
    values = {name: config[_name(name, chosen, parts)] for name in parts[chosen]}
    return normalise(sweep.method, sweep.configs[0].params | values)


def suggestion_of(params: Params, parts: list[Part]) -> tuple[Params, dict[str, BaseDistribution]] | None:
    """The suggestion that gives these hyperparameters, with its distributions; None where the space has them not."""
    from optuna.distributions import CategoricalDistribution

    for chosen, part in enumerate(parts):
        if all(_holds(distribution, params.get(name)) for name, distribution in part.items()):
            values = {_name(name, chosen, parts): params.get(name) for name in part}
            distributions = {_name(name, chosen, parts): distribution for name, distribution in part.items()}
            if len(parts) > 1:
                values[_PART] = chosen
                distributions[_PART] = CategoricalDistribution(list(range(len(parts))))
            return values, distributions
    return None


def answered(sweep: Sweep, ledger: Ledger) -> list[Known]:
    """Every configuration that the ledger answers wholly, by its name, whoever asked for it and in whatever space.

    Its fits are those of the sweep but for the hyperparameters.
    """
    wanted = {_apart(one.trial.fit.canonical())[1] for one in bind(sweep.of(sweep.configs[0].params))}
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for fit_id, record in _records_of(sweep.method, ledger):
        params, rest = _apart(record["result"]["fit"])
        if rest in wanted and record["result"].get("status") == "ok":
            val = _value(fit_id, record, ledger, sweep.plan.scoring_digest)
            if val is not None:
                values[params][rest] = val
    whole = {params: fmean(found.values()) for params, found in values.items() if len(found) == len(wanted)}
    return [Known(json.loads(params), val) for params, val in sorted(whole.items())]


def known(sweep: Sweep, ledger: Ledger) -> list[Known]:
    """What ``answered`` finds of the sweep's own: the configurations that it lists, and those in its space."""
    return [one for one in answered(sweep, ledger) if is_asked(sweep, one.params)]


def is_asked(sweep: Sweep, params: Params) -> bool:
    """Whether a sweep lists these hyperparameters, or may suggest them."""
    own = sweep.configs[0].params
    listed = any(params == config.params for config in sweep.configs)
    return listed or any(_gives(part, params, own) for part in sweep.parts or [])


def count(sweep: Sweep, found: list[Known]) -> int:
    """How many configurations of a sweep ``answered`` found.

    A rung is recorded as a configuration with fewer epochs, and is none of its own. Where rungs are all that there is,
    halving has stopped the configuration, which counts once.
    """
    own, parts = sweep.configs[0].params, sweep.parts or []
    listed = [_but_epochs(config.params) for config in sweep.configs]
    whole, stopped = Counter[str](), set[str]()
    for one in found:
        rest = _but_epochs(one.params)
        if one.params.get("epochs") in sweep.rungs:
            if rest in listed or any(_gives(part, one.params, own, _EPOCHS) for part in parts):
                stopped.add(content_id(rest))
        elif is_asked(sweep, one.params):
            whole[content_id(rest)] += 1
    return whole.total() + len(stopped - whole.keys())


def replay(storage: BaseStorage, parts: list[Part], found: list[Known], name: str = STUDY) -> int:
    """Make a study of what is known; how many configurations the space holds."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(storage=storage, study_name=name, direction="maximize", load_if_exists=True)
    n = 0
    for one in found:
        given = suggestion_of(one.params, parts)
        if given is not None and not isnan(one.val):
            n += 1
            attributes = {"config_id": content_id(one.params)[:8]}
            study.add_trial(
                optuna.trial.create_trial(params=given[0], distributions=given[1], value=one.val, user_attrs=attributes)
            )
    return n


def _value(fit_id: str, record: _RawRecord, ledger: Ledger, scoring: str) -> float | None:
    """AUC of the withheld rows by this scoring code: of the record, or of what was scored again."""
    if any(trial["scoring_digest"] == scoring for trial in record["trials"].values()):
        return record["result"].get("auc_val_pu")
    entry = ledger.get(fit_id)
    if entry is None:
        return None
    later = (*entry.trials.values(), *entry.rescored.values())
    return next((entry.auc_val_pu(trial) for trial in later if trial.scoring_digest == scoring), None)


def _records_of(method: str, ledger: Ledger) -> Iterator[tuple[str, _RawRecord]]:
    """Final records of a method as JSON by fit; others are told by their text alone, which is ten times as fast."""
    mark = f'"method": "{method}"'.encode()
    for folder in sorted(ledger.root.glob("[0-9a-f][0-9a-f]")):
        for path in sorted(folder.glob("*.json")):
            if "+" not in path.name and ".failed-" not in path.name and mark in (content := path.read_bytes()):
                record: _RawRecord = json.loads(content)
                if record["result"]["fit"]["method"] == method:
                    yield path.stem, record


def _apart(fit: JsonObject) -> tuple[str, str]:
    """A fit's hyperparameters as text, and the name of the rest of it."""
    rest = {key: value for key, value in fit.items() if key != "params"}
    return json.dumps(fit["params"], sort_keys=True), content_id(rest)


def _name(name: str, chosen: int, parts: list[Part]) -> str:
    return f"{name}_{chosen}" if len(parts) > 1 else name


def _but_epochs(params: Params) -> Params:
    return {name: value for name, value in params.items() if name not in _EPOCHS}


def _gives(part: Part, params: Params, own: Params, but: frozenset[str] = frozenset()) -> bool:
    """Whether a part's suggestion over an entry's own hyperparameters may give these, in all but some of them."""
    return all(
        _holds(part[name], params.get(name)) if name in part else params.get(name) == own.get(name)
        for name in (part.keys() | params.keys() | own.keys()) - but
    )


def _holds(distribution: BaseDistribution, value: JsonValue) -> bool:
    """Whether Optuna takes the value as one of the distribution, which it does not off a range's steps."""
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
    return bool(abs(steps - round(steps)) < _NEARLY)


def _suggest(trial: Trial, name: str, distribution: BaseDistribution) -> None:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(distribution, CategoricalDistribution):
        trial.suggest_categorical(name, distribution.choices)
    elif isinstance(distribution, FloatDistribution):
        trial.suggest_float(name, distribution.low, distribution.high, step=distribution.step, log=distribution.log)
    elif isinstance(distribution, IntDistribution):
        trial.suggest_int(name, distribution.low, distribution.high, step=distribution.step, log=distribution.log)
