"""Words of texts in any script, and sequences of characters where words fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from own_files import check, puoc, refused
from pydantic import TypeAdapter
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from puoc.cli.assess import check_texts
from puoc.datasets.readers import How, Pair, Preparing, read_pair
from puoc.datasets.readers.words import characters_of, same_text, tokens_for, words_of
from puoc.datasets.user.leakage import audit
from puoc.records import Array

WORDS = {
    "don't, STRASSE Straße x_1": ["don", "t", "strasse", "strasse", "x_1"],
    "की हाँ दुकान": ["की", "हाँ", "दुकान"],
    "مرحبا بِكَ": ["مرحبا", "بِكَ"],
    "می‌خواهم": ["می‌خواهم"],
    "a 好": ["a", "好"],
    "你好 abc": ["你", "好", "你好", "abc"],
    "ดีค": ["ดี", "ค", "ดีค"],
    "カタabc": ["カ", "タ", "カタ", "abc"],
    "안녕 세계": ["안녕", "세계"],
    "so 👍🏽👩‍👩‍👧🇩🇪🇫🇷1️⃣☀️": ["so", "👍🏽", "👩‍👩‍👧", "🇩🇪", "🇫🇷", "1️⃣", "☀️"],
    "\uff21\uff22\uff23 e\u0301": ["abc", "é"],
    "... -": [],
}


@pytest.mark.parametrize("text", WORDS)
def test_words_keep_their_signs_and_emoji_are_words(text: str) -> None:
    assert words_of(text) == WORDS[text]


def test_characters_are_taken_in_sequences_of_up_to_three() -> None:
    assert characters_of(" Ab \t c") == ["a", "b", " ", "c", "ab", "b ", " c", "ab ", "b c"]


#: Words of two kinds, and what stands between words.
SCRIPTS = {
    "Hindi": ("की है जी दुकान पानी किताब बाज़ार सरकार", "हाँ का हूँ दिन मकान कविता बारिश सड़क", " "),
    "Thai": ("กิน ข้าว บ้าน น้ำ รัก แมว", "ไป ตลาด รถ ฝน สวย หมา", ""),
    "Chinese": ("你好 世界 朋友 学校 电脑", "再见 天气 工作 医院 汽车", ""),
    "Japanese": ("ねこ さかな 東京 カメラ たべる", "いぬ やさい 大阪 テレビ はしる", ""),
    "Arabic": ("كِتَاب بَيْت مَاء سُوق", "كُتُب بِنْت مَال سَيْف", " "),
    "emoji": ("😀 👍🏽 ☀️ 🇩🇪 ❤️ a", "😢 👎🏽 🌧️ 🇫🇷 💔 b", " "),
}


def made(script: str, n: int, share: float, seed: int) -> list[str]:
    """Texts of 8 words, of which a share is of the first kind."""
    first, second, between = SCRIPTS[script]
    rng = np.random.default_rng(seed)
    kinds = rng.random((n, 8)) < share
    return [between.join(str(rng.choice((first if one else second).split())) for one in row) for row in kinds]


def files(folder: Path, script: str) -> None:
    parts = {
        "p": made(script, 60, 0.65, 1),
        "u": [*made(script, 50, 0.65, 2), *made(script, 50, 0.35, 3)],
        "t/positive": made(script, 80, 0.65, 4),
        "t/negative": made(script, 80, 0.35, 5),
    }
    (folder / "t").mkdir()
    for name, texts in parts.items():
        (folder / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")


def auc(X_p: Array, X_u: Array, X_t: Array, positive: Array) -> float:
    fitted = LogisticRegression(C=0.3).fit(np.concatenate([X_p, X_u]), np.repeat([1, 0], [len(X_p), len(X_u)]))
    return float(roc_auc_score(positive, fitted.decision_function(X_t)))


def raw_texts(pair: Pair) -> list[list[str]]:
    assert pair.unlabelled is not None
    assert pair.test is not None
    return [part.raw.texts for part in (pair.positives, pair.unlabelled, pair.test)]  # type: ignore[union-attr]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_class_is_learned_in_any_script_as_from_character_sequences(script: str, tmp_path: Path) -> None:
    files(tmp_path, script)
    pair = read_pair(tmp_path / "p.txt", tmp_path / "u.txt", test=tmp_path / "t")
    assert pair.preparing.tokens == "words"  # type: ignore[union-attr]
    assert pair.unlabelled is not None
    assert pair.test is not None
    P, U, T = raw_texts(pair)
    pairs = TfidfVectorizer(analyzer="char", ngram_range=(1, 2), sublinear_tf=True).fit([*P, *U])
    positive = pair.test.positive
    assert positive is not None
    expected = auc(*(pairs.transform(part).toarray() for part in (P, U, T)), positive)
    found = auc(pair.positives.X, pair.unlabelled.X, pair.test.X, positive)
    assert expected > 0.7
    assert found > expected - 0.02
    audited = audit(pair)
    assert audited.shared == len([text for text in T if text in {*P, *U}])  # texts are equal only as a whole
    again = TypeAdapter(Preparing).validate_json(pair.preparing.model_dump_json())
    assert np.array_equal(np.concatenate([block.X for block in again.stream(tmp_path / "p.txt", How())]), pair.X_p)


def test_texts_that_differ_in_one_sign_are_not_equal_and_case_and_punctuation_do_not_count() -> None:
    assert len({same_text(text) for text in ("की", "का", "कि", "क")}) == 4
    assert len({same_text(text) for text in ("👍", "👎", "ดี", "ดา", "你好", "你们", "بِ", "بُ", ":)", ":(")}) == 10
    assert same_text("Sorry, I'll call LATER...") == same_text("sorry I&#39;ll call later")


CODES = ["".join(np.random.default_rng(i).choice(list("ACGT"), 30)) for i in range(40)]


def test_characters_are_taken_where_words_fail_and_this_is_said(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("\n".join(CODES))
    (tmp_path / "u.txt").write_text("\n".join(["hello world"] * 3 + CODES[:20]))
    assert tokens_for(CODES) == "characters"
    assert tokens_for([*CODES[:5], *["a word"] * 6]) == "words"
    assert tokens_for(CODES[:9]) == "words"  # too few
    assert tokens_for([":)", ":("]) == "characters"
    code, said = check(tmp_path / "p.txt")
    assert code == 0, said
    assert "texts are represented by sequences of one to three characters, since fewer than half" in " ".join(
        said.split()
    )
    pair = read_pair(tmp_path / "p.txt", None, How(tokens="words"))
    assert pair.preparing.features == tuple(sorted(code.lower() for code in CODES))
    assert pair.notes == ()
    assert {"a", "ac"} <= set(read_pair(tmp_path / "u.txt", None, How(tokens="characters")).preparing.features)


def test_texts_that_differ_only_in_their_order_are_told_from_equal_ones(tmp_path: Path) -> None:
    orders = ["a b c d", "a c b d", "b a d c", "d c b a"]
    (tmp_path / "p.txt").write_text("\n".join(orders[:2] * 15))
    (tmp_path / "u.txt").write_text("\n".join(orders[2:] * 15))
    files = ("--positives", tmp_path / "p.txt", "--unlabelled", tmp_path / "u.txt", "--html", tmp_path / "a.html")
    files += ("--allow-file-differences",)  # their first words differ, which is asked about
    refused(
        puoc("assess", *files),
        "30 of 30 texts are no labelled ones, but have the same words in the same numbers",
        "or --tokens characters",
    )
    (tmp_path / "u.txt").write_text("\n".join(orders[:2] * 15))
    refused(puoc("assess", *files), "all rows of P and U are the same")


def test_texts_of_words_that_are_too_rare_to_be_used_are_told_so(tmp_path: Path) -> None:
    """With more words, these texts differ, so it is not said that they have the same ones."""
    rng = np.random.default_rng(0)
    texts = [" ".join("".join(word) for word in rng.choice(list("abcdefgh"), (2, 6))) for _ in range(120)]
    (tmp_path / "p.txt").write_text("\n".join(texts[:60]))
    (tmp_path / "u.txt").write_text("\n".join(texts[60:]))
    few = read_pair(tmp_path / "p.txt", tmp_path / "u.txt", How(tokens="words", words=20))
    with pytest.raises(ValueError, match="have the same words among the 20 most frequent ones in the same numbers"):
        check_texts(few)
    check_texts(read_pair(tmp_path / "p.txt", tmp_path / "u.txt", How(tokens="words", words=500)))


@pytest.mark.parametrize(("tokens", "told"), [("words", "word"), ("characters", "sequence of characters")])
def test_texts_without_anything_known_are_counted(tokens: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("one two\ntwo one\n" * 5 + "...\n" * (tokens == "words"))
    (tmp_path / "v.txt").write_text("दो\nतीन\none\n", encoding="utf-8")
    out = tmp_path / "m"
    words = (
        "--tokens",
        tokens,
        "--positives",
        tmp_path / "p.txt",
        "--out",
        out,
        "--recall",
        "0.5",
        "--repeats",
        "apart",
    )
    code, said = puoc("fit", "--method", "oc_svm", *words)
    assert code == 0, said
    assert ("1 texts without a known word" in said) == (tokens == "words")
    code, said = puoc("score", "--model", out, tmp_path / "v.txt", "--out", tmp_path / "s.csv")
    assert code == 0, said
    assert f"2 texts without a known {told}" in " ".join(said.split())


def test_an_earlier_model_keeps_the_words_that_it_learned(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("हाँ a bb\nbb cc\n", encoding="utf-8")
    preparing = read_pair(tmp_path / "p.txt").preparing
    earlier = preparing.model_dump(mode="json") | {"words": ["bb", "cc"], "idf": [1.0, 2.0]}
    del earlier["tokens"]
    (block,) = TypeAdapter(Preparing).validate_python(earlier).stream(tmp_path / "p.txt", How())
    expected = TfidfVectorizer(vocabulary=["bb", "cc"], sublinear_tf=True)
    expected.idf_ = np.array([1.0, 2.0])
    assert np.array_equal(block.X, expected.transform(["हाँ a bb", "bb cc"]).toarray().astype(np.float32))


def test_texts_without_words_are_refused_with_what_would_do(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("...\n!!\n")
    refused(check(tmp_path / "p.txt", "--tokens", "words"), "p.txt: no words in ['...', '!!']", "--tokens characters")
    refused(
        check(tmp_path / "p.txt", "--tokens", "letters"), "--tokens: got 'letters'; expected 'words' or 'characters'"
    )
