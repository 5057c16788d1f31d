"""Choice of the configuration that a table uses, without negative labels.

The criterion is the AUC between withheld labelled positives and withheld unlabelled rows. Its expectation is
``alpha / 2 + (1 - alpha) AUC``, so it ranks configurations as the true AUC does, up to its standard error, which is
printed. If no configuration beats the default, that of params.yaml, by a standard error, the default is kept. Columns
and file names call it published, which it is where it has the values that the paper prints.

A second criterion from the same values is reported, but decides nothing: the best mean rank over cells and seeds. One
cell with a wide range of AUCs cannot dominate it. If the two criteria choose different configurations, the choice is
close.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import fields
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from puoc.plan.bind import bind
from puoc.records import JsonObject, Params
from puoc.store.atomic import write_json
from puoc.store.checked_parquet import read_rows
from puoc.store.plan_files import CONFIGS, planned_sweep, planned_table, read_configs, sweep_names, table_names
from puoc.store.result_rows import ResultRow, ValidationRow


class Choice(NamedTuple):
    """The chosen configuration of a sweep, and how it compares with the published one."""

    config_id: str
    params: str  # JSON text
    is_published: bool
    val: float | None
    val_se: float | None  # standard error of the gain over the published configuration, paired, over seeds
    published_val: float | None
    source: str
    by_rank: str | None = None  # the configuration with the best mean rank
    by_rank_agrees: bool | None = None  # with the configuration of the best mean value, also if that was not chosen


def choose(rows: list[ValidationRow]) -> Choice:
    """Choose among the configurations of one sweep by its validation rows.

    Only configurations with a value for every cell and seed are compared. If the published one lacks a value, it is
    kept.
    """
    values: dict[str, dict[tuple[str, int], float]] = defaultdict(dict)
    configs: dict[str, ValidationRow] = {}
    keys = {(r.cell, r.seed) for r in rows}
    for r in rows:
        configs[r.config_id] = r
        if r.auc_val_pu is not None and r.status == "ok":
            values[r.config_id][r.cell, r.seed] = r.auc_val_pu
    complete = {config: by_key for config, by_key in values.items() if set(by_key) == keys}
    published = next(config for config, r in configs.items() if r.is_published)
    if published not in complete:  # no comparison is possible: the published one is kept, and the source has the reason
        n_values = f"{len(values[published])} of {len(keys)} validation values"
        source = f"default: it has {n_values} in the sweep, so no other could be compared with it"
        return Choice(published, configs[published].params, True, None, None, None, source)
    means = {config: fmean(by_key.values()) for config, by_key in complete.items()}
    best = max(means, key=lambda config: (means[config], config == published, config))
    gains = _by_seed({key: complete[best][key] - complete[published][key] for key in keys})
    error = stdev(gains) / sqrt(len(gains)) if len(gains) > 1 else None
    beats = best != published and error is not None and fmean(gains) > error
    chosen = best if beats else published
    by_rank = _best_by_rank(complete, published)
    return Choice(
        config_id=chosen,
        params=configs[chosen].params,
        is_published=chosen == published,
        val=means[chosen],
        val_se=error,
        published_val=means[published],
        source=_source(beats, len(complete), len(configs), means[best], means[published], error, configs[published]),
        by_rank=by_rank,
        by_rank_agrees=by_rank == best,
    )


def choice_of(rows: Sequence[ResultRow]) -> Choice:
    """Return the choice among all rows of a sweep, planned or not."""
    names = [field.name for field in fields(ValidationRow)]
    return choose([ValidationRow(**{name: getattr(row, name) for name in names}) for row in rows])


def in_words(choice: Choice, configs: Iterable[str]) -> str:
    """Return a choice in words: the hyperparameters in which the configurations of its sweep differ, and the reason.

    Parameters
    ----------
    configs : hyperparameters of these configurations, as JSON texts.
    """
    params: Params = json.loads(choice.params)
    others: list[Params] = [json.loads(text) for text in dict.fromkeys(configs)]
    named = {name: value for name, value in params.items() if any(other.get(name) != value for other in others)}
    shown = ", ".join(f"{name}={value}" for name, value in (named or params).items())
    return f"{shown} ({choice.source})"


def selected_in_words(root: Path) -> dict[str, str]:
    """Return the choice of each planned sweep in words, from the files that ``select`` wrote."""
    words = {}
    for sweep in sweep_names(root):
        choice = Choice(**json.loads((root / CONFIGS / "selected" / "sweeps" / f"{sweep}.json").read_text()))
        words[sweep] = in_words(choice, (json.dumps(config.params) for config in planned_sweep(root, sweep).configs))
    return words


def _best_by_rank(complete: dict[str, dict[tuple[str, int], float]], published: str) -> str:
    """Return the configuration with the best mean rank over cells and seeds; equal values share their mean rank."""
    from scipy.stats import rankdata

    names, keys = list(complete), sorted(complete[published])
    ranks = rankdata([[complete[config][key] for key in keys] for config in names], axis=0).mean(axis=1)
    mean_ranks = dict(zip(names, ranks.tolist(), strict=True))
    return max(names, key=lambda config: (mean_ranks[config], config == published, config))


def _by_seed(gains: dict[tuple[str, int], float]) -> list[float]:
    """Return the mean over the cells of each seed, the unit of replication; cells of one seed may share rows."""
    seeds = sorted({seed for _, seed in gains})
    return [fmean(gain for (_, gain_seed), gain in sorted(gains.items()) if gain_seed == seed) for seed in seeds]


def _source(
    beats: bool, n_complete: int, n_configs: int, best: float, published: float, se: float | None, row: ValidationRow
) -> str:
    """Describe the choice: the configuration, the criterion and the gain."""
    source = "selected_with_unlabelled" if row.kind == "oc" else "selected"
    gain = (
        f"{best - published:+.4f} (standard error {se:.4f})" if se is not None else f"{best - published:+.4f} (n = 1)"
    )
    among = f"{n_complete} of {n_configs} configurations"
    if best == published:  # there is no gain to report
        return f"default: the best of {among} by AUC of withheld P against withheld U ({published:.4f})"
    if beats:
        values = f"{best:.4f}, default {published:.4f}, gain {gain}"
        return f"{source} among {among} by AUC of withheld P against withheld U: {values}"
    return f"default: none of {among} beat its {published:.4f} by a standard error (best gain {gain})"


def _validation_rows(root: Path, sweep: str) -> list[ValidationRow]:
    """Return the validation rows of a planned sweep."""
    path = root / "results" / "tune" / "val" / f"{sweep}.parquet"
    if not path.exists():
        raise ValueError(f"{path} does not exist; expected the results of the sweep: run dvc repro tune@{sweep}")
    rows = read_rows(path, ValidationRow)
    if {row.trial_id for row in rows} != {planned.trial.id for planned in bind(planned_sweep(root, sweep))}:
        raise ValueError(f"{path}: got rows of an earlier plan; run dvc repro tune@{sweep}")
    return rows


def select(root: Path) -> list[Path]:
    """Write ``work/configs/selected/<table>.json`` for every table with ``configs: selected``.

    The choice of each sweep is written to ``sweeps/<entry>.json`` beside them, also if no table uses it.

    Raises
    ------
    ValueError : a planned sweep was not run, or its rows belong to an earlier plan.
    """
    choices = {sweep: choose(_validation_rows(root, sweep)) for sweep in sweep_names(root)}
    written: list[Path] = []
    folder = root / CONFIGS / "selected"
    folder.mkdir(parents=True, exist_ok=True)
    for plan in (planned_table(root, name) for name in table_names(root)):
        if plan.configs != "selected":
            continue
        path = folder / f"{plan.table}.json"
        configs: dict[str, JsonObject] = {}
        for entry, config in read_configs(root / CONFIGS / "published" / path.name).items():
            choice = choices.get(entry)
            if choice is None:
                untuned = config.model_copy(update={"source": f"{config.source} (default; not tuned)"})
                configs[entry] = untuned.to_json()
            else:
                configs[entry] = choice._asdict() | {"params": json.loads(choice.params)}
        write_json(path, configs)
        written.append(path)
    sweep_paths = [folder / "sweeps" / f"{entry}.json" for entry in choices]
    for path, choice in zip(sweep_paths, choices.values(), strict=True):
        write_json(path, choice._asdict())
    for path in folder.rglob("*.json"):
        if path not in written + sweep_paths:
            path.unlink()
    return written
