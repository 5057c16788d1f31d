"""Which configuration a table uses, chosen without a single negative label.

The criterion is the AUC between withheld labelled positives and withheld unlabelled rows. In expectation it is
``alpha / 2 + (1 - alpha) AUC``, so it ranks configurations as the true AUC does, where it can see: its standard error
is printed, and where no configuration beats the published one by a standard error, the published one stays.

A second criterion from the same values stands beside it and decides nothing: the best mean rank over cells and seeds,
which one cell with a wide range of AUCs cannot carry. Where the two name different configurations, the choice is close.
"""

from __future__ import annotations

from collections import defaultdict
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from puoc.plan.bind import bind
from puoc.records import JsonObject
from puoc.store.atomic import write_json
from puoc.store.checked_parquet import read_rows
from puoc.store.plan_files import CONFIGS, planned_sweep, planned_table, read_configs, sweep_names, table_names
from puoc.store.result_rows import ValidationRow


class Choice(NamedTuple):
    """The chosen configuration of a sweep, and how it compares with the published one."""

    config_id: str
    params: str  # JSON text
    is_published: bool
    val: float | None
    val_se: float | None  # standard error of the gain over the published configuration, paired, over seeds
    published_val: float | None
    source: str
    by_rank: str | None = None  # the configuration that the second criterion names
    by_rank_agrees: bool | None = None  # with the best by mean value, whether or not that was chosen


def choose(rows: list[ValidationRow]) -> Choice:
    """Choose among the configurations of one sweep by its validation rows.

    Only configurations with a value for every cell and seed are compared; where the published one has not, it stays.
    """
    values: dict[str, dict[tuple[str, int], float]] = defaultdict(dict)
    configs: dict[str, ValidationRow] = {}
    asked = {(r.cell, r.seed) for r in rows}
    for r in rows:
        configs[r.config_id] = r
        if r.auc_val_pu is not None and r.status == "ok":
            values[r.config_id][r.cell, r.seed] = r.auc_val_pu
    complete = {config: found for config, found in values.items() if set(found) == asked}
    published = next(config for config, r in configs.items() if r.is_published)
    if published not in complete:  # nothing to compare with: the published one stays, and the row says so
        have = f"{len(values[published])} of {len(asked)} validation values"
        source = f"published: it has {have} in the sweep, so no other could be compared with it"
        return Choice(published, configs[published].params, True, None, None, None, source)
    means = {config: fmean(found.values()) for config, found in complete.items()}
    best = max(means, key=lambda config: (means[config], config == published, config))
    gains = _by_seed({key: complete[best][key] - complete[published][key] for key in asked})
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
        source=_words(beats, len(complete), len(configs), means[best], means[published], error, configs[published]),
        by_rank=by_rank,
        by_rank_agrees=by_rank == best,
    )


def _best_by_rank(complete: dict[str, dict[tuple[str, int], float]], published: str) -> str:
    """The configuration with the best mean rank over cells and seeds; equal values share their ranks' mean."""
    from scipy.stats import rankdata

    names, keys = list(complete), sorted(complete[published])
    ranks = rankdata([[complete[config][key] for key in keys] for config in names], axis=0).mean(axis=1)
    mean_ranks = dict(zip(names, ranks.tolist(), strict=True))
    return max(names, key=lambda config: (mean_ranks[config], config == published, config))


def _by_seed(gains: dict[tuple[str, int], float]) -> list[float]:
    """Means over the cells: seeds are the unit of replication, the cells of one seed may share rows."""
    seeds = sorted({seed for _, seed in gains})
    return [fmean(gain for (_, of), gain in sorted(gains.items()) if of == seed) for seed in seeds]


def _words(
    beats: bool, complete: int, asked: int, best: float, published: float, se: float | None, row: ValidationRow
) -> str:
    how = "selected_with_unlabelled" if row.kind == "oc" else "selected"
    gain = (
        f"{best - published:+.4f} (standard error {se:.4f})" if se is not None else f"{best - published:+.4f} (n = 1)"
    )
    among = f"{complete} of {asked} configurations"
    if best == published:  # no gain to report: nothing was above it
        return f"published: the best of {among} by AUC of withheld P against withheld U ({published:.4f})"
    if beats:
        found = f"{best:.4f}, published {published:.4f}, gain {gain}"
        return f"{how} among {among} by AUC of withheld P against withheld U: {found}"
    return f"published: none of {among} beat its {published:.4f} by a standard error (best gain {gain})"


def _tuned(root: Path, sweep: str) -> list[ValidationRow]:
    """Return the validation rows of a planned sweep."""
    path = root / "results" / "tune" / "val" / f"{sweep}.parquet"
    if not path.exists():
        raise ValueError(f"{path} does not exist; the sweep writes it: run dvc repro tune@{sweep}")
    rows = read_rows(path, ValidationRow)
    if {row.trial_id for row in rows} != {planned.trial.id for planned in bind(planned_sweep(root, sweep))}:
        raise ValueError(f"{path} answers an earlier plan; run dvc repro tune@{sweep}")
    return rows


def select(root: Path) -> list[Path]:
    """Write ``work/configs/selected/<table>.json`` for every table that asks for selected configurations.

    What each sweep comes to stands in ``sweeps/<entry>.json`` beside them, whether or not a table uses it.

    Raises
    ------
    ValueError : a planned sweep was not run, or its rows answer an earlier plan.
    """
    import json

    choices = {sweep: choose(_tuned(root, sweep)) for sweep in sweep_names(root)}
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
                untuned = config.model_copy(update={"source": f"{config.source} (published; not tuned)"})
                configs[entry] = untuned.to_json()
            else:
                configs[entry] = choice._asdict() | {"params": json.loads(choice.params)}
        write_json(path, configs)
        written.append(path)
    of_sweeps = [folder / "sweeps" / f"{entry}.json" for entry in choices]
    for path, choice in zip(of_sweeps, choices.values(), strict=True):
        write_json(path, choice._asdict())
    for path in folder.rglob("*.json"):
        if path not in written + of_sweeps:
            path.unlink()
    return written
