"""A small project with real records and models, made without running anything: what tracking reads."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from puoc.methods import make, normalise
from puoc.methods.persistence import model_file as modelfile
from puoc.methods.training.estimator import Estimator
from puoc.records import Fit, FitResult, Prior, Sample, TestSet, Trial, TrialResult
from puoc.store.ledger import Ledger
from puoc.store.ledger_records import Scored
from puoc.store.result_rows import ResultRow, write_sweep, write_table

SHAPE = (6,)
PARAMS: dict[str, dict[str, Any]] = {
    "oc_svm": {"kernel": "linear", "nu": 0.5},
    "pu_svm": {"solver": "exact", "kernel": "linear", "risk": "non_negative", "lam": 0.1},
}
#: Columns that a trial without a record leaves empty.
EMPTY = ("prior", "config_source", "is_published", "prior_alpha", "alpha_hat", "reason", "auc_val_pu", "fit_seconds")
EMPTY += ("peak_memory", "n_lanes", "lane_map", "device", "torch_version", "encoder_fit_id", "prior_fit_id")
KINDS = {"oc_svm": "oc", "pu_svm": "pu_oc"}


def stored_rows(n: int, shape: tuple[int, ...] = SHAPE, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 17, (n, *shape)).astype(np.uint8)


def fitted(method: str, shape: tuple[int, ...] = SHAPE) -> Estimator:
    P, U = (stored_rows(40, shape, seed).astype(np.float32) / np.float32(16) for seed in (1, 2))
    return make(method, PARAMS[method]).fit(P.reshape(40, -1), U.reshape(40, -1), alpha=0.5, seed=0)


def model(method: str, shape: tuple[int, ...] = SHAPE, **more: Any) -> bytes:
    meta = {
        "method": method,
        "params": normalise(method, PARAMS[method]),
        "encoder": "flatten",
        "shape": shape,
        "dtype": "uint8",
        "scale": 16.0,
        "versions": {"numpy": np.__version__},
    }
    return modelfile.dump(fitted(method, shape), modelfile.Meta(**{**meta, **more}))


@dataclass
class Project:
    root: Path
    models: dict[str, bytes] = field(default_factory=dict)
    rows: dict[str, list[ResultRow]] = field(default_factory=dict)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.root / "ledger")

    def ask(
        self,
        table: str,
        scenario: str,
        entries: tuple[str, ...] = ("oc_svm", "pu_svm"),
        cells: int = 2,
        seeds: int = 2,
        outcomes: dict[tuple[str, int, int], str] | None = None,
        tune: bool = False,
        dataset: str = "toy",
    ) -> list[ResultRow]:
        """Rows of a table (or sweep) with records of them in the ledger, in files where a run leaves them."""
        rows = [
            self._row(
                table, scenario, entry, cell, seed, (outcomes or {}).get((entry, cell, seed), "ok"), tune, dataset
            )
            for entry in entries
            for cell in range(cells)
            for seed in range(seeds)
        ]
        self.save(table, rows, tune)
        return rows

    def save(self, table: str, rows: list[ResultRow], tune: bool = False) -> None:
        part, results = ("tune" if tune else "tables"), self.root / "results"
        plan = self.root / "work" / "plan" / part / f"{table}.json"
        plan.parent.mkdir(parents=True, exist_ok=True)
        plan.write_text("{}")
        self.rows[table] = rows
        if tune:
            write_sweep(results / "tune", table, rows)
        else:
            write_table(results / "tables", table, rows)

    def answer(self, row: ResultRow, status: str = "ok") -> ResultRow:
        """Put the record of a row's fit into the ledger and fill in the row."""
        trial = self._trials[row.trial_id]
        fit, rng = trial.fit, np.random.default_rng(int(trial.id[:6], 16))
        reason = None if status == "ok" else f"{status}: as the test wants it"
        result = FitResult(
            fit=fit,
            status=status,
            reason=reason,
            curve={"objective": (1.0, 0.25)} if status == "ok" else {},
            fit_seconds=0.5,
            n_lanes=1,
            lane_map="loop",
            device="cpu",
            versions={"torch": "0"},
            git={"commit": "0" * 40, "dirty": True},
        )
        auc = round(float(rng.uniform(0.6, 0.9)), 3)
        scored = TrialResult(
            trial_id=trial.id, fit_id=fit.id, test=trial.test, auc=auc, n_pos=3, n_neg=4, scoring_digest="s"
        )
        method = fit.method
        if method not in self.models:
            self.models[method] = model(method)
        if status == "ok":
            self.ledger.put(result, [Scored(scored, rng.normal(size=7))], self.models[method])
        else:
            self.ledger.put(result)
        found = self.ledger.get(fit.id)
        assert found is not None
        auc_or_none = auc if status == "ok" else None
        return replace(
            row,
            status=status,
            reason=reason,
            attempts=found.result.attempts,
            fit_seconds=0.5,
            device="cpu",
            torch_version="0",
            n_lanes=1,
            lane_map="loop",
            auc=auc_or_none,
            auc_train_pool=auc_or_none,
        )

    @property
    def _trials(self) -> dict[str, Trial]:
        return self.__dict__.setdefault("_asked", {})

    def _row(
        self, table: str, scenario: str, entry: str, cell: int, seed: int, status: str, tune: bool, dataset: str
    ) -> ResultRow:
        unlabelled = {} if KINDS[entry] == "oc" else {"neg": (cell + 1,), "n_pos_unl": 20, "n_neg_unl": 20}
        sample = Sample(dataset=dataset, data_digest="d", pos=(0,), n_pos_lab=40, **unlabelled)
        fit = Fit(
            method=entry,
            params=PARAMS[entry],
            sample=sample,
            seed=seed,
            prior=None if KINDS[entry] == "oc" else Prior(kind="true"),
            code_digest="c",
            draw_digest="w",
        )
        trial = Trial(fit=fit, test=TestSet(pos=(0,), neg=(cell + 1,)))
        self._trials[trial.id] = trial
        row = ResultRow(
            table=table,
            scenario=scenario,
            dataset=dataset,
            entry=entry,
            method=entry,
            kind=KINDS[entry],
            twin="oc_svm" if entry == "pu_svm" else None,
            labels="pu",
            configs="sweep" if tune else "published",
            config_id="k0",  # of a table's row as well: the configuration that was selected
            params=json.dumps(PARAMS[entry]),
            numerics="fp32",
            encoder="flatten",
            cell=f"cell {cell}",
            cell_index=cell,
            seed=seed,
            pos="[0]",
            neg=f"[{cell + 1}]",
            neg_test=f"[{cell + 1}]",
            n_pos_lab=40,
            n_pos_unl=20,
            n_neg_unl=20,
            alpha=0.5,
            status="missing",
            attempts=0,
            fit_id=fit.id,
            trial_id=trial.id,
            code_digest="c",
            draw_digest="w",
            scoring_digest="s",
            **dict.fromkeys(EMPTY),
        )
        return row if status == "missing" else self.answer(row, status)
