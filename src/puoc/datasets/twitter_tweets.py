"""Twitter accounts of Cresci et al. (2017), described by statistics of their tweets: genuine ones and four bot kinds.

The scaling is fixed here, by the possible range of a number or by powers of ten. Therefore no test row influences the
scaling of another row.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from puoc.datasets.declare.content_checked import HandedFile
from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs
from puoc.datasets.twitter_users import KINDS, TwitterUsers
from puoc.registry import dataset


class _Scale(NamedTuple):
    """Values that are mapped to 0 and 1: of the number itself, or of log(1 + number)."""

    high: float
    low: float = 0.0
    logarithm: bool = False


_DAYS, _HOURS = _Scale(3650, logarithm=True), _Scale(3650 * 24, logarithm=True)  # ten years
_HUNDRED, _THOUSAND = _Scale(100, logarithm=True), _Scale(1000, logarithm=True)
_SHARE, _SIGNED = _Scale(1), _Scale(1, low=-1)
_CHARACTERS, _WORDS = _Scale(160), _Scale(30)  # of a tweet: 140 characters, some of them escaped for HTML

FEATURES = {
    "posts_total_temporal": _HUNDRED,
    "active_days": _HUNDRED,
    "span_days": _DAYS,
    "posts_per_active_day": _HUNDRED,
    "posts_per_span_day": _HUNDRED,
    "mean_interarrival_hours": _HOURS,
    "std_interarrival_hours": _HOURS,
    "burstiness": _SIGNED,
    "hour_entropy": _Scale(float(np.log2(24))),
    "weekday_entropy": _Scale(float(np.log2(7))),
    "peak_hour_share": _SHARE,
    "peak_weekday_share": _SHARE,
    "weekend_ratio": _SHARE,
    "active_hours": _Scale(24),
    "active_weekdays": _Scale(7),
    "reply_rate": _SHARE,
    "char_len_mean": _CHARACTERS,
    "char_len_median": _CHARACTERS,
    "char_len_std": _CHARACTERS,
    "word_count_mean": _WORDS,
    "word_count_median": _WORDS,
    "word_count_std": _WORDS,
    "unique_word_ratio_mean": _SHARE,
    "sent_compound_mean": _SIGNED,
    "num_hashtags_sum": _THOUSAND,
    "num_urls_sum": _THOUSAND,
    "num_mentions_sum": _THOUSAND,
}


@dataset("twitter_tweets")
class TwitterTweets(Dataset):
    """27 statistics of an account's tweets, from about 2 per cent of them: 1 to 88 tweets, three for most accounts.

    Therefore many values are degenerate (no spread, a span of one day), ``reply_rate`` is always 0, and the number of
    tweets differs between kinds. AUCs are not comparable with the paper's, whose features are based on all tweets.
    """

    inputs: ClassVar[Inputs] = "vector"
    shape = (len(FEATURES),)
    classes = (*KINDS, "traditional_spambots_1")
    counts: ClassVar = {"all": (1076, 991, 3457, 464, 442)}
    digest = "116977ef12ce9324f7dd05f50c210b57"
    scale = 1.0
    files = (
        HandedFile(
            path="cresci2017/tweet_features.csv",
            size=1192067,
            sha256="d2717c4e0218ff34df1197b66cdc56b9b4ddede7353541cfdddfbfcbe7f61c53",
            obtain="no source has it as one file: docs/datasets.md says of which tables it is made",
        ),
    )
    licence = TwitterUsers.licence
    citation = TwitterUsers.citation

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Read the table. Each line has the kind, an account number that is not used, and the features."""
        with (folder / cls.files[0].path).open(encoding="utf-8", newline="") as file:
            accounts = list(csv.DictReader(file))
        X = np.array([[float(account[column]) for column in FEATURES] for account in accounts])
        for column, scale in enumerate(FEATURES.values()):
            of = np.log1p if scale.logarithm else np.positive
            X[:, column] = (of(X[:, column]) - scale.low) / (of(scale.high) - scale.low)
        y = np.array([cls.classes.index(account["group"]) for account in accounts])
        return Arrays(X.astype(np.float32), y.astype(np.int64))
