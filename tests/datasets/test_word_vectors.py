"""Files of word vectors in every published form, and the encoders that look words up in them."""

from __future__ import annotations

import ast
import gzip
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from puoc import digests
from puoc.datasets import DATASETS
from puoc.datasets.declare.texts import to_rows, to_texts
from puoc.datasets.prepare import FetchError
from puoc.datasets.prepare import word_vectors as vectors
from puoc.datasets.prepare.word_vectors import read_vectors, word_vectors
from puoc.methods.encoders import make, normalise
from puoc.methods.encoders.word_vectors import MeanWordVector, OfWords, WordSequence
from puoc.methods.encoders.words import ORDERS, Step, Words
from puoc.methods.lstm import check_sequences
from puoc.records import Array

WORDS = ["good", "bad", "null", "nan", "über", "call", "0800", "<", "don't", "run", "u"]
VECTORS = np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32)


def as_lines(header: str = "") -> bytes:
    lines = [f"{word} {' '.join(f'{value:.9g}' for value in row)}" for word, row in zip(WORDS, VECTORS, strict=True)]
    return (header + "\n".join(lines) + "\n").encode()


def as_binary(break_lines: bool = True) -> bytes:
    """word2vec's: a header, then each word, a blank and its floats; its tool breaks lines, Google's file has none."""
    end = b"\n" if break_lines else b""
    records = [word.encode() + b" " + row.tobytes() + end for word, row in zip(WORDS, VECTORS, strict=True)]
    return f"{len(WORDS)} 5\n".encode() + b"".join(records)


FORMS = {
    "GloVe": as_lines(),
    "fastText": as_lines(f"{len(WORDS)} 5\n"),
    "binary": as_binary(),
    "binary without line feeds": as_binary(break_lines=False),
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and a working folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PUOC_MIRROR", raising=False)
    (tmp_path / "data" / "vectors").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


@pytest.fixture
def digits(tmp_path: Path) -> str:
    """The first digits of the checksum of WORDS as GloVe writes them, which lie in data/vectors."""
    (tmp_path / "data" / "vectors" / "toy.txt").write_bytes(FORMS["GloVe"])
    return sha256(FORMS["GloVe"]).hexdigest()[:12]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_every_published_form_gives_the_words_and_the_vectors(tmp_path: Path, form: str, packed: bool) -> None:
    path = tmp_path / ("file.gz" if packed else "file")
    path.write_bytes(gzip.compress(FORMS[form]) if packed else FORMS[form])
    words, matrix = read_vectors(path)
    assert words == WORDS
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix, VECTORS)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"no vectors here\n",
        b"<!DOCTYPE html><html>\n<p>moved</p>\n",
        b"PK\x03\x04" + bytes(range(256)),
        FORMS["GloVe"][:-25],
        FORMS["GloVe"] + b"short 1 2\n",
        FORMS["fastText"][:-60],
        FORMS["fastText"][:-61],
        FORMS["fastText"][:-70],
        FORMS["binary"][:-3],
        FORMS["binary without line feeds"][:-30],
        as_lines().replace(b"bad ", b"bad nan "),
    ],
    ids=[
        "empty",
        "blank",
        "prose",
        "html",
        "zip",
        "cut GloVe",
        "odd line",
        "one value",
        "a word",
        "cut fastText",
        "cut binary",
        "cut",
        "nan",
    ],
)
def test_what_is_no_whole_file_of_vectors_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(FetchError, match="file is no whole file of word vectors"):
        read_vectors(tmp_path / "file")


def test_a_value_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    values = VECTORS.copy()
    values[3, 2] = np.inf
    content = b"1 5\n" + b"word " + values[3].tobytes()
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(FetchError, match="values that are not finite"):
        read_vectors(tmp_path / "file")


@pytest.mark.parametrize("folder", ["data/vectors", "data/glove", "mirror/vectors", "mirror/glove"])
def test_a_file_is_found_by_its_checksum_wherever_it_lies_and_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path, folder: str
) -> None:
    monkeypatch.setenv("PUOC_MIRROR", str(tmp_path / "mirror"))
    path = tmp_path / folder / "any name.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(FORMS["fastText"])
    digest = sha256(FORMS["fastText"]).hexdigest()
    found = word_vectors(digest[:8])
    assert list(found.row_of) == WORDS
    np.testing.assert_array_equal(found.matrix, VECTORS)
    assert isinstance(found.matrix, np.memmap)
    (kept,) = (own_cache / "puoc" / "vectors").glob(f"{digest}-*")
    assert {file.name for file in kept.iterdir()} == {"words.json", "vectors.npy"}
    path.unlink()
    assert word_vectors(digest) is found
    with pytest.raises(FetchError, match=r"no word vectors with sha256 0{8}.* in data/vectors.*docs/datasets\.md"):
        word_vectors("0" * 8)


