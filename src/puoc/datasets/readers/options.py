"""Options that say how a user's files are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from puoc.datasets.readers.words import Tokens
from puoc.records import Record
from puoc.store.messages import expected_by

Kind = Literal["table", "images", "texts"]
Scaling = Literal["minmax", "standard"]

#: Texts for a missing value, compared without regard to case and without blanks around them. In a column that
#: ``How.category`` names, only the empty one is: there ``NA`` may be Namibia and ``None`` no garage.
MISSING = ("", "na", "n/a", "#n/a", "nan", "null", "none", "?")

#: Options that do not apply to a kind of rows. If a table holds texts, its other columns are not read.
_NOT_APPLICABLE: dict[Kind, tuple[str, ...]] = {
    "table": ("text", "pixels", "words", "tokens", "allow_file_differences"),
    "texts": ("category", "number", "scaling", "pixels"),
    "images": (
        "text",
        "separator",
        "decimal",
        "encoding",
        "header",
        "drop",
        "category",
        "number",
        "missing",
        "scaling",
        "words",
        "tokens",
    ),
}


class How(Record):
    """Options of the readers. The defaults read plain files; a doubtful file raises an error that names the option."""

    kind: Kind | None = None  # absent: a folder holds images, a .txt file texts, anything else is a table
    # one file with labels
    label: str | None = None  # the column
    positive: str | None = None  # its value that means positive; absent: the usual pairs are known
    # delimited text
    separator: Annotated[str, StringConstraints(min_length=1, max_length=1)] | None = None
    decimal: Literal[".", ","] | None = None
    encoding: str | None = None
    header: bool | None = None  # whether the first line names the columns
    # columns
    drop: tuple[str, ...] = ()
    category: tuple[str, ...] = ()  # read as categories whatever they look like
    number: tuple[str, ...] = ()  # read as numbers though they look like ids, row numbers or dates
    missing: tuple[str, ...] = ()  # further texts for a missing value
    text: str | None = None  # the column that holds the texts
    # preprocessing
    scaling: Scaling = "minmax"  # of number columns, by the training rows
    pixels: int | None = Field(None, ge=8, le=1024)  # side to which images are resized; absent: all must be of one size
    words: int = Field(500, ge=2, le=20_000)  # maximum number of features of texts
    tokens: Tokens | None = None  # what these are; absent: words, or sequences of characters where words fail
    # continue if P and U, or the parts of the test rows, were saved in different ways
    allow_file_differences: bool = False

    def kind_of(self, path: Path) -> Kind:
        """Return the kind of rows that a file or folder is read as."""
        if self.kind is not None:
            return self.kind
        if path.is_dir():
            return "images"
        return "texts" if self.text is not None or path.suffix.lower() == ".txt" else "table"

    def check_applicable(self, kind: Kind) -> None:
        """Raise ValueError for an option that does not apply to rows of this kind and is not the default."""
        for name in _NOT_APPLICABLE[kind]:
            value = getattr(self, name)
            if value != type(self).model_fields[name].default:
                got = ", ".join(map(repr, value)) if isinstance(value, tuple) else repr(value)
                option = name.replace("_", "-")
                kinds = " or ".join(other for other, unused in _NOT_APPLICABLE.items() if name not in unused)
                raise ValueError(
                    f"--{option}: got {got}, which does not apply to rows of the kind {kind}; expected --kind {kinds}, "
                    f"or no --{option}"
                )


def how_of(**given: object) -> How:
    """Build the options from those of a command; ``\\t`` is a tab. Raises ValueError that names the option."""
    if given.get("separator") == "\\t":
        given["separator"] = "\t"
    try:
        return How.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"--{first['loc'][0]}: got {first['input']!r}; expected {expected_by(first)}") from error


def option_words(name: str, value: object) -> list[str]:
    """Return an option of a command with its value, as words of a shell.

    A value that begins with a hyphen, or an empty one, is joined to the option, since it would not be read as a value.
    """
    text = str(value)
    return [f"--{name}={text}"] if text.startswith("-") or not text else [f"--{name}", text]
