"""Conversion of a text to the rows of its word vectors, in steps whose order is part of a fit's id.

The paper (section on text datasets) removes stop words and punctuation, lower-cases, stems, and takes vectors of
unstemmed words. It does not state the order, and the stems of many words have no vector. A word with a vector is kept
unchanged if ``look_up`` comes before ``stem``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Annotated, Literal, NamedTuple, Protocol

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

Step = Literal["entities", "lower", "punctuation", "stop_words", "stem", "look_up"]

#: Orders by name: the steps as the paper's sentence has them, and the one that loses the fewest words.
ORDERS: dict[str, tuple[Step, ...]] = {
    "paper": ("stop_words", "punctuation", "lower", "stem"),
    "look_up_first": ("entities", "lower", "punctuation", "stop_words", "look_up", "stem"),
}

_KEPT = 1_000_000  # results of the most recent words


def _named(value: object) -> object:
    if isinstance(value, str):
        if value not in ORDERS:
            raise PydanticCustomError("order", f"{' or '.join(ORDERS)}, or a list of steps")
        return ORDERS[value]
    return tuple(value) if isinstance(value, list) else value


#: Steps as a fit names them: ``paper`` and the list it stands for are one question.
Steps = Annotated[tuple[Step, ...], BeforeValidator(_named), Field(min_length=1)]


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802


class Found(NamedTuple):
    """Rows and number of words of a text."""

    rows: list[int]  # of the vectors of its words, in their order; a word without one is left out
    n_words: int  # that the steps left, with a vector or without


class Words:
    """The way from texts to rows of ``row_of``; every step looks at one word alone.

    A text is split at blanks first. Then ``entities`` reads HTML's (``&lt;``), ``lower`` lower-cases, ``punctuation``
    splits at all that is no letter or digit, ``stop_words`` drops scikit-learn's English ones in any case, ``stem`` is
    Snowball's English stemmer, and ``look_up`` settles the words that have a vector: no later step changes them. Words
    that are not settled at the end are looked up once more.
    """

    def __init__(self, steps: Sequence[Step], row_of: dict[str, int]) -> None:
        self.steps = tuple(steps)
        self.row_of = row_of
        self._part = lru_cache(maxsize=_KEPT)(self._found)

    def __call__(self, text: str) -> Found:
        """Return the rows of a text's words."""
        parts = [self._part(part) for part in text.split()]
        return Found([row for part in parts for row in part.rows], sum(part.n_words for part in parts))

    def _found(self, part: str) -> Found:
        words: list[str | int] = [part]  # a number: the row of a settled word
        for step in (*self.steps, "look_up"):
            if step == "look_up":
                words = [word if isinstance(word, int) else self.row_of.get(word, word) for word in words]
            else:
                change = _CHANGES[step]
                words = [new for word in words for new in ([word] if isinstance(word, int) else change(word))]
        return Found([word for word in words if isinstance(word, int)], len(words))


def _entities(word: str) -> list[str]:
    return html.unescape(word).split()


def _lower(word: str) -> list[str]:
    return [word.lower()]


def _punctuation(word: str) -> list[str]:
    return re.findall(r"[^\W_]+", word)


def _stop_words(word: str) -> list[str]:
    return [] if word.lower() in _english_stop_words() else [word]


def _stem(word: str) -> list[str]:
    return [_stemmer().stemWord(word)]


_CHANGES: dict[str, Callable[[str], list[str]]] = {
    "entities": _entities,
    "lower": _lower,
    "punctuation": _punctuation,
    "stop_words": _stop_words,
    "stem": _stem,
}


@cache
def _english_stop_words() -> frozenset[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


@cache
def _stemmer() -> _Stemmer:
    import snowballstemmer

    return snowballstemmer.stemmer("english")  # type: ignore[no-any-return]  # the package has no types
