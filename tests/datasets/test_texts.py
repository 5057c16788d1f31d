"""Texts as rows of bytes, and what counts as the same text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puoc.datasets.declare.dataset import Arrays
from puoc.datasets.declare.texts import equal_texts, normal_form, to_rows, to_texts
from puoc.datasets.prepare.arrays import Prepared

anything = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)


@given(st.lists(anything, max_size=6))
def test_rows_give_the_texts_back_also_as_floats(texts: list[str]) -> None:
    X = to_rows(texts, 50)
    assert X.shape == (len(texts), 50)
    assert X.dtype == np.uint8
    assert to_texts(X) == to_texts(X.astype(np.float32)) == texts


@given(anything, st.integers(0, 12))
def test_a_cut_text_is_the_longest_beginning_that_fits(text: str, length: int) -> None:
    (cut,) = to_texts(to_rows([text], length, longer="cut"))
    assert text.startswith(cut)
    assert len(cut.encode()) <= length
    longer = text[: len(cut) + 1]
    assert longer == cut or len(longer.encode()) > length


def test_what_is_no_row_of_a_text_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="text 1 has 4 bytes in UTF-8; expected at most 3"):
        to_rows(["abc", "üü"], 3)
    with pytest.raises(ValueError, match="text 0 contains a zero byte"):
        to_rows(["a\0b"], 3)
    for wrong in (np.array([[0.5, 0]]), np.array([[300, 0]]), np.array([[-1.0, 0]]), np.array([[np.nan, 0]])):
        with pytest.raises(ValueError, match="got rows with other values than bytes"), np.errstate(invalid="ignore"):
            to_texts(wrong)
    with pytest.raises(ValueError, match=r"rows do not contain UTF-8 .*0xff"):
        to_texts(np.array([[255, 0]]))


@pytest.mark.parametrize(
    "other",
    [
        "sorry i ll call later",
        "Sorry, I'll   call later!!",
        " SORRY I&apos;LL CALL LATER",
        "Sorry, I\u2019ll call\nlater",
        "\uff33orry_I_ll call later",
    ],
)
def test_case_marks_entities_and_blanks_make_no_other_text(other: str) -> None:
    assert normal_form("Sorry, I'll call later") == normal_form(other) == "sorry i ll call later"


def test_another_letter_or_digit_makes_another_text() -> None:
    texts = ["call 0800", "call 0801", "cal 0800", "0800 call", "call", ":)", ":-)", ""]
    assert len({normal_form(text) for text in texts}) == len(texts)
    assert normal_form(" :) ") == ":)"


@given(anything)
def test_a_normal_form_is_its_own(text: str) -> None:
    assert normal_form(normal_form(text)) == normal_form(text)


def test_texts_of_one_normal_form_are_a_group_and_images_of_the_same_bytes_are_not() -> None:
    X = to_rows(["Ok lor...", "ok", "OK LOR", "ok!", "ok lor?"], 20)
    assert equal_texts(X).tolist() == [0, 1, 0, 1, 0]
    arrays = Arrays(X, np.array([0, 1, 0, 1, 0]))
    texts = Prepared.of(arrays, name="own", inputs="text", classes=("a", "b"))
    assert texts.group.tolist() == [0, 1, 0, 1, 0]
    assert texts.meta.duplicates == 3
    assert Prepared.of(arrays, name="own", inputs="vector", classes=("a", "b")).meta.duplicates == 0
