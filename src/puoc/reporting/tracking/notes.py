"""Descriptions of experiments and runs in Markdown, which MLflow shows at the top of their pages."""

from __future__ import annotations

from pathlib import Path

from puoc.reporting.tracking.places import Place
from puoc.store.result_rows import ResultRow

NOTE = "mlflow.note.content"  # tag that MLflow shows as the description
#: Last line of a description by puoc. A description without it was edited, and is never overwritten.
END = "*Description by puoc. Remove this line to keep your edits.*"
#: Key of the view whose columns a first-time user needs; MLflow keeps it in a tag of the experiment.
VIEW = "puoc"
VIEW_TAG = f"mlflow.sharedViewState.{VIEW}"


def is_edited(note: str | None) -> bool:
    """Check whether a description is a user's own."""
    return bool(note) and not str(note).rstrip().endswith(END)


def trial_note(row: ResultRow, place: Place) -> str:
    """Return the description of a trial."""
    lines = [f"**{place.entry}** on **{row.dataset}**, {place.cell}, seed {row.seed}, of {_named(place)}."]
    if row.status != "ok":
        lines.append(f"Status: {row.status}{f' ({row.reason})' if row.reason else ''}.")
    if not place.source.startswith("tune/"):
        lines.append(f"All trials of the entry: `puoc show {place.source.split('/', 1)[1]}/{place.cell}/{place.entry}`")
    lines.append(f"Files: {_FILES}")
    return _text(lines)


def cell_note(row: ResultRow, place: Place) -> str:
    """Return the description of an entry with one configuration in a cell."""
    what = f"configuration {row.config_id} in {place.cell}" if place.source.startswith("tune/") else place.cell
    lines = [
        f"**{place.entry}** on **{row.dataset}**, {what}, of {_named(place)}.",
        "`auc` is the mean test AUC over the trials that succeeded, and `auc_std` their standard deviation. "
        "The tags `n`, `n_failed` and `n_skipped` count trials; each trial is a child run.",
    ]
    return _text(lines)


def sweep_note(row: ResultRow, place: Place, n_configs: int) -> str:
    """Return the description of a sweep."""
    lines = [
        f"{_named(place, capital=True)}: **{place.entry}** on **{row.dataset}** with {n_configs} configurations, "
        "which are the child runs.",
        "`auc_val_pu` is the highest mean of the criterion by which a configuration is chosen. It uses no test row.",
    ]
    return _text(lines)


def experiment_note(name: str, root: Path | None, experiment_id: str) -> str:
    """Return the description of an experiment.

    Parameters
    ----------
    root : the folder of the project, if the store belongs to it alone; a link to its report is then added.
    """
    is_sweeps = name.startswith("tune/")
    scenario = name.removeprefix("tune/")
    what = (
        f"Sweeps of hyperparameters for the scenario **{scenario}**: sweeps, below them their configurations, and "
        "below those the trials."
        if is_sweeps
        else f"Scenario **{scenario}**: one run for each entry and cell, and below it one run for each trial."
    )
    view = f"#/experiments/{experiment_id}/runs?viewStateShareKey={VIEW}&workflowType=machine_learning"
    lines = [  # MLflow shows the first line until one unfolds the description
        f"[Means by entry and cell, the best first]({view})",
        f"{what} `auc` is the AUC on held-out test rows.",
        f"Report with tables, tests and figures: {_report(root)}",
    ]
    return _text(lines)


def view_state(name: str) -> dict[str, object]:
    """Return the state of MLflow's table of runs: those of cells and sweeps, the best on top, with columns by use."""
    shown = ("auc", "auc_std", "auc_val_pu", "fit_seconds")
    tags = ("status", "n", "n_failed", "kind", "tables")
    params = ("method", "dataset", "alpha")
    columns = [
        f"{kind}.`{key}`" for kind, keys in (("params", params), ("metrics", shown), ("tags", tags)) for key in keys
    ]
    order = "metrics.`auc_val_pu`" if name.startswith("tune/") else "metrics.`auc`"
    means = "tags.kind != 'trial'"
    return {"selectedColumns": columns, "orderByKey": order, "orderByAsc": False, "searchFilter": means}


_FILES = (
    "`curves.json` has the ROC and precision-recall curves, histograms of the scores and the confusion at the "
    "threshold *prevalence*; `curves.svg` draws them; `fit.json` is the record of the fit."
)


def _report(root: Path | None) -> str:
    place = "`reports/index.html` in the folder of the project"
    if root is None:
        return place
    address = (root / "reports" / "index.html").as_uri()
    return f"[reports/index.html]({address}) (browsers open a local file only if you copy the address)"


def _named(place: Place, capital: bool = False) -> str:
    part, name = place.source.split("/", 1)
    what = "sweep" if part == "tune" else "table"
    return f"{'The' if capital else 'the'} {what} `{name}`"


def _text(lines: list[str]) -> str:
    return "\n\n".join([*lines, END])
