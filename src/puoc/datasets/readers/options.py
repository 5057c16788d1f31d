"""How a user's files are to be read, where they do not say it themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from puoc.records import Record
from puoc.store.messages import expected_by

Kind = Literal["table", "images", "texts"]
Scaling = Literal["minmax", "standard"]

#: Written for a value that is not there; compared without regard to case, after blanks around it are gone.
MISSING = ("", "na", "n/a", "#n/a", "nan", "null", "none", "?")

#: Answers that say nothing of rows of a kind. Of texts in a table no other column is looked at, dropped or not.
_UNASKED: dict[Kind, tuple[str, ...]] = {
    "table": ("text", "pixels", "words"),
    "texts": ("category", "scaling", "pixels"),
    "images": ("text", "separator", "decimal", "encoding", "header", "drop", "category", "missing", "scaling", "words"),
}


class How(Record):
    """Answers to what the readers would otherwise ask back. All have a default that reads plain files."""

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
    missing: tuple[str, ...] = ()  # further texts for a value that is not there
    text: str | None = None  # the column that holds the texts
    # what is made of it
    scaling: Scaling = "minmax"  # of number columns, by the training rows
    pixels: int | None = Field(None, ge=8, le=1024)  # side to which images are resized; absent: all must be of one size
    words: int = Field(500, ge=2, le=20_000)  # columns that texts become

    def kind_of(self, path: Path) -> Kind:
        """What a file or folder is read as."""
        if self.kind is not None:
            return self.kind
        if path.is_dir():
            return "images"
        return "texts" if self.text is not None or path.suffix.lower() == ".txt" else "table"

    def check_asked(self, kind: Kind) -> None:
        """Raise ValueError for an answer that is no default and that nothing asks of rows of this kind."""
        for name in _UNASKED[kind]:
            value = getattr(self, name)
            if value != type(self).model_fields[name].default:
                got = ", ".join(map(repr, value)) if isinstance(value, tuple) else repr(value)
                kinds = " or ".join(other for other, unasked in _UNASKED.items() if name not in unasked)
                raise ValueError(
                    f"--{name}: got {got}, which says nothing of rows of the kind {kind}; expected --kind {kinds}, or "
                    f"no --{name}"
                )


def how_of(**given: object) -> How:
    """Options of a command as an answer; ``\\t`` is a tab. Raises ValueError with the option and what was expected."""
    if given.get("separator") == "\\t":
        given["separator"] = "\t"
    try:
        return How.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"--{first['loc'][0]}: got {first['input']!r}; expected {expected_by(first)}") from error
