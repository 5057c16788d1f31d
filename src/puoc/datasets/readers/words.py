"""Words and character sequences of texts in any script.

A word is a sequence of letters, digits, combining marks and joiners, of any length. Scripts without blanks between
words, such as Thai and Chinese, give single characters and pairs of them. An emoji is a word, with its modifiers.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from typing import Final, Literal

Tokens = Literal["words", "characters"]

_LONGEST: Final = 3  # characters of a sequence
_BESIDE: Final = 2  # characters of a script without blanks that are taken together
_FEW: Final = 0.5  # share of texts that share a word with another one, below which words fail
_LEAST_TEXTS: Final = 10  # fewer texts say nothing about how words repeat

#: Blocks of scripts that are written without blanks between words: Thai, Lao, Myanmar, Khmer, Tai scripts, Balinese,
#: Javanese, Japanese, Chinese and Yi.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua980-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
_JOINERS: Final = "\u200c\u200d"
_LAST: Final = 0x1FFFF  # no marks or symbols above it but variation selectors
_SELECTORS: Final = "\U000e0100-\U000e01ef"
_TONES: Final = "\U0001f3fb-\U0001f3ff"  # of skin
_ASCII: Final = re.compile(r"\w+")  # the same words, found faster


@cache
def _marks_and_symbols() -> tuple[str, str]:
    """Return the characters of the categories M and So as the insides of character classes."""
    marks, symbols = [], []
    for category, codes in groupby(range(0x80, _LAST + 1), lambda code: unicodedata.category(chr(code))):
        first, *rest = codes
        span = f"{chr(first)}-{chr(rest[-1] if rest else first)}"
        if category[0] == "M":
            marks.append(span)
        elif category == "So":
            symbols.append(span)
    return "".join(marks) + _SELECTORS, "".join(symbols) + _TONES


@cache
def _token() -> re.Pattern[str]:
    marks, symbols = _marks_and_symbols()
    one = f"[{symbols}][{marks}{_TONES}]*"
    flag = "[\U0001f1e6-\U0001f1ff]{2}"
    return re.compile(f"\\w[\\w{marks}{_JOINERS}]*|{flag}|{one}(?:\u200d{one})*")


def _tokens(text: str) -> list[str]:
    return _ASCII.findall(text) if text.isascii() else _token().findall(text)


@cache
def _part() -> re.Pattern[str]:
    """Match a part of a word: a sequence of a script without blanks, or one of other characters."""
    return re.compile(f"(?P<unspaced>[{_UNSPACED}][{_UNSPACED}{_marks_and_symbols()[0]}]*)|[^{_UNSPACED}]+")


@cache
def _cluster() -> re.Pattern[str]:
    """Match a character with its marks."""
    return re.compile(f".[{_marks_and_symbols()[0]}]*", re.DOTALL)


def plain(text: str) -> str:
    """Return a text in the form in which words are compared: NFKC, without case."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def words_of(text: str) -> list[str]:
    """Return the words of a text; of scripts without blanks, the characters with their marks, alone and in pairs."""
    found: list[str] = []
    for token in _tokens(plain(text)):
        if token.isascii():
            found.append(token)
            continue
        for part in _part().finditer(token):
            found += _sequences(_cluster().findall(part[0]), _BESIDE) if part["unspaced"] else [part[0]]
    return found


def characters_of(text: str) -> list[str]:
    """Return the sequences of one to three characters of a text; blanks between words count as one."""
    return _sequences(list(" ".join(plain(text).split())), _LONGEST)


def _sequences(characters: Sequence[str], longest: int) -> list[str]:
    return ["".join(characters[at : at + n]) for n in range(1, longest + 1) for at in range(len(characters) - n + 1)]


#: Functions that split a text, by the tokens that they give.
SPLITS: Final[dict[Tokens, Callable[[str], list[str]]]] = {"words": words_of, "characters": characters_of}


def tokens_for(texts: Sequence[str]) -> Tokens:
    """Choose words, or sequences of characters if words cannot separate texts.

    Words fail if there are none, or if fewer than half of ten or more texts share a word with another text, as with
    scripts or codes that are written without blanks.
    """
    split = [set(words_of(text)) for text in texts if text.strip()]
    texts_with = Counter(word for words in split for word in words)
    if not texts_with:
        return "characters"
    shared = sum(any(texts_with[word] > 1 for word in words) for words in split)
    return "characters" if len(split) >= _LEAST_TEXTS and shared < _FEW * len(split) else "words"


def same_text(text: str) -> str:
    """Return the form by which texts are the same: its words in their order, without case, punctuation and blanks.

    HTML entities are read. The form of a text without words is the stripped text.
    """
    return " ".join(_tokens(plain(html.unescape(text)))) or text.strip()
