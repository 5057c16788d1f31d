"""``puoc show``: results in the terminal, and as Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from puoc.cli.console import exit_on_invalid_input, exit_on_storage_error, planned, say, warn, working
from puoc.cli.output import is_json

ROOT = Path()


def show(
    place: Annotated[
        str | None,
        typer.Argument(
            help="A table, a cell of it, or an entry in a cell: TABLE, TABLE/CELL or TABLE/CELL/ENTRY. All sweeps, or "
            "the configurations of one: tune or tune/SWEEP."
        ),
    ] = None,
    output: Annotated[
        str,
        typer.Option("--format", help="text, markdown, latex (booktabs), csv or json. The last two have all digits."),
    ] = "text",
    digits: Annotated[int, typer.Option(min=1, max=6, help="Digits after the point of a mean.")] = 2,
) -> None:
    """Print results: all tables, a table, one of its cells, the trials of an entry with their origin, or sweeps."""
    with exit_on_invalid_input(), exit_on_storage_error():
        output = "json" if is_json() else output
        from puoc.reporting.show import FORMATS, find, formatted, names_sweeps, sweep_view, view

        if output not in FORMATS:
            raise ValueError(f"--format: got {output!r}; expected one of {', '.join(FORMATS)}")
        planned(ROOT, note=warn)
        from puoc.reporting.show.reading import read
        from puoc.run.stages import planned_trial_ids
        from puoc.store.plan_files import planned_tables, sweep_names

        plans = planned_tables(ROOT)
        if place is not None and names_sweeps(place, plans):
            with working("sweeps"):
                shown = sweep_view(ROOT, place, planned_trial_ids(ROOT), digits)
        else:
            found = find(plans, place)
            with working("results"):
                shown = view(read(ROOT, plans, planned_trial_ids(ROOT)), found, digits)
        text = formatted(shown, output)
    typer.echo(text, nl=False)
    if output == "text" and place is None and plans:
        sweeps = "; puoc show tune lists the sweeps" if sweep_names(ROOT) else ""
        say(f"\nnext: puoc show {plans[0].table}{sweeps}")
