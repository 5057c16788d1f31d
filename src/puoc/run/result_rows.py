"""Results as one long table: a row per planned trial, whether it has a result or not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from puoc.plan.bind import PlannedTrial
from puoc.records import Encoding, TrialResult
from puoc.run.stored_metrics import as_text, stored_test_metrics, stored_withheld_metrics
from puoc.scenarios import sample_and_test
from puoc.store.ledger import Ledger
from puoc.store.ledger_records import Entry
from puoc.store.plans import Config, SweepPlan, TablePlan
from puoc.store.result_rows import ResultRow


def collect(
    plan: TablePlan | SweepPlan, trials: Iterable[PlannedTrial], ledger: Ledger, *, with_metrics: bool = True
) -> list[ResultRow]:
    """Return one row per planned trial; a trial without a record has the status ``missing``.

    Parameters
    ----------
    with_metrics : also compute the metrics, which reads the scores of every trial.
    """
    entries: dict[str, Entry | None] = {}
    rows = []
    for planned in trials:
        fit_id = planned.trial.fit.id
        if fit_id not in entries:
            entries[fit_id] = ledger.get(fit_id)
        rows.append(row(plan, planned, entries[fit_id], ledger if with_metrics else None))
    return rows


def row(plan: TablePlan | SweepPlan, planned: PlannedTrial, entry: Entry | None, ledger: Ledger | None) -> ResultRow:
    """Return the row of a planned trial, from its plan and the record of its fit.

    Parameters
    ----------
    ledger : has the scores, from which the metrics are computed; None leaves the metrics empty.
    """
    trial, fit, entry_plan = planned.trial, planned.trial.fit, plan.entries_by_name[planned.entry]
    config = planned.config
    # with U, which the sample of an OC fit does not have
    sample, _ = sample_and_test(planned.cell, planned.seed, plan.dataset, plan.data_digest)
    classes_of_u_unknown = sample.unknown_u
    encoder, prior = fit.encoder_fit(), fit.prior_fit()
    unrecorded = ResultRow(
        table=plan.table,
        scenario=plan.scenario,
        dataset=plan.dataset,
        entry=planned.entry,
        method=entry_plan.method,
        kind=entry_plan.kind,
        twin=entry_plan.twin,
        labels=entry_plan.labels,
        configs=plan.configs if isinstance(plan, TablePlan) else "sweep",
        config_source=config.source if isinstance(config, Config) else None,
        config_id=config.config_id,
        is_published=config.is_published,
        params=json.dumps(fit.params, sort_keys=True),
        numerics=entry_plan.numerics,
        encoder=_encoder_name(fit.encoder),
        prior=fit.prior.kind if fit.prior else None,
        cell=planned.cell.name,
        cell_index=planned.cell_index,
        seed=planned.seed,
        pos=json.dumps(sample.pos),
        neg=None if classes_of_u_unknown else json.dumps(sample.neg),
        neg_test=json.dumps(trial.test.neg) if trial.test.neg or not classes_of_u_unknown else None,
        n_pos_lab=sample.n_pos_lab,
        n_pos_unl=None if classes_of_u_unknown else sample.n_pos_unl,
        n_neg_unl=None if classes_of_u_unknown else sample.n_neg_unl,
        n_unl=sample.n_neg_unl if classes_of_u_unknown else None,
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
        code_digest=entry_plan.code_digest,
        draw_digest=fit.draw_digest,
        scoring_digest=plan.scoring_digest,
        marks="; ".join(plan.warnings) or None,
        labelling=sample.labelling.label if sample.labelling else None,
        setting=sample.setting,
        n_noise=sample.n_noise,
    )
    if entry is None:
        return unrecorded
    # a score by other code than the plan's is left out: the next run scores the trial again
    return with_record(unrecorded, entry, entry.scored(trial.id, plan.scoring_digest), ledger)


def _encoder_name(encoder: str | Encoding | None) -> str | None:
    if not isinstance(encoder, Encoding):
        return encoder
    if encoder.ae_data is None:
        values = (
            "+".join(map(str, value)) if isinstance(value, list) else str(value) for value in encoder.params.values()
        )
        return " ".join([encoder.name, *values])
    return encoder.name if encoder.ae_data == "labelled_positives" else f"{encoder.name} of {encoder.ae_data}"


def with_record(recorded: ResultRow, entry: Entry, scored: TrialResult | None, ledger: Ledger | None) -> ResultRow:
    """Return the row with the values of a record filled in; without a score an ok fit is missing."""
    result = entry.result
    adopted_from = (result.adopted or {}).get("from")
    recorded = replace(
        recorded,
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
        imported_from=result.imported,
    )
    if scored is None:
        return recorded
    recorded = replace(
        recorded,
        auc=scored.auc,
        auc_train_pool=scored.auc_train_pool,
        auc_val_pu=entry.auc_val_pu(scored),
        scoring_digest=scored.scoring_digest,
        imported_from=scored.imported or result.imported,
    )
    if ledger is None:
        return recorded
    return replace(
        recorded,
        metrics=as_text(stored_test_metrics(ledger, result.fit, scored, recorded.alpha)),
        metrics_val_pu=as_text(stored_withheld_metrics(result, entry.auc_val_pu(scored))),
    )
