"""The steps from a text to words: what each does, and that their order is what was asked."""

from __future__ import annotations

from itertools import permutations
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puoc.methods.encoders.words import ORDERS, Step, Words

KNOWN = {word: row for row, word in enumerate(["running", "run", "hotel", "Hotel", "don", "t", "3", "good", "gt", ">"])}


def found(text: str, *steps: Step) -> list[str]:
    """The known words that the steps find."""
    return [list(KNOWN)[row] for row in Words(steps, KNOWN)(text).rows]


@pytest.mark.parametrize(
    ("text", "steps", "words"),
    [
        ("Hotel hotel HOTEL", (), ["Hotel", "hotel"]),
        ("Hotel hotel HOTEL", ("lower",), ["hotel"] * 3),
        ("hotel, (hotel) hotel-good!", (), []),
        ("hotel, (hotel) hotel-good!", ("punctuation",), ["hotel", "hotel", "hotel", "good"]),
        ("don't 3_3", ("punctuation",), ["don", "t", "3", "3"]),
        ("> &gt; &gt;3", (), [">"]),
        ("> &gt; &gt;3", ("entities",), [">", ">"]),
        ("&gt;3", ("punctuation",), ["gt", "3"]),
        ("&gt;3", ("entities", "punctuation"), ["3"]),
        ("running runs run", ("stem",), ["run"] * 3),
        ("running runs run", ("look_up", "stem"), ["running", "run", "run"]),
        ("Hotel", ("look_up", "lower"), ["Hotel"]),
        ("Hotel", ("lower", "look_up"), ["hotel"]),
    ],
)
def test_a_step_does_what_it_says(text: str, steps: tuple[Step, ...], words: list[str]) -> None:
    assert found(text, *steps) == words


def test_stop_words_go_in_any_case_and_only_as_whole_words() -> None:
    words = Words(("stop_words",), {"the": 0, "The": 1, "the,": 2, "theme": 3})
    assert words("the The THE the, theme") == ([2, 3], 2)
    assert Words(("punctuation", "stop_words"), {"the": 0})("the, the").n_words == 0


def test_the_order_decides() -> None:
    """Marks that hide a stop word, capitals that hide a stem: the paper's order and ours differ on them."""
    text = "The, Running hotels"
    ours, papers = (Words(ORDERS[name], KNOWN | {"the": 99}) for name in ("look_up_first", "paper"))
    assert ours(text) == ([KNOWN["running"], KNOWN["hotel"]], 2)
    assert papers(text) == ([99, KNOWN["run"], KNOWN["hotel"]], 3)
    results = {found("Running runs", *order)[0] for order in permutations(("lower", "look_up", "stem"))}
    assert results == {"running", "run"}


def test_a_word_without_a_vector_is_left_out_and_counted() -> None:
    assert Words(("lower",), KNOWN)("good unknown good zzz") == ([KNOWN["good"]] * 2, 4)
    assert Words(("lower",), KNOWN)("") == ([], 0)


steps_lists = st.lists(st.sampled_from(get_args(Step)), max_size=6)


@given(st.lists(st.text(max_size=6), max_size=4), steps_lists)
def test_words_of_a_text_are_those_of_its_parts(parts: list[str], steps: list[Step]) -> None:
    words = Words(steps, KNOWN)
    apart = [words(part) for part in parts]
    whole = words(" ".join(parts))
    assert whole == ([row for one in apart for row in one.rows], sum(one.n_words for one in apart))
    assert len(whole.rows) <= whole.n_words


@given(st.text(max_size=20))
def test_looking_up_first_finds_no_fewer_words(text: str) -> None:
    later = Words(("entities", "lower", "punctuation", "stop_words", "stem"), KNOWN)(text)
    first = Words(ORDERS["look_up_first"], KNOWN)(text)
    assert first.n_words == later.n_words
    assert len(first.rows) >= len(later.rows)
