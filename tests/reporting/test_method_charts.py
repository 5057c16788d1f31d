"""Training and ROC curves on the pages of methods: read from the ledger, averaged, banded and drawn."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from planned import Planned
from published_project import PARAMS, PLANNED
from sklearn.metrics import roc_curve

from puoc.analysis.compare import compare
from puoc.analysis.tables.results import read_results
from puoc.reporting.site import build
from puoc.reporting.site.method_charts import TABLES_APART, Chart, Ribbon, method_charts
from puoc.reporting.site.recorded_curves import FALSE_POSITIVE_RATES, EntryCurves, TrialCurves
from puoc.run.stages import run_part
from puoc.store.ledger import Ledger
from puoc.store.plan_files import planned_tables

Points = NDArray[np.float64]


def trial(cell: str, fit: str, training: dict[str, Sequence[float]], height: float = 0.5) -> TrialCurves:
    return TrialCurves(cell, fit, training, FALSE_POSITIVE_RATES**height)


def entry(name: str, *trials: TrialCurves, look: str = "fam-pu", n_scored: int | None = None) -> EntryCurves:
    return EntryCurves(name, look, trials, len(trials) if n_scored is None else n_scored)


def points(path: str) -> Points:
    return np.array([[float(part) for part in point.split()] for point in re.split("[ML]", path.rstrip("Z"))[1:]])


def read_back(chart: Chart, ribbon: Ribbon, low: float = 0.0, high: float = 1.0) -> tuple[Points, Points]:
    """The line of a chart in shares of its axes, scaled to a range of values."""
    line = points(ribbon.line)
    across = (line[:, 0] - chart.left) / (chart.right - chart.left)
    return across, low + (chart.bottom - line[:, 1]) / (chart.bottom - chart.top) * (high - low)


def test_a_roc_curve_is_the_mean_over_cells_of_the_means_over_seeds() -> None:
    heights = {"a": [0.2, 0.4], "b": [0.6, 0.8, 1.0]}  # cells with other numbers of seeds count alike
    trials = [trial(cell, f"{cell}{at}", {}, h) for cell, all_ in heights.items() for at, h in enumerate(all_)]
    (chart,) = method_charts([("T", [entry("m", *trials)])]).roc
    (ribbon,) = chart.ribbons
    _, recall = read_back(chart, ribbon)
    wanted = np.mean([np.mean([FALSE_POSITIVE_RATES**h for h in all_], axis=0) for all_ in heights.values()], axis=0)
    assert np.abs(recall - wanted).max() < 1e-3
    band = points(ribbon.band)
    above, below = band[: len(recall), 1], band[len(recall) :, 1][::-1]
    assert (above <= points(ribbon.line)[:, 1] + 0.2).all()
    assert (below >= points(ribbon.line)[:, 1] - 0.2).all()
    assert "middle 80 % of 5 trials" in chart.said


def test_a_training_curve_is_the_median_of_fits_each_counted_once() -> None:
    losses = [[3.0, 2.0, 1.0, 0.5], [3.0, 2.5, 2.0, 1.5], [4.0, 3.0, 2.0, 1.0]]
    trials = [trial(cell, f"f{at}", {"loss": loss}) for at, loss in enumerate(losses) for cell in "ab"]  # shared fits
    trials += [trial("a", "f0", {"loss": losses[0]})] * 20
    (chart,) = method_charts([("T", [entry("m", *trials)])]).training
    assert "Median of 3 fits" in chart.said
    line, middle = points(chart.ribbons[0].line)[:, 1], np.median(losses, axis=0)
    assert len(line) == 4
    assert np.corrcoef(line, middle)[0, 1] == pytest.approx(-1, abs=1e-3)  # y points down


def test_many_tables_share_one_chart_and_few_have_one_each() -> None:
    def charts(n: int) -> list[Chart]:
        tables = [(f"T{at}", [entry("m", trial("a", f"{at}", {"loss": [1.0, 0.5, 0.2]}))]) for at in range(n)]
        found = method_charts(tables)
        assert len(found.training) == len(found.roc)
        return found.roc

    assert [chart.title for chart in charts(TABLES_APART)] == [f"T{at}" for at in range(TABLES_APART)]
    (one,) = charts(TABLES_APART + 1)
    assert one.title == f"All {TABLES_APART + 1} tables"
    assert f"{TABLES_APART + 1} trials" in one.said


def test_objectives_lengths_and_entries_are_kept_apart() -> None:
    short = trial("a", "1", {"loss": [1.0, 0.9, 0.8], "penalty": [5.0, 6.0, 7.0]})
    long = trial("b", "2", {"loss": [1.0, 0.7, 0.5, 0.4]})
    found = method_charts([("T", [entry("m", short, long), entry("n", trial("a", "3", {"loss": [2.0, 1.0, 0.0]}))])])
    assert [chart.y_title for chart in found.training] == ["objective (loss)", "objective (penalty)"]
    names = [ribbon.name for ribbon in found.training[0].ribbons]
    assert names == ["m, 3 epochs", "m, 4 epochs", "n"]


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e3, 1e7])
@pytest.mark.parametrize("offset", [-1.0, 0.0, 5.0])
def test_a_curve_of_any_size_lies_within_its_axes(scale: float, offset: float) -> None:
    values = [scale * (offset + each) for each in (1.0, 0.4, 0.9, 0.1)]
    (chart,) = method_charts([("T", [entry("m", trial("a", "1", {"loss": values}))])]).training
    for path in (chart.ribbons[0].line, chart.ribbons[0].band):
        drawn = points(path)
        assert np.isfinite(drawn).all()
        assert (drawn[:, 1] >= chart.top - 0.1).all()
        assert (drawn[:, 1] <= chart.bottom + 0.1).all()
    assert 1 <= len(chart.y_ticks) <= 7
    assert 2 <= len(chart.x_ticks) <= 7


def test_what_is_not_there_is_said() -> None:
    exact = trial("a", "1", {"objective": [2.0, 1.0]})
    assert method_charts([("T", [entry("m", exact)])]).notes == [
        "It is solved exactly, so there is no training curve of it."
    ]
    both = method_charts([("T", [entry("m", exact), entry("n", trial("a", "2", {"loss": [1.0, 0.5, 0.2]}))])])
    assert both.notes == ["Some entries are solved exactly, so there is no training curve of them."]
    nothing = method_charts([("T", [entry("m", trial("a", "1", {}))])])
    assert (nothing.training, len(nothing.roc)) == ([], 1)
    assert "record no objective" in nothing.notes[0]
    few = method_charts([("T", [entry("m", exact, n_scored=12)])])
    assert few.notes[-1].startswith("The curves are of 1 of 12 scored trials: the ledger")
    lost = method_charts([("T", [entry("m", TrialCurves("a", "1", {}, None))])])
    assert lost.roc == []
    assert "have no ROC curve" in lost.notes[-1]
    empty = method_charts([])
    assert (empty.training, empty.roc, empty.notes) == ([], [], [])


def test_the_page_draws_what_the_ledger_has(prepared_data: Callable[[str], Path], tmp_path: Path) -> None:
    planned = Planned(PARAMS.replace("epochs: 1,", "epochs: 4,").replace("pos: [0]", "pos: [0, 1]"), PLANNED.dataset)
    root = planned.at(tmp_path, prepared_data)
    for name in ("first", "second"):
        assert run_part(root, "tables", name)["failed"] == 0
    compare(root)
    build(root)
    plan = next(each for each in planned_tables(root) if each.table == "second")
    rows = read_results(root, plan)
    assert rows is not None
    ledger, by_cell = Ledger(root / "ledger"), dict[str, list[Points]]()
    for cell, fit_id, trial_id in zip(rows["cell"], rows["fit_id"], rows["trial_id"], strict=True):
        record = ledger.get(fit_id)
        assert record is not None
        assert len(record.result.curve["loss"]) == 4
        scored = record.trials[trial_id]
        scores = ledger.scores(scored)
        assert scores is not None
        fpr, tpr, _ = roc_curve(np.arange(len(scores)) < scored.n_pos, scores, drop_intermediate=False)
        last = np.append(fpr[1:] != fpr[:-1], True)
        by_cell.setdefault(cell, []).append(np.interp(FALSE_POSITIVE_RATES, fpr[last], tpr[last]))
    assert len(by_cell) == 2
    wanted = np.mean([np.mean(several, axis=0) for several in by_cell.values()], axis=0)
    page = (root / "reports" / "methods" / "nnpu.html").read_text(encoding="utf-8")
    assert "Median of 4 fits" in page
    charts = page[page.index("ROC curve on test rows") :]
    drawn = points(re.findall(r'class="line" d="([^"]*)"', charts)[0])
    top, bottom = (
        float(text)
        for text in re.findall(r"M46\.0 ([\d.]+)H", charts)[-1:] + re.findall(r"M46\.0 ([\d.]+)H", charts)[:1]
    )
    assert np.abs((bottom - drawn[:, 1]) / (bottom - top) - wanted).max() < 2e-3
    svm = (root / "reports" / "methods" / "oc_svm.html").read_text(encoding="utf-8")
    assert "It is solved exactly" in svm
    assert "ROC curve on test rows" in svm
    shutil.rmtree(root / "ledger")
    build(root)
    without = (root / "reports" / "methods" / "nnpu.html").read_text(encoding="utf-8")
    assert "The curves are of 0 of 4 scored trials: the ledger of this project has no record of 4." in without
    assert "ROC curve on test rows" not in without
