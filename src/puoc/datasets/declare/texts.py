"""Texts as rows of bytes: a row is a text in UTF-8 with zero bytes behind it. What a method sees an encoder decides.

So the stored data are the texts themselves, whatever words and vectors a fit asks for, and a new text is scored as it
is.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[^\W_]+")


def to_rows(texts: Sequence[str], length: int, longer: Literal["refuse", "cut"] = "refuse") -> NDArray[np.uint8]:
    """Rows (n, length) of texts.

    Parameters
    ----------
    length : bytes of a row.
    longer : what becomes of a text of more bytes; a cut one ends with a whole character.

    Raises
    ------
    ValueError : a longer text that is not to be cut, or one with a zero byte; both are named by their place.
    """
    X = np.zeros((len(texts), length), dtype=np.uint8)
    for i, text in enumerate(texts):
        content = text.encode("utf-8")
        if b"\0" in content:
            raise ValueError(f"text {i} holds a zero byte, which ends a row; remove it")
        if len(content) > length:
            if longer == "refuse":
                raise ValueError(f"text {i} has {len(content)} bytes in UTF-8, at most {length} expected")
            content = content[:length].decode("utf-8", errors="ignore").encode("utf-8")
        X[i, : len(content)] = np.frombuffer(content, dtype=np.uint8)
    return X


def to_texts(X: NDArray[Any]) -> list[str]:
    """The texts of rows (n, length), whose numbers may be stored bytes or floats of the same values.

    Raises
    ------
    ValueError : rows that hold other values than bytes, or bytes that are no UTF-8.
    """
    stored = X.astype(np.uint8)
    if not np.array_equal(stored, X):
        raise ValueError("rows of a text hold bytes, 0 to 255; got other values: do not scale them beforehand")
    try:
        return [row.tobytes().rstrip(b"\0").decode("utf-8") for row in stored]
    except UnicodeDecodeError as error:
        raise ValueError(f"rows of a text hold UTF-8 with zeros behind it; got {error}") from error


def normal_form(text: str) -> str:
    """What texts are compared by: letters and digits alone, without case, HTML entities read, one blank between words.

    A text without letters and digits is its own normal form, but for blanks around it.
    """
    plain = unicodedata.normalize("NFKC", html.unescape(text)).casefold()
    return " ".join(_WORD.findall(plain)) or text.strip()


def equal_texts(X: NDArray[Any]) -> NDArray[np.int64]:
    """Number rows by normal form: equal ones share the row number of the first of them."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(normal_form(text), i) for i, text in enumerate(to_texts(X))], dtype=np.int64)
