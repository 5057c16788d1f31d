"""The text datasets are what their sources say, with every quirk of the files handled."""

from __future__ import annotations

import csv
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from puoc.datasets import DATASETS
from puoc.datasets.declare.texts import normal_form, to_texts
from puoc.datasets.op_spam import CSV, FOLD_OF, ZIP, OpSpam, members, positive_reviews, read
from puoc.datasets.prepare import FetchError
from puoc.datasets.prepare.arrays import Prepared, prepare
from puoc.datasets.sms_spam import SMSSpam
from puoc.records import Sample, TestSet
from puoc.scenarios import check_disjoint, draw
from puoc.scenarios import test_rows as rows_of_test

Opened = Callable[[str], Prepared]
SOURCE = {"sms_spam": "sms_spam", "sms_spam_csv": "sms_spam", "op_spam": "op_spam"}


@pytest.fixture(scope="module")
def opened(mirror: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Opened:
    folder = tmp_path_factory.mktemp("texts")

    def one(name: str) -> Prepared:
        digest = prepare(name, folder / "data", folder / "prepared", mirror=mirror(SOURCE[name]))
        assert digest == DATASETS[name].digest
        return Prepared.open(folder / "prepared" / name)

    return one


def by_hand(mirror: Callable[[str], Path]) -> list[list[str]]:
    content = (mirror("sms_spam") / "sms_spam" / "SMSSpamCollection").read_bytes().decode()
    return [line.split("\t") for line in content.split("\n")[:-1]]


def test_sms_are_the_lines_of_the_file(opened: Opened, mirror: Callable[[str], Path]) -> None:
    data, lines = opened("sms_spam"), by_hand(mirror)
    assert to_texts(data.X) == [text for _, text in lines]
    assert [data.meta.classes[number] for number in data.y] == [label for label, _ in lines]
    assert Counter(label for label, _ in lines) == {"ham": 4827, "spam": 747}
    assert sum('"' in text for _, text in lines) == 145
    assert sum(not text.isascii() for _, text in lines) == 483
    assert max(len(text.encode()) for _, text in lines) == SMSSpam.shape[0]


def test_sms_as_csv_are_what_pandas_makes_of_the_file(opened: Opened, mirror: Callable[[str], Path]) -> None:
    data = opened("sms_spam_csv")
    path = mirror("sms_spam") / "sms_spam" / "SMSSpamCollection"
    table = pd.read_csv(path, sep="\t", header=None, keep_default_na=False)
    assert len(table) == 5572
    assert to_texts(data.X) == table[1].tolist()
    assert [data.meta.classes[number] for number in data.y] == table[0].tolist()


def test_copies_of_a_message_are_one_group_and_have_one_class(opened: Opened, mirror: Callable[[str], Path]) -> None:
    data, texts = opened("sms_spam"), [text for _, text in by_hand(mirror)]
    assert len(texts) - len(set(texts)) == 403
    assert data.meta.duplicates == 443  # those that differ in case, marks or blanks too
    groups = pd.Series(data.y).groupby(data.group)
    assert (groups.nunique() == 1).all()
    largest = to_texts(data.X[data.group == groups.size().idxmax()])
    assert {normal_form(text) for text in largest} == {"sorry i ll call later"}
    assert len(largest) == 30


@pytest.mark.parametrize("name", ["sms_spam", "sms_spam_csv"])
def test_no_copy_of_a_training_message_is_tested_or_on_both_sides(opened: Opened, name: str) -> None:
    """The paper has 1,910 labelled ham, and 1,937 ham and 609 spam in U; a stratified 4:1 leaves 597 spam."""
    data = opened(name)
    counts = {"n_pos_lab": 1910, "n_pos_unl": 1900, "n_neg_unl": 597}
    sample = Sample(dataset=name, data_digest=data.digest, pos=(0,), neg=(1,), **counts)
    forms = [normal_form(text) for text in to_texts(data.X)]
    for seed in range(6):
        drawn = draw(data, sample, seed)
        rows, is_positive = rows_of_test(data, TestSet(pos=(0,), neg=(1,)), seed)
        check_disjoint(data, drawn, rows)
        p, u, test = ({forms[row] for row in side} for side in (drawn.p, drawn.u, rows))
        assert not p & u
        assert not (p | u) & test
        assert (len(drawn.p), int(drawn.y_u.sum()), int((~drawn.y_u).sum())) == tuple(counts.values())
        assert abs(is_positive.sum() - 966) <= 10
        assert len(rows) - is_positive.sum() == 150


def test_a_line_that_is_no_message_is_named(tmp_path: Path) -> None:
    for content, said in (("ham\tone\nspam two\n", "row 2 is"), ("ham\tone\neggs\ttwo", r"row 2 is \['eggs', 'two'\]")):
        (tmp_path / "SMSSpamCollection").write_text(content)
        with pytest.raises(ValueError, match=said):
            SMSSpam.load(tmp_path)


def reviews_of(mirror: Callable[[str], Path]) -> pd.DataFrame:
    return pd.read_csv(mirror("op_spam") / "op_spam" / CSV)


def test_reviews_are_the_positive_ones_of_the_corpus(opened: Opened, mirror: Callable[[str], Path]) -> None:
    data, table = opened("op_spam"), reviews_of(mirror)
    assert (table.groupby(["deceptive", "polarity", "hotel"]).size() == 20).all()
    wanted = table[table.polarity == "positive"]
    assert Counter(zip(to_texts(data.X), (data.meta.classes[y] for y in data.y), strict=True)) == Counter(
        zip(wanted.text.str.strip(), wanted.deceptive, strict=True)
    )
    assert all(text == text.strip() for text in to_texts(data.X))
    assert max(len(text.encode()) for text in to_texts(data.X)) == OpSpam.shape[0]
    assert data.meta.duplicates == 0


def test_no_hotel_is_on_both_sides_and_the_test_is_one_fold_of_five(
    mirror: Callable[[str], Path], opened: Opened
) -> None:
    table = reviews_of(mirror)
    assert dict(zip(table.hotel, table.fold, strict=True)) == FOLD_OF
    data = opened("op_spam")
    assert data.split is not None
    hotel = {text.strip(): hotel for text, hotel in zip(table.text, table.hotel, strict=True)}
    sides = [{hotel[text] for text in to_texts(data.X[data.split == side])} for side in (0, 1)]
    assert [len(side) for side in sides] == [16, 4]
    assert not sides[0] & sides[1]


def test_copies_in_the_negative_half_have_one_normal_form(mirror: Callable[[str], Path]) -> None:
    negative = reviews_of(mirror).query("polarity == 'negative'")
    forms = negative.text.map(normal_form)
    assert forms.duplicated().sum() == 4
    assert Counter(negative.hotel[forms.duplicated()]) == {"omni": 2, "affinia": 1, "monaco": 1}
    assert set(negative.deceptive[forms.duplicated()]) == {"truthful"}


def authors_archive(table: pd.DataFrame, path: Path) -> None:
    """The corpus as its authors lay it out, in another order and with double quotation marks."""
    source = {
        "truthful": {"positive": "TripAdvisor", "negative": "Web"},
        "deceptive": dict.fromkeys(("positive", "negative"), "MTurk"),
    }
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("op_spam_v1.4/README", "not a review")
        for number, row in enumerate(table.sample(frac=1, random_state=0).itertuples()):
            place = f"{row.polarity}_polarity/{row.deceptive}_from_{source[row.deceptive][row.polarity]}/fold{row.fold}"
            text = row.text.replace("'", '"') + "\n"
            archive.writestr(f"op_spam_v1.4/{place}/{row.deceptive[0]}_{row.hotel}_{number}.txt", text)


def test_the_archive_of_the_authors_and_tables_without_folds_give_the_same_rows(
    mirror: Callable[[str], Path], opened: Opened, tmp_path: Path
) -> None:
    table, data = reviews_of(mirror), opened("op_spam")
    given = tmp_path / "given" / "op_spam"
    given.mkdir(parents=True)
    authors_archive(table, given / ZIP)
    assert prepare("op_spam", tmp_path / "data", tmp_path / "prepared", mirror=tmp_path / "given") == data.digest
    (given / ZIP).unlink()
    table.drop(columns="fold").sample(frac=1, random_state=1).to_csv(given / CSV, index=False, quoting=csv.QUOTE_ALL)
    assert prepare("op_spam", tmp_path / "data2", tmp_path / "prepared2", mirror=tmp_path / "given") == data.digest


def test_another_corpus_is_refused_and_it_is_said_where_to_get_one(
    mirror: Callable[[str], Path], tmp_path: Path
) -> None:
    given = tmp_path / "given" / "op_spam"
    given.mkdir(parents=True)
    table = reviews_of(mirror)
    table.loc[table.index[table.polarity == "positive"][7], "text"] += "!"
    authors_archive(table, given / ZIP)
    with pytest.raises(FetchError, match=r"given/op_spam: got values of .* expected"):
        prepare("op_spam", tmp_path / "data", tmp_path / "prepared", mirror=tmp_path / "given")
    with pytest.raises(FetchError, match=rf"op_spam was not found.*put {ZIP} .*myleott\.com"):
        prepare("op_spam", tmp_path / "data", tmp_path / "prepared", mirror=tmp_path)
    (given / ZIP).write_bytes(b"no archive")
    with pytest.raises(FetchError, match=f"{ZIP} is not a zip archive"):
        prepare("op_spam", tmp_path / "data", tmp_path / "prepared", mirror=tmp_path / "given")
    (given / CSV).write_text("deceptive,hotel,text\n")
    assert members(given).keys() == {CSV}
    with pytest.raises(ValueError, match=r"got the columns \['deceptive', 'hotel', 'text'\]; .*polarity"):
        read(given)
    (given / CSV).write_text("deceptive,hotel,polarity,text\ntruthful,ritz,positive,fine\n")
    with pytest.raises(ValueError, match=r"got a review \(truthful, ritz, positive\)"):
        positive_reviews(given)
    with pytest.raises(ValueError, match=f"contains neither {CSV} nor {ZIP}"):
        read(tmp_path)
