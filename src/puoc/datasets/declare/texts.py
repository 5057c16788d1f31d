"""Texts as rows of bytes: a row is a text in UTF-8, padded with zero bytes. An encoder converts it for a method.

The stored data are thus the texts themselves, whichever words and vectors a fit uses, and a new text can be scored
without any conversion.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from puoc.records import Array

_WORD = re.compile(r"[^\W_]+")


def to_rows(texts: Sequence[str], length: int, longer: Literal["refuse", "cut"] = "refuse") -> NDArray[np.uint8]:
    """Convert texts to rows (n, length).

    Parameters
    ----------
    length : bytes of a row.
    longer : ``cut`` a longer text after a whole character, or ``refuse`` it with an error.

    Raises
    ------
    ValueError : a text is too long and must not be cut, or contains a zero byte; the message gives its position.
    """
    X = np.zeros((len(texts), length), dtype=np.uint8)
    for i, text in enumerate(texts):
        content = text.encode("utf-8")
        if b"\0" in content:
            raise ValueError(f"text {i} contains a zero byte, which ends a row; remove it")
        if len(content) > length:
            if longer == "refuse":
                raise ValueError(f"text {i} has {len(content)} bytes in UTF-8; expected at most {length}")
            content = content[:length].decode("utf-8", errors="ignore").encode("utf-8")
        X[i, : len(content)] = np.frombuffer(content, dtype=np.uint8)
    return X


def to_texts(X: Array) -> list[str]:
    """Return the texts of rows (n, length), given as stored bytes or as floats of the same values.

    Raises
    ------
    ValueError : rows contain values that are not bytes, or bytes that are not UTF-8.
    """
    stored = X.astype(np.uint8)
    if not np.array_equal(stored, X):
        raise ValueError("got rows with other values than bytes, 0 to 255; expected texts as bytes: do not scale them")
    try:
        return [row.tobytes().rstrip(b"\0").decode("utf-8") for row in stored]
    except UnicodeDecodeError as error:
        raise ValueError(f"rows do not contain UTF-8 padded with zero bytes: {error}") from error


def normal_form(text: str) -> str:
    """Return the form in which texts are compared: words of casefolded letters and digits, separated by one blank.

    HTML entities are replaced by their characters. The normal form of a text without letters and digits is the stripped
    text.
    """
    plain = unicodedata.normalize("NFKC", html.unescape(text)).casefold()
    return " ".join(_WORD.findall(plain)) or text.strip()


def equal_texts(X: Array) -> NDArray[np.int64]:
    """Number rows by normal form: rows with equal forms share the row number of the first of them."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(normal_form(text), i) for i, text in enumerate(to_texts(X))], dtype=np.int64)
