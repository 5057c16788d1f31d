"""Help of the commands: the group in which each is listed, and examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import typer

from puoc.cli.empty_paths import Command
from puoc.cli.output import with_output

YOUR_DATA = "Your own data"
BENCHMARK = "The benchmark, step by step"
RESULTS = "Results"
SWEEPS = "Sweeps"
ABOUT = "What there is"


class Verb(NamedTuple):
    """Where a command is listed, and how it is used."""

    group: str
    examples: tuple[str, ...]
    keys: tuple[str, ...] = ()  # of the JSON document; none for a command whose document has an option of its own


VERBS = {
    "audit": Verb(
        YOUR_DATA,
        (
            "puoc audit --positives p.csv --unlabelled u.csv",
            "puoc audit --data all.csv --label is_fraud --json audit.json",
        ),
    ),
    "assess": Verb(
        YOUR_DATA,
        (
            "puoc assess --positives p.csv --unlabelled u.csv",
            "puoc assess --data all.csv --label is_fraud --incoming new.csv",
        ),
    ),
    "fit": Verb(
        YOUR_DATA,
        (
            "puoc fit --method pu_svm --prior 0.3 --positives p.csv --unlabelled u.csv --out model.safetensors",
            "puoc fit --method oc_svm --positives p.csv --out model.safetensors",
        ),
        ("model", "bytes", "method", "params", "test_auc", "notes"),
    ),
    "score": Verb(
        YOUR_DATA,
        (
            "puoc score --model model.safetensors rows.csv --out scores.csv",
            "puoc score --model model.safetensors rows.csv --keep id --out scores.csv",
            "cat rows.csv | puoc score --model model.safetensors -",
        ),
        ("rows", "positive", "out", "notes"),
    ),
    "plan": Verb(
        BENCHMARK,
        ("puoc plan --check", "puoc plan --params profiles/tiny.yaml"),
        ("params", "tables", "sweeps", "written", "overview"),
    ),
    "fetch": Verb(BENCHMARK, ("puoc fetch", "puoc fetch --from /mnt/mirror"), ("datasets",)),
    "prepare": Verb(BENCHMARK, ("puoc prepare",), ("digests", "notes")),
    "pending": Verb(BENCHMARK, ("puoc pending",), ("due",)),
    "tune": Verb(BENCHMARK, ("puoc tune pu_svm",), ("runs",)),
    "select": Verb(BENCHMARK, ("puoc select",), ("tables", "chosen")),
    "run": Verb(
        BENCHMARK, ("puoc run one_vs_all", "puoc run one_vs_all alpha_sweep --budget 1h30m --nice 10"), ("runs",)
    ),
    "compare": Verb(BENCHMARK, ("puoc compare",), ("path",)),
    "report": Verb(BENCHMARK, ("puoc report", "puoc report --no-track"), ("report", "runs")),
    "show": Verb(
        RESULTS,
        ("puoc show", "puoc show one_vs_all --format latex", "puoc show alpha_sweep/alpha=0.5/pu_svm"),
        ("title", "notes", "rows"),
    ),
    "status": Verb(
        RESULTS,
        ("puoc status", "puoc status --json"),
        (
            *("failed", "missing", "not_run", "adopted", "stale", "unwritten", "unrecorded", "unchecked"),
            *("unplanned", "missing_unplanned"),
        ),
    ),
    "retry": Verb(RESULTS, ("puoc retry all", "puoc retry 0123456789abcdef"), ("fits",)),
    "track": Verb(RESULTS, ("puoc track",), ("runs", "best")),
    "ui": Verb(RESULTS, ("puoc ui", "puoc ui --port 5001")),
    "published": Verb(
        RESULTS,
        ("puoc published", "puoc published exported --out build/exported --no-track"),
        ("report", "fits", "trials"),
    ),
    "ledger": Verb(RESULTS, ("puoc ledger verify", "puoc ledger export published/mine")),
    "ledger count": Verb(RESULTS, ("puoc ledger count",), ("fits",)),
    "ledger verify": Verb(
        RESULTS,
        (
            "puoc ledger verify",
            "puoc ledger verify --recompute 20",
            "puoc ledger verify --place one_vs_all/pos=3/pu_svm",
        ),
        ("faults", "recomputed"),
    ),
    "ledger export": Verb(
        RESULTS,
        ("puoc ledger export all.parquet", "puoc ledger export published/mine"),
        ("path", "fits", "trials", "content"),
    ),
    "ledger import": Verb(RESULTS, ("puoc ledger import published/mine",), ("added", "known")),
    "ledger compact": Verb(RESULTS, ("puoc ledger compact",), ("removed",)),
    "ledger adopt": Verb(RESULTS, ("puoc ledger adopt --dry-run", "puoc ledger adopt"), ("groups", "not_selected")),
    "sweep": Verb(
        SWEEPS,
        (
            "puoc sweep --method pu_svm --dry-run",
            "puoc sweep --method nnpu --space wide --search tpe --budget 30m",
        ),
        ("sweep", "known", "computed", "failed", "missing", "stopped", "chosen"),
    ),
    "doctor": Verb(SWEEPS, ("puoc doctor", "puoc doctor --method pu_svm --workers 4"), ("findings",)),
    "study": Verb(SWEEPS, ("puoc study --method pu_svm",), ("path", "configurations")),
    "methods": Verb(ABOUT, ("puoc methods", "puoc methods pu_svm", "puoc methods --json"), ("methods",)),
    "datasets": Verb(ABOUT, ("puoc datasets",), ("datasets",)),
    "metrics": Verb(ABOUT, ("puoc metrics",), ("metrics",)),
    "new-method": Verb(ABOUT, ("puoc new-method my_upu --kind pu",), ("path",)),
}


#: At the end of the help of ``puoc``.
START = "\n\n".join(
    (
        "Start here:",
        "puoc assess --positives p.csv --unlabelled u.csv    (your own data: can PU methods be trusted?)",
        "puoc plan --check    (the benchmark: what params.yaml would compute)",
        "puoc show    (results that were computed)",
        "puoc --install-completion    (completion of commands and options in your shell)",
    )
)


def epilog(name: str) -> str:
    """Return the examples of a command as the last lines of its help."""
    return "\n\n".join(["Examples:", *VERBS[name].examples])


def add(app: typer.Typer, name: str, function: Callable[..., object], group: str = "") -> None:
    """Add a command to its group, with its examples and the options of its output.

    Parameters
    ----------
    group : the command that it is a part of, such as ``ledger``.
    """
    whole = f"{group} {name}".strip()
    verb = VERBS[whole]
    panel = None if group else verb.group
    app.command(name, cls=Command, rich_help_panel=panel, epilog=epilog(whole))(with_output(function, verb.keys))
