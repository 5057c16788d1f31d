"""Help of the commands: the group in which each is listed, and examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import typer

from puoc.cli.empty_paths import Command

C = TypeVar("C", bound=Callable[..., object])

YOUR_DATA = "Your own data"
BENCHMARK = "The benchmark, step by step"
RESULTS = "Results"
SWEEPS = "Sweeps"
ABOUT = "What there is"


class Verb(NamedTuple):
    """Where a command is listed, and how it is used."""

    group: str
    examples: tuple[str, ...]


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
    ),
    "score": Verb(
        YOUR_DATA,
        (
            "puoc score --model model.safetensors rows.csv --out scores.csv",
            "cat rows.csv | puoc score --model model.safetensors -",
        ),
    ),
    "plan": Verb(BENCHMARK, ("puoc plan --check", "puoc plan --params profiles/tiny.yaml")),
    "fetch": Verb(BENCHMARK, ("puoc fetch", "puoc fetch --from /mnt/mirror")),
    "prepare": Verb(BENCHMARK, ("puoc prepare",)),
    "pending": Verb(BENCHMARK, ("puoc pending",)),
    "tune": Verb(BENCHMARK, ("puoc tune pu_svm",)),
    "select": Verb(BENCHMARK, ("puoc select",)),
    "run": Verb(BENCHMARK, ("puoc run one_vs_all", "puoc run one_vs_all alpha_sweep --budget 1h30m --nice 10")),
    "compare": Verb(BENCHMARK, ("puoc compare",)),
    "report": Verb(BENCHMARK, ("puoc report", "puoc report --no-track")),
    "show": Verb(
        RESULTS, ("puoc show", "puoc show one_vs_all --format latex", "puoc show alpha_sweep/alpha=0.5/pu_svm")
    ),
    "status": Verb(RESULTS, ("puoc status",)),
    "retry": Verb(RESULTS, ("puoc retry all", "puoc retry 0123456789abcdef")),
    "track": Verb(RESULTS, ("puoc track",)),
    "ui": Verb(RESULTS, ("puoc ui", "puoc ui --port 5001")),
    "published": Verb(RESULTS, ("puoc published", "puoc published exported --out build/exported --no-track")),
    "ledger": Verb(RESULTS, ("puoc ledger verify", "puoc ledger export published/mine")),
    "ledger count": Verb(RESULTS, ("puoc ledger count",)),
    "ledger verify": Verb(
        RESULTS,
        (
            "puoc ledger verify",
            "puoc ledger verify --recompute 20",
            "puoc ledger verify --place one_vs_all/pos=3/pu_svm",
        ),
    ),
    "ledger export": Verb(RESULTS, ("puoc ledger export all.parquet", "puoc ledger export published/mine")),
    "ledger import": Verb(RESULTS, ("puoc ledger import published/mine",)),
    "ledger compact": Verb(RESULTS, ("puoc ledger compact",)),
    "ledger adopt": Verb(RESULTS, ("puoc ledger adopt --dry-run", "puoc ledger adopt")),
    "sweep": Verb(
        SWEEPS,
        (
            "puoc sweep --method pu_svm --dry-run",
            "puoc sweep --method nnpu --space wide --search tpe --budget 30m",
        ),
    ),
    "doctor": Verb(SWEEPS, ("puoc doctor", "puoc doctor --method pu_svm --workers 4")),
    "study": Verb(SWEEPS, ("puoc study --method pu_svm",)),
    "methods": Verb(ABOUT, ("puoc methods",)),
    "datasets": Verb(ABOUT, ("puoc datasets",)),
    "metrics": Verb(ABOUT, ("puoc metrics",)),
    "new-method": Verb(ABOUT, ("puoc new-method my_upu --kind pu",)),
}


def epilog(name: str) -> str:
    """Return the examples of a command as the last lines of its help."""
    return "\n\n".join(["Examples:", *VERBS[name].examples])


def add(app: typer.Typer, name: str, command: C) -> C:
    """Add a command to its group, with its examples."""
    app.command(name, cls=Command, rich_help_panel=VERBS[name].group, epilog=epilog(name))(command)
    return command