def test_what_a_killed_reading_left_is_no_vectors_and_is_removed(digits: str, own_cache: Path) -> None:
    digest = sha256(FORMS["GloVe"]).hexdigest()
    half = own_cache / "puoc" / "vectors" / f".{digest}-half"
    half.mkdir(parents=True)
    (half / "words.json").write_text('["good"]')
    assert list(word_vectors(digits).row_of) == WORDS
    assert [path.name[:65] for path in half.parent.iterdir() if path.is_dir()] == [f"{digest}-"]


def forget() -> None:
    """Have the digests read the code again."""
    for cached in (digests._module, digests._text, digests._digest):
        cached.cache_clear()


def test_what_other_code_has_read_is_not_taken(digits: str, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest, root = sha256(FORMS["GloVe"]).hexdigest(), own_cache / "puoc" / "vectors"
    for name in (digest, f"{digest}-{'0' * 16}"):  # of a version that did not name its code, and of one that did
        (root / name).mkdir(parents=True)
        (root / name / "words.json").write_text('["good"]')
        np.save(root / name / "vectors.npy", VECTORS[:1] + 1)
    assert list(word_vectors(digits).row_of) == WORDS
    now = {path.name for path in root.iterdir() if path.is_dir()}
    tree = ast.parse(Path(vectors.__file__).read_bytes())
    (number,) = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value == 20]
    number.value = 21  # bits of the longest line: code that may read another thing
    monkeypatch.setattr(digests, "_tree", lambda module: tree)
    forget()
    try:
        assert list(word_vectors(digits).row_of) == WORDS
    finally:
        forget()
    assert len({path.name for path in root.iterdir() if path.is_dir()} - now) == 1


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path, own_cache: Path, digits: str) -> None:
    own_cache.write_text("a file where a folder should be")
    with pytest.raises(FetchError, match=r"cannot be written.*set XDG_CACHE_HOME"):
        word_vectors(digits)


def encoder(name: str, digits: str, **params: Any) -> OfWords:
    made = make(name, {"vectors": digits, "steps": "look_up_first"} | params)
    assert isinstance(made, OfWords)
    return made


TEXTS = ["Good &lt; BAD, good!", "", "the unknown", "Running 0800 the 0800 call", "nan null"]


def rows(texts: list[str] = TEXTS) -> Array:
    return to_rows(texts, 60).astype(np.float32)


def vector(word: str) -> Array:
    return VECTORS[WORDS.index(word)]


def test_a_sequence_is_a_mask_and_the_vectors_of_the_known_words_in_their_order(digits: str) -> None:
    sequences = encoder("word_vectors", digits, length=3).encode(rows())
    assert sequences.shape == (5, 3, 6)
    assert sequences.dtype == np.float32
    check_sequences("test", sequences)
    assert sequences[..., 0].tolist() == [[1, 1, 1], [1, 0, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0]]
    expected = [["good", "bad", "good"], [], [], ["run", "0800", "0800"], ["nan", "null"]]
    for sequence, words in zip(sequences, expected, strict=True):
        for step, word in zip(sequence, words, strict=False):
            np.testing.assert_array_equal(step[1:], vector(word))
        assert not sequence[len(words) :, 1:].any()


def test_a_mean_is_over_all_known_words_and_zero_where_there_is_none(digits: str) -> None:
    means = encoder("mean_word_vector", digits).encode(rows())
    assert means.shape == (5, 5)
    np.testing.assert_allclose(means[0], (2 * vector("good") + vector("bad")) / 3, rtol=1e-6)
    assert not means[1:3].any()
    np.testing.assert_allclose(means[3], (vector("run") + 2 * vector("0800")) / 3, rtol=1e-6)


