"""Texts of two files that were typed in two ways: what a method can learn is asked about, all else is a note."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from puoc.datasets.audit.spelling import pairs_of
from puoc.datasets.readers import How
from puoc.datasets.readers.file_differences import between
from puoc.datasets.readers.texts import RawTexts
from puoc.datasets.readers.training_files import Paths, audit_files
from puoc.datasets.readers.words import Tokens, characters_of, words_of

WORDS = (
    "the naïve café's menu isn't well-known... says \"no\" to you and the rest of us since naive people left it cafe"
)
CURLY = str.maketrans("'\"", "\u2019\u201d")
Change = Callable[[str], str]


def texts(n: int, seed: int) -> list[str]:
    rng, words = np.random.default_rng(seed), WORDS.split()
    return [" ".join(rng.choice(words, 12)) for _ in range(n)]


def full_width(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


#: A change of the texts of U, the property that is named, and the tokens by which a method can learn it.
CHANGES: dict[str, tuple[Change, str, set[Tokens]]] = {
    "typographic quotation marks": (lambda t: t.translate(CURLY), "quotation marks", {"characters"}),
    "dashes": (lambda t: t.replace("-", "\u2013"), "dashes", {"characters"}),
    "an ellipsis": (lambda t: t.replace("...", "…"), "ellipses", set()),
    "no-break blanks": (lambda t: t.replace(" ", "\u00a0"), "blanks", set()),
    "blanks at the end": (lambda t: t + "  ", "blanks at the ends", set()),
    "line breaks": (lambda t: t.replace(" ", "\r\n", 1), "line breaks", set()),
    "zero-width blanks": (lambda t: t.replace("e", "e\u200b"), "zero-width characters", {"words", "characters"}),
    "soft hyphens": (lambda t: t.replace("e", "e\u00ad"), "zero-width characters", {"words", "characters"}),
    "NFD": (lambda t: unicodedata.normalize("NFD", t), "forms of letters", set()),
    "full width": (full_width, "widths of letters", set()),
    "capitals": (str.upper, "case", set()),
    "no accents": (without_accents, "accents", {"words", "characters"}),
}


@pytest.mark.parametrize("tokens", ["words", "characters"])
@pytest.mark.parametrize("name", CHANGES)
def test_each_variant_is_named_and_asked_about_if_the_tokens_have_it(name: str, tokens: Tokens) -> None:
    change, prop, seen_in = CHANGES[name]
    p = [text.replace(" ", "\n", 1) if prop == "line breaks" else text for text in texts(120, 1)]
    u = texts(160, 2)
    found = between(RawTexts("p", p), RawTexts("u", [change(text) for text in u]), How(tokens=tokens))
    (one,) = (one for one in found.found if one.name == prop)
    assert one.seen == (tokens in seen_in)
    split = words_of if tokens == "words" else characters_of
    traces = any(split(change(text)) != split(text) for text in u)
    assert traces or not one.seen  # what is asked about changes the tokens
    if one.seen or not traces:  # and what is not leaves them as they are
        assert traces == one.seen


def test_texts_of_one_source_and_another_language_are_not_asked_about() -> None:
    for seed in range(10):
        for tokens in ("words", "characters"):
            found = between(
                RawTexts("p", texts(100, 2 * seed)), RawTexts("u", texts(150, 2 * seed + 1)), How(tokens=tokens)
            )
            assert not found.found
    rng = np.random.default_rng(0)
    words = np.array(["über", "die", "Brücke", "läuft", "der", "schöne", "Hund", "grüßt", "und", "bellt"])
    german = [" ".join(rng.permutation(words)) for _ in range(60)]
    assert not between(RawTexts("p", texts(60, 1)), RawTexts("u", [*texts(40, 2), *german]), How()).seen


def test_words_or_characters_decide_without_an_option() -> None:
    p, u = texts(60, 1), [text.translate(CURLY) for text in texts(80, 2)]
    assert not between(RawTexts("p", p), RawTexts("u", u), How()).seen
    codes = [f"{i * 7919:x}-'{i * 1299709:x}'" for i in range(40)]  # share no words, so that characters are taken
    others = [f"{i * 104729:x}-\u2019{i * 15485863:x}\u2019" for i in range(41, 81)]
    found = between(RawTexts("p", codes), RawTexts("u", others), How())
    assert [one.name for one in found.seen] == ["quotation marks"]


@pytest.mark.parametrize("name", [name for name in CHANGES if name != "line breaks"])
def test_categories_that_differ_in_it_are_another_spelling(name: str, tmp_path: Path) -> None:
    kinds = ["café's bar", 'the "inn"', "well-known", "and so on..."]
    change = CHANGES[name][0]
    changed = [(kind, change(kind)) for kind in kinds if change(kind) != kind]
    assert changed
    for kind, other in changed:
        assert pairs_of({kind}, {other}) == [(kind, other)]
    rng = np.random.default_rng(0)
    for part, n, of in (("p", 90, lambda t: t), ("u", 140, change)):
        rows = pd.DataFrame({"x": rng.normal(size=n).round(3), "kind": [of(kind) for kind in rng.choice(kinds, n)]})
        rows.to_csv(tmp_path / f"{part}.csv", index=False)
    audited = audit_files(Paths(tmp_path / "p.csv", tmp_path / "u.csv"), How())[0].audited
    assert audited is not None
    asked = {one.name: one.reasons for one in audited.of("asked")}
    assert name == "blanks at the end" or "is spelt differently in both files" in asked["kind"][0]
    if name == "blanks at the end":  # the reader strips them
        assert asked == {}
