"""Options that ``puoc fit``, ``puoc score`` and ``puoc assess`` share: which files to read, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from puoc.cli.console import LARGEST_SEED

Positives = Annotated[
    Path | None, typer.Option(help="Labelled positives: a table, a file of texts or a folder of pictures.")
]
Unlabelled = Annotated[Path | None, typer.Option(help="Unlabelled rows, in the same format.")]
Data = Annotated[Path | None, typer.Option(help="One table with a label column, in place of both.")]
PositiveLabel = Annotated[str | None, typer.Option(help="The label that means positive, if puoc cannot infer it.")]
Kind = Annotated[str | None, typer.Option(help="table, images or texts. Default: inferred from the path.")]
TextColumn = Annotated[str | None, typer.Option(help="The column that holds the texts.")]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.")]
Category = Annotated[list[str] | None, typer.Option(help="A column to read as categories.")]
Missing = Annotated[list[str] | None, typer.Option(help="A text that stands for a missing value.")]
Pixels = Annotated[int | None, typer.Option(help="Side length in pixels to which pictures are resized.")]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of all random numbers.")]
Separator = Annotated[str | None, typer.Option(help="Column separator, if the file is ambiguous; \\t is a tab.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal sign, . or , if the file is ambiguous.")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of text files, if it is not UTF-8.")]
Header = Annotated[bool | None, typer.Option(help="Whether the first line names the columns.")]
