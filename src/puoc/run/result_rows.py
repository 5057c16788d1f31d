"""Results as one long table: a row per asked trial, whether it was answered or not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from puoc.plan.bind import PlannedTrial
from puoc.records import Encoding
from puoc.scenarios import sample_and_test
from puoc.store import checked_parquet as resultfiles
from puoc.store.atomic import write_bytes
from puoc.store.checked_parquet import FROM_LEDGER, to_parquet
from puoc.store.ledger import Entry, Ledger
from puoc.store.plans import Config, SweepPlan, TablePlan

Row = dict[str, Any]

#: Columns of a table's rows, in their order, with the Arrow type of each.
COLUMNS = {
    "table": "string",
    "scenario": "string",
    "dataset": "string",
    "entry": "string",
    "method": "string",
    "kind": "string",
    "twin": "string",
    "labels": "string",
    "configs": "string",
    "config_source": "string",
    "config_id": "string",
    "is_published": "bool",
    "params": "string",
    "numerics": "string",
    "encoder": "string",
    "prior": "string",
    "cell": "string",
    "cell_index": "int64",
    "seed": "int64",
    "pos": "string",
    "neg": "string",
    "neg_test": "string",
    "n_pos_lab": "int64",
    "n_pos_unl": "int64",
    "n_neg_unl": "int64",
    "n_unl": "int64",  # unlabelled rows where nobody knows their classes; the two before it are absent then
    "alpha": "double",
    "prior_alpha": "double",
    "alpha_hat": "double",
    "status": "string",
    "reason": "string",
    "attempts": "int64",
    "auc": "double",
    "auc_train_pool": "double",
    "auc_val_pu": "double",
    "fit_seconds": "double",
    "peak_memory": "int64",
    "n_lanes": "int64",
    "lane_map": "string",
    "device": "string",
    "torch_version": "string",
    "fit_id": "string",
    "trial_id": "string",
    "encoder_fit_id": "string",
    "prior_fit_id": "string",
    "code_digest": "string",
    "draw_digest": "string",
    "scoring_digest": "string",
    "adopted_from": "string",  # the fit with other digests whose record answers for this one
    "marks": "string",  # what a reader of the numbers must know: overlap of test and training that was allowed
}

#: A sweep's validation rows lack what test labels decided, so that choosing cannot see it.
TEST_COLUMNS = ("auc", "auc_train_pool")
TEST_KEYS = ("entry", "config_id", "cell", "seed", "fit_id", "trial_id")
#: What whoever asks how a row came out has to find in it.
OUTCOME = (*TEST_KEYS, "status", "reason", "attempts", "scoring_digest")
#: What a sweep's rows are chosen by.
CRITERION = (*OUTCOME, "auc_val_pu", "is_published", "params", "kind")


def collect(plan: TablePlan | SweepPlan, asked: Iterable[PlannedTrial], ledger: Ledger) -> list[Row]:
    """One row per asked trial; a trial without a record has the status ``missing``."""
    entries: dict[str, Entry | None] = {}
    rows = []
    for one in asked:
        fit_id = one.trial.fit.id
        if fit_id not in entries:
            entries[fit_id] = ledger.get(fit_id)
        rows.append(row(plan, one, entries[fit_id]))
    return rows


def row(plan: TablePlan | SweepPlan, asked: PlannedTrial, entry: Entry | None) -> Row:
    """The row of one trial, from its question and what the ledger holds of its fit."""
    trial, fit, member = asked.trial, asked.trial.fit, plan.entries_by_name[asked.entry]
    config = asked.config
    sample, _ = sample_and_test(asked.cell, asked.seed, plan.dataset, plan.data_digest)  # an OC fit's has no U
    found: Row = dict.fromkeys(COLUMNS)
    found |= {
        "table": plan.table,
        "scenario": plan.scenario,
        "dataset": plan.dataset,
        "entry": asked.entry,
        **{key: getattr(member, key) for key in ("method", "kind", "twin", "labels", "numerics", "code_digest")},
        "encoder": _in_words(fit.encoder),
        "prior": fit.prior.kind if fit.prior else None,
        "configs": plan.configs if isinstance(plan, TablePlan) else "sweep",
        "config_source": config.source if isinstance(config, Config) else None,
        "config_id": config.config_id,
        "is_published": config.is_published,
        "params": json.dumps(fit.params, sort_keys=True),
        "cell": asked.cell.name,
        "cell_index": asked.cell_index,
        "seed": asked.seed,
        "pos": json.dumps(sample.pos),
        "neg": json.dumps(sample.neg),
        "neg_test": json.dumps(trial.test.neg),
        **{key: getattr(sample, key) for key in ("n_pos_lab", "n_pos_unl", "n_neg_unl", "alpha")},
        "status": "missing",
        "attempts": 0,
        "fit_id": fit.id,
        "trial_id": trial.id,
        "encoder_fit_id": encoder.id if (encoder := fit.encoder_fit()) else None,
        "prior_fit_id": prior.id if (prior := fit.prior_fit()) else None,
        "draw_digest": plan.draw_digest,
        "scoring_digest": plan.scoring_digest,
        "marks": "; ".join(plan.warnings) or None,
    }
    if sample.unknown_u:
        found |= {"neg": None, "n_pos_unl": None, "n_neg_unl": None, "n_unl": sample.n_neg_unl}
        found["neg_test"] = found["neg_test"] if trial.test.neg else None
    return found if entry is None else found | _answered(trial.id, entry, plan.scoring_digest)


def _in_words(encoder: str | Encoding | None) -> str | None:
    if not isinstance(encoder, Encoding):
        return encoder
    if encoder.ae_data is None:
        values = (
            "+".join(map(str, value)) if isinstance(value, list) else str(value) for value in encoder.params.values()
        )
        return " ".join([encoder.name, *values])
    return encoder.name if encoder.ae_data == "labelled_positives" else f"{encoder.name} of {encoder.ae_data}"


def _answered(trial_id: str, entry: Entry, scoring: str) -> Row:
    """What a record says of a trial. A score by other code than the plan's is none: it is made again."""
    result, scored = entry.result, entry.scored(trial_id, scoring)
    found: Row = {
        "status": result.status if scored or result.status != "ok" else "missing",
        "prior_alpha": result.alpha,
        "torch_version": result.versions.get("torch"),
        "adopted_from": (result.adopted or {}).get("from"),
        **{
            key: getattr(result, key)
            for key in (
                "reason",
                "attempts",
                "alpha_hat",
                "fit_seconds",
                "peak_memory",
                "n_lanes",
                "lane_map",
                "device",
            )
        },
    }
    if scored:
        found["auc_val_pu"] = entry.auc_val_pu(scored)
        found |= {key: getattr(scored, key) for key in ("auc", "auc_train_pool", "scoring_digest")}
    return found


def write_rows(path: Path, rows: Sequence[Row], columns: Iterable[str] = COLUMNS) -> None:
    """Write rows as parquet, whole or not at all."""
    import pyarrow as pa

    schema = pa.schema([(name, _arrow(COLUMNS[name])) for name in columns])
    table = pa.Table.from_pylist([{name: r[name] for name in schema.names} for r in rows], schema=schema)
    write_bytes(path, to_parquet(table))


def read_rows(path: Path, columns: Iterable[str] = TEST_KEYS, again: str = FROM_LEDGER) -> list[Row]:
    """Rows of a parquet file written by ``write_rows``. Parameters and errors as ``resultfiles.read_rows``."""
    return resultfiles.read_rows(path, columns, again)


def _arrow(name: str) -> Any:
    import pyarrow as pa

    return pa.bool_() if name == "bool" else pa.float64() if name == "double" else pa.type_for_alias(name)
