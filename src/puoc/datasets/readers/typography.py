"""How a text is typed: quotation marks, dashes, blanks, forms of letters, accents and case.

Two programs write one text in two ways. Which of them a method can learn depends on how texts become features: words
are compared in the form NFKC, without case, marks and blanks, and sequences of characters keep the marks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Final

from puoc.datasets.readers.words import Tokens

#: Values of a property by its name, one a text; None where it does not apply.
Typed = dict[str, Sequence[str | float | None]]

#: Properties of texts that leave no traces in these tokens.
UNSEEN_IN: Final[dict[Tokens, frozenset[str]]] = {
    "words": frozenset({"quotation marks", "dashes", "ellipses", "blanks", "blanks at the ends", "line breaks",
                        "forms of letters", "widths of letters", "case"}),
    "characters": frozenset({"ellipses", "blanks", "blanks at the ends", "line breaks", "forms of letters",
                             "widths of letters", "case"}),
}  # fmt: skip

#: Zero-width blanks, marks of direction and soft hyphens; joiners belong to words of several scripts.
_INVISIBLE: Final = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_ACCENTED: Final = re.compile(r"[^\W\d_]{3,}")


def _one_of(first: str, second: str, names: tuple[str, str]) -> Callable[[str], str | None]:
    """Return a function that names which of two patterns a text has, the first one if both; None without any."""
    one, other = re.compile(first), re.compile(second)

    def found(text: str) -> str | None:
        return names[0] if one.search(text) else names[1] if other.search(text) else None

    return found


def _form(text: str) -> str | None:
    if text.isascii():
        return None
    if unicodedata.normalize("NFC", text) != text:
        return "decomposed (NFD)"
    return "composed (NFC)" if unicodedata.normalize("NFD", text) != text else None


def _case(text: str) -> str | None:
    lower, upper = text.lower() == text, text.upper() == text
    return None if lower and upper else "lower" if lower else "upper" if upper else "both"


_PROPERTIES: Final[dict[str, Callable[[str], str | None]]] = {
    "quotation marks": _one_of("[\u2018-\u201f\u2032\u2033\u00ab\u00bb]", "['\"]", ("typographic", "straight")),
    "dashes": _one_of("[\u2010-\u2015\u2212]", "-", ("typographic", "hyphen-minus")),
    "ellipses": _one_of("\u2026", r"\.\.\.", ("one character", "three points")),
    "blanks": _one_of("[\u00a0\u2000-\u200a\u202f]", " ", ("no-break or thin", "plain")),
    "blanks at the ends": lambda text: "yes" if text != text.strip() else "no",
    "line breaks": _one_of("\r", "\n", ("CR LF", "LF")),
    "zero-width characters": lambda text: "yes" if _INVISIBLE.search(text) else "no",
    "forms of letters": _form,
    "widths of letters": _one_of("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]", "[0-9A-Za-z]", ("full", "usual")),
    "case": _case,
}


def typed(texts: Sequence[str]) -> Typed:
    """Return how each text is typed, by property."""
    return {name: [of(text) for text in texts] for name, of in _PROPERTIES.items()}


def accents(texts: Sequence[str], others: Sequence[str]) -> tuple[Typed, Typed]:
    """Return whether texts of two files keep accents; None for a text without a word that occurs in both spellings.

    Languages and classes have other accents. A word that occurs with and without them has two spellings, and a program
    that leaves accents out gives one file the one of them and the other file the other one.
    """
    if all(text.isascii() for part in (texts, others) for text in part):
        return {}, {}
    split = [[_ACCENTED.findall(unicodedata.normalize("NFKC", text).casefold()) for text in part]
             for part in (texts, others)]  # fmt: skip
    words = {word for part in split for text in part for word in text}
    plain = {word: _plain(word) for word in words if not word.isascii()}
    twice = {bare for word, bare in plain.items() if bare != word and bare in words}
    if not twice:
        return {}, {}
    values = [[_kept(text, plain, twice) for text in part] for part in split]
    return {"accents": values[0]}, {"accents": values[1]}


def _kept(words: Sequence[str], plain: dict[str, str], twice: set[str]) -> str | None:
    found = [plain.get(word, word) != word for word in words if plain.get(word, word) in twice]
    return None if not found else "kept" if any(found) else "left out"


def _plain(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
