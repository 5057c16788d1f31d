"""Write a view as text, Markdown, LaTeX (booktabs), CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence

from puoc.reporting.show.views import Cell, View

BEST, BETTER = "*", "+"
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
    "\N{MINUS SIGN}": r"$-$",
    "\N{EN DASH}": "--",
    "<": r"$<$",
    ">": r"$>$",
}
_ESCAPED = re.compile("|".join(map(re.escape, _LATEX)))


def _text(view: View) -> str:
    """Write aligned columns for a terminal."""
    marked = [[cell.text + BEST * cell.best + BETTER * cell.better for cell in row] for row in view.rows]
    lines = [view.heads, *marked]
    widths = [max(len(line[column]) for line in lines) for column in range(len(view.heads))]
    table = ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([view.title, "", table[0], rule, *table[1:], *_below(view, BEST, BETTER)]) + "\n"


def _markdown(view: View) -> str:
    """Write a table of GitHub's Markdown."""

    def cell(of: Cell) -> str:
        text = re.sub(r"([\\|*_`<>\[\]])", r"\\\1", of.text)
        text = f"**{text}**" if of.best else text
        return f"{text} {BETTER}" if of.better else text

    lines = [[Cell(head) for head in view.heads], *view.rows]
    table = ["| " + " | ".join(map(cell, line)) + " |" for line in lines]
    table.insert(1, "|" + "---|" * len(view.heads))
    notes = [re.sub(r"([\\*_`<>\[\]])", r"\\\1", note) for note in view.notes]
    return (
        "\n".join([f"**{view.title}**", "", *table, *_below(View("", [], view.rows, notes, []), "bold", BETTER)]) + "\n"
    )


def _latex(view: View) -> str:
    """Write a ``tabular`` with the rules of the package booktabs; the best means are bold, as the paper prints them."""

    def cell(of: Cell) -> str:
        text = _escaped(of.text)
        text = rf"\underline{{{text}}}" if of.better else text
        return rf"\textbf{{{text}}}" if of.best else text

    rows = [" & ".join(map(cell, row)) + r" \\" for row in view.rows]
    heads = " & ".join(_escaped(head) for head in view.heads) + r" \\"
    comments = [f"% {line}" for line in [view.title, *_below(view, "bold", "underlined")] if line]
    columns = "l" * len(view.heads)
    body = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        heads,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join([*comments, *body]) + "\n"


def _csv(view: View) -> str:
    """Write the values, one row each, with a header."""
    names = list(dict.fromkeys(name for row in view.values for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(view.values)
    return out.getvalue()


def _json(view: View) -> str:
    """Write title, notes and values."""
    content = {"title": view.title, "notes": view.notes, "rows": view.values}
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


#: The writers by name.
FORMATS: dict[str, Callable[[View], str]] = {
    "text": _text,
    "markdown": _markdown,
    "latex": _latex,
    "csv": _csv,
    "json": _json,
}


def formatted(view: View, name: str) -> str:
    """Return a view in a format of ``FORMATS``, with a line feed at the end.

    Raises
    ------
    ValueError : there is no such format.
    """
    if name not in FORMATS:
        raise ValueError(f"--format: got {name!r}; expected one of {', '.join(FORMATS)}")
    return FORMATS[name](view)


def _below(view: View, best: str, better: str) -> Sequence[str]:
    """Return the lines below a table: what its marks mean, and its notes."""
    cells = [cell for row in view.rows for cell in row]
    legend = [f"{best}: best mean of the column"] if any(cell.best for cell in cells) else []
    if any(cell.better for cell in cells):
        legend.append(f"{better}: significantly better than its twin, after Holm")
    lines = [*(["; ".join(legend)] if legend else []), *view.notes]
    return ["", *lines] if lines else []


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: _LATEX[found[0]], text)
