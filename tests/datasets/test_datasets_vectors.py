"""PenDigits and the Twitter accounts: what the files say, and nothing of what gives a class away."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from puoc.datasets import DATASETS
from puoc.datasets.prepare.arrays import Prepared, prepare
from puoc.datasets.twitter_tweets import FEATURES as OF_TWEETS
from puoc.datasets.twitter_users import FEATURES, KINDS, read_users
from puoc.records import Sample, TestSet
from puoc.scenarios import SCENARIOS, check_counts, check_disjoint, draw, sample_and_test
from puoc.scenarios import test_rows as rows_of_test

PART = {"twitter_users": "cresci2017", "twitter_tweets": "cresci2017"}  # of the mirror
Data = Callable[[str], Prepared]


@pytest.fixture(scope="module")
def data(mirror: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Data:
    """Prepared datasets by name, each made once."""
    root = tmp_path_factory.mktemp("vectors")

    def of(name: str) -> Prepared:
        if not (root / "prepared" / name).exists():
            prepare(name, root / "data", root / "prepared", mirror=mirror(PART.get(name, name)))
        return Prepared.open(root / "prepared" / name)

    return of


@pytest.mark.parametrize(
    ("name", "n", "repeated"),
    [("pendigits", 10992, 0), ("pendigits_odds", 6870, 0), ("twitter_users", 8386, 12), ("twitter_tweets", 6430, 69)],
)
def test_rows_are_numbers_between_0_and_1_and_known_in_number(data: Data, name: str, n: int, repeated: int) -> None:
    prepared = data(name)
    rows = prepared.take(np.arange(n))
    assert rows.shape == (len(prepared.y), *DATASETS[name].shape)
    assert np.isfinite(rows).all()
    assert (rows.min(), rows.max()) == (0, 1)
    assert prepared.meta.duplicates == repeated == n - len(np.unique(prepared.X, axis=0))


def test_a_row_of_pendigits_is_read_as_it_stands(data: Data) -> None:
    """The first lines of both files; the second is UCI's test part."""
    prepared = data("pendigits")
    assert prepared.split is not None
    assert prepared.X[0].tolist() == [47, 100, 27, 81, 57, 37, 26, 0, 0, 23, 56, 53, 100, 90, 40, 98]
    assert prepared.X[7494].tolist() == [88, 92, 2, 99, 16, 66, 94, 37, 70, 0, 0, 24, 42, 65, 100, 100]
    assert (prepared.y[0], prepared.y[7494]) == (8, 8)
    assert prepared.split.tolist() == [0] * 7494 + [1] * 3498


def test_odds_calls_the_zeros_outliers_and_here_normal_is_class_0(data: Data) -> None:
    """Each row belongs to one of UCI's training part, in the same order; a paper's positive class is ``pos: 0``."""
    uci, odds = data("pendigits"), data("pendigits_odds")
    train = uci.take(np.arange(7494))
    distance, nearest = cKDTree(train).query(odds.take(np.arange(6870)), p=np.inf)
    assert np.quantile(distance, 0.99) < 0.1
    digits = uci.y[nearest]
    assert (digits[odds.y == 1] == 0).all()
    assert (digits[odds.y == 0] != 0).mean() > 0.999
    assert (np.diff(nearest[odds.y == 0]) > 0).mean() > 0.99
    assert odds.meta.classes[0] == "normal"


def rewritten(source: Path, to: Path, change: Callable[[dict[str, str]], None]) -> Path:
    """The table with each account changed, quoted where it was: only an absent value and NULL are not."""
    with source.open(encoding="utf-8", newline="") as file:
        accounts = list(csv.DictReader(file))
    text = io.StringIO()
    writer = csv.DictWriter(text, accounts[0].keys(), quoting=csv.QUOTE_ALL)
    writer.writeheader()
    for account in accounts:
        change(account)
        writer.writerow(account)
    to.write_text(text.getvalue().replace('""', ""), encoding="utf-8")
    return to


LEAKING = (
    "id",
    "crawled_at",
    "updated",
    "timestamp",
    "protected",
    "verified",
    "is_translator",
    "follow_request_sent",
    "notifications",
    "contributors_enabled",
    "following",
    "test_set_1",
    "test_set_2",
)


