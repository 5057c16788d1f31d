"""What a plan amounts to, in lines: fits and what they share, what the ledger has, hours, what the seeds can show."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from puoc.analysis.statistics.power import seeds_to_reject
from puoc.analysis.statistics.signed_rank import smallest_p
from puoc.datasets.user.dataset import PLANNED
from puoc.plan.bind import PlannedTrial, bind
from puoc.plan.forecast.costs import Forecast, duration, encoding_seconds
from puoc.plan.make_plan import CONFIGS, PLAN
from puoc.plan.plan_files import read_configs
from puoc.records import Encoding, Fit, TestSet
from puoc.registry import ENCODERS, PRIORS
from puoc.run.frozen_features import key
from puoc.store.counting import counted
from puoc.store.ledger import Ledger

LEVEL = 0.05
_SHOWN = 4  # methods that take most of the time


@dataclass
class Question:
    """A table or a sweep as counted."""

    name: str
    plan: dict[str, Any]
    trials: int = 0
    fits: set[str] = field(default_factory=set)
    shared: int = 0  # fits that a question above asks as well
    seconds: float = 0.0  # of what it adds to the questions above


@dataclass
class Count:
    """Everything that is asked: each fit once, with every test set it is asked for."""

    questions: list[Question] = field(default_factory=list)
    fits: dict[str, Fit] = field(default_factory=dict)
    tests: dict[str, set[TestSet]] = field(default_factory=dict)
    needs: dict[str, Fit] = field(default_factory=dict)  # encoders and estimates of the class prior
    frozen: dict[tuple[str, str], tuple[Encoding, str]] = field(default_factory=dict)  # with the digest of the data


def count(files: dict[Path, Any], root: Path) -> Count:
    """Count what the files of a plan ask; where configurations are not selected yet, with the published ones."""
    found = Count()
    for part in ("tables", "tune"):
        for path in [path for path in files if path.parent == PLAN / part]:
            plan = files[path]
            question = Question(plan["table"] if part == "tables" else f"sweep of {plan['table']}", plan)
            for asked in bind(plan, _configs(files, plan, root) if part == "tables" else None):
                _add(found, question, asked)
            earlier = (set.union(*(other.fits for other in found.questions))) if found.questions else set()
            question.shared = len(question.fits & earlier)
            found.questions.append(question)
    return found


def _configs(files: dict[Path, Any], plan: dict[str, Any], root: Path) -> dict[str, Any]:
    published: dict[str, Any] = files[CONFIGS / "published" / f"{plan['table']}.json"]
    path = root / CONFIGS / "selected" / f"{plan['table']}.json"
    if plan["configs"] != "selected" or not path.exists():
        return published
    return published | {entry: config for entry, config in read_configs(path).items() if entry in published}


def _add(found: Count, question: Question, asked: PlannedTrial) -> None:
    question.trials += 1
    if asked.skip is not None:
        return
    fit = asked.trial.fit
    question.fits.add(fit.id)
    if fit.id not in found.fits:
        found.fits[fit.id] = fit
        for need in _needs(fit):
            found.needs.setdefault(need.id, need)
    found.tests.setdefault(fit.id, set()).add(asked.trial.test)
    for one in (fit, *_needs(fit)):
        if (encoding := one.frozen_encoder()) is not None:
            found.frozen[one.sample.dataset, encoding.id] = encoding, one.sample.data_digest


def _needs(fit: Fit) -> Iterator[Fit]:
    for need in fit.needs():
        yield need
        yield from _needs(need)


def describe(files: dict[Path, Any], root: Path) -> list[str]:
    """Lines that say what the plan amounts to."""
    found, ledger = count(files, root), Ledger(root / "ledger")
    settings = files[PLAN / "compute.json"]
    forecast = Forecast(ledger, settings["device"])
    by_method = _seconds(found, ledger, forecast)
    by_method.update(_of_features(found, root, forecast))
    every = found.fits | found.needs
    known = sum(ledger.is_final(fit_id) for fit_id in every)
    failed = sum(ledger.attempts(fit_id) > 0 and not ledger.is_final(fit_id) for fit_id in every)
    sharing = sum(question.shared for question in found.questions)
    before = [fit for fit_id, fit in found.needs.items() if fit_id not in found.fits]  # a table may ask one itself
    priors = sum(fit.method in PRIORS or fit.method not in ENCODERS for fit in before)
    trials = sum(question.trials for question in found.questions)
    lines = [
        f"{counted(trials, 'trial')} by {counted(len(found.fits), 'fit')}, which tables share "
        f"{counted(sharing, 'time')}; before them {counted(len(before) - priors, 'encoder')} and "
        f"{counted(priors, 'estimate')} of the class prior",
        f"the ledger has {known:,} of these {len(every):,}" + (f"; {failed:,} failed so far" if failed else ""),
    ]
    lines += _hours(by_method, forecast, settings)
    lines += [line for path, declared in files.items() if path.parent == PLANNED for line in _own(declared)]
    return lines + [_line(question) for question in found.questions]


def _own(declared: dict[str, Any]) -> list[str]:
    """What was read of own data."""
    (p, u, _), (positive, _, negative) = declared["counts"]["train"], declared["counts"]["test"]
    tested = f"{positive + negative} labelled test rows" if positive + negative else "no labelled test rows"
    head = f"{declared['name']}: {p} labelled positives, {u} unlabelled rows, {tested}"
    return [head, *(f"  {note}" for note in (*declared["marks"], *declared["notes"]))]


def _seconds(found: Count, ledger: Ledger, forecast: Forecast) -> Counter[str]:
    """Seconds by method of what the ledger lacks; each question gets those of fits that none above it asks."""
    by_method: Counter[str] = Counter()
    counted: set[str] = set()
    for question in found.questions:
        for fit_id in sorted(question.fits):
            fit = found.fits[fit_id]
            for one in (fit, *_needs(fit)):
                if one.id in counted or ledger.is_final(one.id):
                    continue
                counted.add(one.id)
                seconds = forecast.seconds(one, found.tests[one.id] if one.id == fit_id else ())
                by_method[one.method] += seconds  # type: ignore[assignment]
                question.seconds += seconds
    return by_method


def _of_features(found: Count, root: Path, forecast: Forecast) -> Counter[str]:
    """Seconds of features that a frozen encoder gives every row of a dataset once."""
    seconds: Counter[str] = Counter()
    for (dataset, _), (encoding, digest) in found.frozen.items():
        if (root / "work" / "features" / f"{key(digest, encoding)}.npy").exists():
            continue
        one = encoding_seconds(encoding, dataset) if forecast.kind == "cpu" else None
        if one is None:
            forecast.unknown.add(encoding.name)
        seconds[encoding.name] += one or 0.0  # type: ignore[assignment]
    return seconds


def _hours(by_method: Counter[str], forecast: Forecast, settings: dict[str, Any]) -> list[str]:
    total = sum(by_method.values())
    asked = settings["workers"]
    workers = len(os.sched_getaffinity(0)) if asked == "auto" else int(asked)
    most = ", ".join(f"{name} {duration(seconds)}" for name, seconds in by_method.most_common(_SHOWN) if seconds)
    lines = []
    if total:
        wall = f"about {duration(total / workers)} with {counted(workers, 'worker')}"
        lines.append(f"forecast: {duration(total)} of computing, {wall} ({most})")
        own = sorted(forecast.from_ledger)
        elsewhere = f"seconds measured on another machine for {counted(len(forecast.from_table - set(own)), 'method')}"
        rests = [f"fits of this ledger for {', '.join(own)}"] if own else []
        lines.append(f"  it rests on {', and on '.join([*rests, elsewhere])}; a busy or slower machine takes longer")
    if forecast.unknown:
        of = f" on {forecast.kind}" if forecast.kind != "cpu" else ""
        lines.append(f"  no cost is known{of}: {', '.join(sorted(forecast.unknown))}; a first fit will tell")
    return lines


def _line(question: Question) -> str:
    shared = f" ({question.shared:,} asked above)" if question.shared else ""
    hours = f", {duration(question.seconds)}" if question.seconds else ""
    head = f"{question.name}: {counted(question.trials, 'trial')}, {counted(len(question.fits), 'fit')}{shared}{hours}"
    return f"{head}; {shown}" if (shown := can_show(question.plan)) else head


def can_show(plan: dict[str, Any]) -> str:
    """What the seeds of a table can show: the smallest p of a twin pair in a column, as it is and after Holm."""
    entries = [entry for entry in plan["entries"].values() if entry["labels"] != "oracle" and entry["skip"] is None]
    pairs = sum(one["method"] == other["twin"] for other in entries if other["kind"] == "pu_oc" for one in entries)
    comparisons, seeds = pairs * len(plan["cells"]), len(plan["seeds"])
    if not comparisons or "holdout" in plan:
        return ""
    if not plan.get("own", {}).get("tested", True):
        return "no labelled test rows: the label-free criterion alone, and no test of significance"
    if (shares := plan.get("shared_rows")) and min(shares["P"], shares["U"]) == 1:
        return "every seed learns from the same rows: no test of significance (n_pos_lab or n_unl would draw some)"
    least = smallest_p(seeds)
    adjusted = min(1.0, least * comparisons)
    said = (
        f"{counted(seeds, 'seed')} and {counted(comparisons, 'comparison')}: p of {least:.2g} at best, {adjusted:.2g} "
        "after Holm"
    )
    if adjusted < LEVEL:
        return said
    return f"{said}, so none can be significant ({seeds_to_reject(comparisons, LEVEL)} seeds could)"