@pytest.mark.parametrize("name", ["word_vectors", "mean_word_vector"])
def test_a_row_is_encoded_alike_whatever_its_companions(digits: str, name: str) -> None:
    made = encoder(name, digits, **({"length": 4} if name == "word_vectors" else {}))
    whole = made.encode(rows())
    np.testing.assert_array_equal(made.encode(rows()[::-1])[::-1], whole)
    np.testing.assert_array_equal(made.encode(rows()[3:4]), whole[3:4])
    assert made.encode(rows()[:0]).shape == (0, *whole.shape[1:])
    assert made.decision_function(rows()).shape == (5,)
    assert made.fit(rows()).state() == {}
    with pytest.raises(ValueError, match="no arrays expected"):
        made.restore({"w": whole}, (60,))


def test_coverage_is_counted_over_the_words_that_the_steps_leave(digits: str) -> None:
    """Left of the texts: good bad good, nothing, unknown, running 0800 0800, nan null; "call" is a stop word."""
    assert encoder("mean_word_vector", digits).counts(rows()) == {
        "texts": 5,
        "texts_without_vector": 2,
        "words": 3 + 0 + 1 + 3 + 2,
        "words_with_vector": 3 + 0 + 0 + 3 + 2,
    }
    assert encoder("word_vectors", digits, length=2).counts(rows())["texts_cut"] == 2
    assert encoder("word_vectors", digits, length=4).counts(rows())["texts_cut"] == 0


def test_a_name_of_an_order_and_its_steps_are_one_question(digits: str) -> None:
    named = normalise("mean_word_vector", {"vectors": digits, "steps": "paper"})
    assert named["steps"] == ["stop_words", "punctuation", "lower", "stem"]
    assert normalise("mean_word_vector", named) == named == json.loads(json.dumps(named))
    for wrong, said in (
        ("papr", "hyperparameter 'steps': got 'papr', expected paper or look_up_first, or a list of steps"),
        (["lower", "stemm"], "'stem' or 'look_up'"),
        ([], "at least 1 entry"),
    ):
        with pytest.raises(ValueError, match=said):
            normalise("mean_word_vector", {"vectors": digits, "steps": wrong})
    with pytest.raises(ValueError, match="hyperparameter 'vectors': got 'glove'"):
        normalise("mean_word_vector", {"vectors": "glove", "steps": "paper"})


def test_what_encoders_give_and_take_is_declared() -> None:
    assert (WordSequence.gives, MeanWordVector.gives) == ("sequence", "vector")
    assert WordSequence.inputs == MeanWordVector.inputs == {"text"}


def texts_of(mirror: Callable[[str], Path], name: str) -> list[str]:
    return to_texts(DATASETS[name].load(mirror(name) / ("sms_spam" if name == "sms_spam" else "")).X)


def covered(texts: list[str], glove: str, *steps: Step) -> float:
    words = Words(steps, word_vectors(glove).row_of)
    found = [words(text) for text in texts]
    return sum(len(one.rows) for one in found) / sum(one.n_words for one in found)


@pytest.mark.parametrize("name", ["sms_spam", "op_spam"])
def test_stemming_before_the_look_up_loses_words(mirror: Callable[[str], Path], glove: str, name: str) -> None:
    texts = texts_of(mirror, name)[:200]
    steps: tuple[Step, ...] = ("lower", "punctuation", "stop_words")
    assert (
        covered(texts, glove, *ORDERS["paper"]) + 0.04
        < covered(texts, glove, *steps)
        <= covered(texts, glove, *ORDERS["look_up_first"])
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "raw", "stemmed"), [("sms_spam", 0.954, 0.901), ("op_spam", 0.996, 0.912)])
def test_words_are_covered_as_they_are_known_to_be(
    mirror: Callable[[str], Path], glove: str, name: str, raw: float, stemmed: float
) -> None:
    """The pruned GloVe holds every word of both sets that GloVe has, so these are the shares in GloVe."""
    texts = texts_of(mirror, name)
    assert covered(texts, glove, "lower", "punctuation") == pytest.approx(raw, abs=0.001)
    assert covered(texts, glove, "lower", "punctuation", "stem") == pytest.approx(stemmed, abs=0.001)


def test_the_vectors_of_the_mirror_are_gloves(glove: str) -> None:
    found = word_vectors(glove)
    assert found.matrix.shape == (25470, 50)
    assert {"null", "nan"} < set(found.row_of)

    def cosine(*words: str) -> float:
        one, other = (found.matrix[found.row_of[word]] for word in words)
        return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))

    assert cosine("good", "great") == pytest.approx(0.80, abs=0.005)
    assert cosine("good", "table") == pytest.approx(0.63, abs=0.005)