@pytest.mark.parametrize("kind", [KINDS[1], KINDS[3]])
def test_what_gives_a_kind_away_is_no_feature(mirror: Callable[[str], Path], tmp_path: Path, kind: str) -> None:
    """Other values in these columns, or no such column, change nothing."""
    source = mirror("cresci2017") / "cresci2017" / f"{kind}.csv" / "users.csv"

    def other(account: dict[str, str]) -> None:
        account.update({column: "1" for column in LEAKING if column in account})

    def without(account: dict[str, str]) -> None:
        for column in LEAKING:
            account.pop(column, None)

    expected = read_users(source)
    assert expected.shape[1] == 22
    np.testing.assert_array_equal(read_users(rewritten(source, tmp_path / "other", other)), expected)
    with source.open(encoding="utf-8", newline="") as file:
        header = next(csv.reader(file))
    narrow = tmp_path / "narrow"
    with source.open(encoding="utf-8", newline="") as file, narrow.open("w", encoding="utf-8", newline="") as to:
        kept = [column for column in header if column not in LEAKING]
        writer = csv.DictWriter(to, kept, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(csv.DictReader(file))
    np.testing.assert_array_equal(read_users(narrow), expected)


def account(**changed: str) -> dict[str, str]:
    texts = {"name": "Ann Bee 7", "screen_name": "annbee77", "description": "Reads, 2 books\\", "location": "Æbeltoft"}
    counts = dict.fromkeys(
        ("statuses_count", "followers_count", "friends_count", "favourites_count", "listed_count"), "0"
    )
    flags = dict.fromkeys(("default_profile", "default_profile_image", "geo_enabled"), "")
    flags |= {"profile_use_background_image": "1", "profile_background_tile": ""}
    rest = {"url": "http://t.co/aB3", "profile_banner_url": "NULL", "created_at": "Tue Mar 21 00:00:00 +0000 2006"}
    return texts | counts | flags | rest | changed


def features(tmp_path: Path, *accounts: dict[str, str]) -> list[dict[str, float]]:
    text = io.StringIO()
    writer = csv.DictWriter(text, accounts[0].keys(), quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(accounts)
    (tmp_path / "users.csv").write_text(text.getvalue().replace('""', ""), encoding="utf-8")
    return [dict(zip(FEATURES, row, strict=True)) for row in read_users(tmp_path / "users.csv").tolist()]


def test_features_of_an_account_are_as_declared(tmp_path: Path) -> None:
    one, many, late = features(
        tmp_path,
        account(),
        account(statuses_count="9999999", name="", description="NULL", location="NA", profile_banner_url="https://b/1"),
        account(created_at="Mon Mar 21 00:00:00 +0000 2016", geo_enabled="1"),
    )
    expected = {
        "name_length": 9 / 20,
        "name_digits": 1 / 20,
        "screen_name_length": 8 / 15,
        "screen_name_digits": 2 / 15,
        "description_length": 15 / 160,
        "description_digits": 1 / 160,
        "location_length": 8 / 60,
        "location_digits": 0,
        "url_length": 15 / 30,
        "url_digits": 1 / 30,
        "has_banner": 0,
        "age": 1,
        "statuses_count": 0,
        "profile_use_background_image": 1,
        "geo_enabled": 0,
    }
    assert {feature: one[feature] for feature in expected} == pytest.approx(expected, abs=1e-6)
    assert many["statuses_count"] == pytest.approx(1, abs=1e-6)
    assert (many["name_length"], many["has_banner"]) == (0, 1)
    assert many["description_length"] == pytest.approx(4 / 160)  # a word, not an absent value
    assert many["location_length"] == pytest.approx(2 / 60)
    assert (late["age"], late["geo_enabled"]) == (0, 1)


def test_masked_letters_and_digits_give_the_same_features(tmp_path: Path) -> None:
    def masked(text: str) -> str:
        text = "".join("X" if c.isupper() else "x" if c.isalpha() else c for c in text)
        return re.sub(r"\d", "0", text)

    whole = account(description="Æ ñ 日本 ٣ 4 -- \\\\", screen_name="A_9", profile_banner_url="https://b/1")
    hidden = whole | {column: masked(whole[column]) for column in ("name", "screen_name", "description", "location")}
    assert hidden["description"] == "X x xx 0 0 -- \\\\"
    one, two = features(tmp_path, whole, hidden)
    assert one == two


@pytest.mark.parametrize(
    ("content", "message"), [("<html>moved</html>\nx\n", "not a table of accounts"), ('"id"\n"1"\n', "statuses_count")]
)
def test_another_table_is_no_table_of_accounts(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "users.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        read_users(tmp_path / "users.csv")


def test_a_row_of_tweets_is_scaled_as_declared(data: Data, mirror: Callable[[str], Path]) -> None:
    """The first account and one of the last kind: logarithms to fixed limits, shares and means as they are."""
    prepared = data("twitter_tweets")
    with (mirror("cresci2017") / "cresci2017" / "tweet_features.csv").open(encoding="utf-8", newline="") as file:
        accounts = list(csv.DictReader(file))
    assert list(accounts[0])[2:] == list(OF_TWEETS)
    for place in (0, 6429):
        account, row = accounts[place], dict(zip(OF_TWEETS, prepared.X[place].tolist(), strict=True))
        expected = {
            "posts_total_temporal": np.log1p(float(account["posts_total_temporal"])) / np.log(101),
            "span_days": np.log1p(float(account["span_days"])) / np.log(3651),
            "std_interarrival_hours": np.log1p(float(account["std_interarrival_hours"])) / np.log(87601),
            "num_urls_sum": np.log1p(float(account["num_urls_sum"])) / np.log(1001),
            "burstiness": (float(account["burstiness"]) + 1) / 2,
            "sent_compound_mean": (float(account["sent_compound_mean"]) + 1) / 2,
            "hour_entropy": float(account["hour_entropy"]) / np.log2(24),
            "active_hours": float(account["active_hours"]) / 24,
            "char_len_mean": float(account["char_len_mean"]) / 160,
            "peak_hour_share": float(account["peak_hour_share"]),
        }
        assert {feature: row[feature] for feature in expected} == pytest.approx(expected, abs=1e-6)
        assert DATASETS["twitter_tweets"].classes[prepared.y[place]] == account["group"]


def test_tweets_have_a_constant_column_and_one_content_of_two_kinds(data: Data) -> None:
    """Both known of the source; equal rows are kept together by the draws, whatever their kind."""
    prepared = data("twitter_tweets")
    constant = [name for name, column in zip(OF_TWEETS, prepared.X.T, strict=True) if np.ptp(column) == 0]
    assert constant == ["reply_rate"]
    kinds = [set(prepared.y[prepared.group == group].tolist()) for group in np.unique(prepared.group)]
    assert sorted(map(len, kinds))[-2:] == [1, 2]


@pytest.mark.parametrize(("name", "n_neg"), [("twitter_tweets", 792), ("twitter_users", 792)])
def test_one_kind_of_bot_in_u_and_each_or_all_at_test_is_one_training(data: Data, name: str, n_neg: int) -> None:
    """At the paper's sizes, but for 818 negatives in U, of which 4:1 of 991 leaves 792."""
    prepared, bots = data(name), tuple(range(1, len(DATASETS[name].classes)))
    shifts = [{"neg": 1, "neg_test": list(bots), "name": "all"}, *({"neg": 1, "neg_test": [bot]} for bot in bots)]
    counts = {"n_pos_lab": 423, "n_pos_unl": 424, "n_neg_unl": n_neg}
    cells = SCENARIOS["named_shift"].model_validate({"pos": 0, "shifts": shifts, **counts}).cells(len(bots) + 1)
    asked = [sample_and_test(cell, 3, name, prepared.digest) for cell in cells]
    assert len({sample.id for sample, _ in asked}) == 1
    drawn = draw(prepared, asked[0][0], 3)
    assert (len(drawn.p), len(drawn.u), drawn.y_u.sum()) == (423, 424 + n_neg, 424)
    for cell, (_, test) in zip(cells, asked, strict=True):
        check_counts(cell, DATASETS[name].counts)
        rows, is_positive = rows_of_test(prepared, test, 3)
        check_disjoint(prepared, drawn, rows)
        assert set(prepared.y[rows[~is_positive]].tolist()) == set(test.neg)


def test_the_papers_draw_of_pendigits_is_exact(data: Data) -> None:
    """At its sizes: 2,533 labelled, 2,509 + 110 unlabelled."""
    prepared = data("pendigits_odds")
    of = {"dataset": "pendigits_odds", "data_digest": prepared.digest}
    counts = {"n_pos_lab": 2533, "n_pos_unl": 2509, "n_neg_unl": 110}
    drawn = draw(prepared, Sample(**of, pos=(0,), neg=(1,), **counts), 0)
    rows, is_positive = rows_of_test(prepared, TestSet(pos=(0,), neg=(1,)), 0)
    assert (len(drawn.p), drawn.y_u.sum(), (~drawn.y_u).sum()) == (2533, 2509, 110)
    assert (is_positive.sum(), (~is_positive).sum()) == (1343, 32)
    check_disjoint(prepared, drawn, rows)
