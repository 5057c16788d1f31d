"""What ``mkdocs build`` adds to the pages: figures within the page, and lists of commands and estimators.

A page asks for a list by ``<!-- site: commands -->`` or ``<!-- site: estimators -->``. A picture of
``assets/figures`` is put into the page itself, so that it takes the colours of the page, and so that a narrow page
shows its panels one below the other.
"""

from __future__ import annotations

import re
from html import escape
from inspect import cleandoc, getdoc, signature
from pathlib import Path
from sys import modules
from typing import Any

DOCS = Path(__file__).parent
_FIGURE = re.compile(r"^!\[([^\]]*)\]\((?:\.\./)*assets/figures/([\w-]+)\.svg\)$", re.MULTILINE)
_LIST = re.compile(r"^<!-- site: (\w+) -->$", re.MULTILINE)
_PANEL = re.compile(r'<g data-box="([^"]+)">(.*?)</g>', re.DOTALL)
_KINDS = {"oc": "OC", "pu": "PU", "pu_oc": "PU-OC"}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the text of a page with its figures and lists."""
    markdown = _FIGURE.sub(lambda found: figure(found[2], found[1]), markdown)
    return _LIST.sub(lambda found: _LISTS[found[1]](), markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Return a page in which signatures have the public names of functions, where those differ from their own."""
    if '<span class="nf">' in html:
        import puoc

        for public, (_, own) in puoc._PUBLIC.items():
            html = html.replace(f'<span class="nf">{own}</span>', f'<span class="nf">{public}</span>')
    return html


def figure(name: str, words: str) -> str:
    """Return a figure as HTML, each panel an SVG of its own, with ``words`` below it."""
    drawn = (DOCS / "assets" / "figures" / f"{name}.svg").read_text()
    panels = []
    for box, inner in _PANEL.findall(drawn):
        _, _, width, height = box.split()
        kind = "pf-key" if height == "24" else "pf"
        panels.append(
            f'<svg class="{kind}" viewBox="{box}" style="max-width:{width}px" width="{width}" height="{height}" '
            f'aria-hidden="true">{inner}</svg>'
        )
    keys = [one for one in panels if 'class="pf-key"' in one]
    panels = panels[: len(panels) - len(keys)]
    [label] = re.findall(r'aria-label="([^"]+)"', drawn)
    inner = f'{"".join(panels)}<div class="pf-keys">{"".join(keys)}</div>'
    return (
        f'<figure class="pf-figure"><div class="pf-panels" role="img" aria-label="{label}">{inner}</div>'
        f"<figcaption>{escape(words)}</figcaption></figure>"
    )


def estimators() -> str:
    """Return a section for each estimator, with its arguments and what they mean."""
    import puoc
    from puoc.registry import METHODS

    parts = []
    for name, cls in puoc.all_estimators().items():
        method = cls()._method()
        kind = _KINDS[METHODS[method].kind]
        given = [one for one in signature(cls).parameters.values() if one.name != "self"]
        called = ", ".join(["*", *map(str, given)])
        text, _, arguments = (getdoc(cls) or "").partition("\nParameters\n----------\n")
        lines = [line.partition(" : ") for line in arguments.splitlines() if " : " in line]
        parts += [
            f"### {name}",
            "",
            f"Method `{method}`, family {kind}. {escape(_about(METHODS[method]))}",
            "",
            *(f"<p>{_html(part)}</p>" for part in text.split("\n\n")[1:] if part.strip()),
            "",
            '??? note "Signature and arguments"',
            "",
            "    ```python",
            f"    puoc.{name}({called})",
            "    ```",
            "",
            *(f"    <p><code>{escape(one)}</code>: {_html(what)}</p>" for one, _, what in lines),
            "",
        ]
    return "\n".join(parts)


def _about(cls: type) -> str:
    """Return what the file of a method says of it, with its source, as ``puoc methods`` shows it."""
    return _one_line((cleandoc(modules[cls.__module__].__doc__ or "")).split("\n\n")[0]).replace("*", r"\*")


def _html(text: str) -> str:
    """Return a paragraph of a docstring as HTML."""
    return re.sub(r"``?([^`]+)``?", r"<code>\1</code>", escape(" ".join(text.split()), quote=False))


def commands() -> str:
    """Return a section for each command with its options and examples, as ``puoc COMMAND -h`` shows them."""
    from typer.main import get_command

    from puoc.cli.app import app

    root: Any = get_command(app)
    panels: dict[str, list[str]] = {}
    for name, command in root.commands.items():
        parts = panels.setdefault(command.rich_help_panel, [f"## {command.rich_help_panel}", ""])
        parts += _command(f"puoc {name}", command)
        for inner, below in getattr(command, "commands", {}).items():
            parts += _command(f"puoc {name} {inner}", below)
    return "\n".join(line for parts in panels.values() for line in parts)


def _command(name: str, command: Any) -> list[str]:
    parts = [f"### `{name}`", "", escape(_one_line(command.help)), ""]
    rows = [_option(one) for one in command.params if not one.hidden]
    if rows:
        parts += ["| argument | default | meaning |", "|---|---|---|", *rows, ""]
    examples = [line.strip() for line in (command.epilog or "").splitlines() if line.strip().startswith("puoc")]
    if examples:
        parts += ["```sh", *examples, "```", ""]
    return parts


def _option(one: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*one.opts, *one.secondary_opts])
    default = "" if one.default in (None, False, (), []) or callable(one.default) else f"`{one.default}`"
    cells = [names, default, escape(_one_line(one.help), quote=False)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


_LISTS = {"commands": commands, "estimators": estimators}
