"""Results as one long table: a row per planned trial, whether it has a result or not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from puoc.plan.bind import PlannedTrial
from puoc.records import Encoding, TrialResult
from puoc.scenarios import sample_and_test
from puoc.store.ledger import Entry, Ledger
from puoc.store.plans import Config, SweepPlan, TablePlan
from puoc.store.published import origins
from puoc.store.result_rows import ResultRow


def collect(plan: TablePlan | SweepPlan, asked: Iterable[PlannedTrial], ledger: Ledger) -> list[ResultRow]:
    """One row per asked trial; a trial without a record has the status ``missing``."""
    entries: dict[str, Entry | None] = {}
    imported, rows = origins(ledger), []
    for one in asked:
        fit_id = one.trial.fit.id
        if fit_id not in entries:
            entries[fit_id] = ledger.get(fit_id)
        found = row(plan, one, entries[fit_id])
        rows.append(replace(found, imported_from=imported[fit_id]) if fit_id in imported else found)
    return rows


def row(plan: TablePlan | SweepPlan, asked: PlannedTrial, entry: Entry | None) -> ResultRow:
    """The row of one trial, from its question and what the ledger holds of its fit."""
    trial, fit, member = asked.trial, asked.trial.fit, plan.entries_by_name[asked.entry]
    config = asked.config
    # with U, which the sample of an OC fit does not have
    sample, _ = sample_and_test(asked.cell, asked.seed, plan.dataset, plan.data_digest)
    unknown = sample.unknown_u
    encoder, prior = fit.encoder_fit(), fit.prior_fit()
    found = ResultRow(
        table=plan.table,
        scenario=plan.scenario,
        dataset=plan.dataset,
        entry=asked.entry,
        method=member.method,
        kind=member.kind,
        twin=member.twin,
        labels=member.labels,
        configs=plan.configs if isinstance(plan, TablePlan) else "sweep",
        config_source=config.source if isinstance(config, Config) else None,
        config_id=config.config_id,
        is_published=config.is_published,
        params=json.dumps(fit.params, sort_keys=True),
        numerics=member.numerics,
        encoder=_in_words(fit.encoder),
        prior=fit.prior.kind if fit.prior else None,
        cell=asked.cell.name,
        cell_index=asked.cell_index,
        seed=asked.seed,
        pos=json.dumps(sample.pos),
        neg=None if unknown else json.dumps(sample.neg),
        neg_test=json.dumps(trial.test.neg) if trial.test.neg or not unknown else None,
        n_pos_lab=sample.n_pos_lab,
        n_pos_unl=None if unknown else sample.n_pos_unl,
        n_neg_unl=None if unknown else sample.n_neg_unl,
        n_unl=sample.n_neg_unl if unknown else None,
        alpha=sample.alpha,
        prior_alpha=None,
        alpha_hat=None,
        status="missing",
        reason=None,
        attempts=0,
        auc_val_pu=None,
        fit_seconds=None,
        peak_memory=None,
        n_lanes=None,
        lane_map=None,
        device=None,
        torch_version=None,
        fit_id=fit.id,
        trial_id=trial.id,
        encoder_fit_id=encoder.id if encoder else None,
        prior_fit_id=prior.id if prior else None,
        code_digest=member.code_digest,
        draw_digest=plan.draw_digest,
        scoring_digest=plan.scoring_digest,
        marks="; ".join(plan.warnings) or None,
    )
    if entry is None:
        return found
    # a score by other code than the plan's is left out: the next run scores the trial again
    return with_record(found, entry, entry.scored(trial.id, plan.scoring_digest))


def _in_words(encoder: str | Encoding | None) -> str | None:
    if not isinstance(encoder, Encoding):
        return encoder
    if encoder.ae_data is None:
        values = (
            "+".join(map(str, value)) if isinstance(value, list) else str(value) for value in encoder.params.values()
        )
        return " ".join([encoder.name, *values])
    return encoder.name if encoder.ae_data == "labelled_positives" else f"{encoder.name} of {encoder.ae_data}"


def with_record(found: ResultRow, entry: Entry, scored: TrialResult | None) -> ResultRow:
    """Return the row with the columns of a record filled in; without a score an ok fit is missing."""
    result = entry.result
    adopted_from = (result.adopted or {}).get("from")
    found = replace(
        found,
        prior_alpha=result.alpha,
        alpha_hat=result.alpha_hat,
        status=result.status if scored or result.status != "ok" else "missing",
        reason=result.reason,
        attempts=result.attempts,
        fit_seconds=result.fit_seconds,
        peak_memory=result.peak_memory,
        n_lanes=result.n_lanes,
        lane_map=result.lane_map,
        device=result.device,
        torch_version=result.versions.get("torch"),
        adopted_from=str(adopted_from) if adopted_from is not None else None,
    )
    if scored is None:
        return found
    return replace(
        found,
        auc=scored.auc,
        auc_train_pool=scored.auc_train_pool,
        auc_val_pu=entry.auc_val_pu(scored),
        scoring_digest=scored.scoring_digest,
    )
