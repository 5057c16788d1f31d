"""Twitter accounts of Cresci et al. (2017), described by their profiles: genuine ones and three kinds of spambots.

The scaling is fixed here, by Twitter's own limits and by powers of ten. Therefore no test row influences the scaling of
another row. Columns that reveal a kind by the way it was collected are left out: the days of crawling and updating, the
columns of test sets, flags that only genuine accounts could have (protected, verified) and empty columns.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from puoc.datasets.declare.content_checked import ReadFile
from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs
from puoc.records import Array
from puoc.registry import dataset

KINDS = ("genuine_accounts", "social_spambots_1", "social_spambots_2", "social_spambots_3")
OBTAIN = (
    "accept the terms of the Botometer repository, https://botometer.osome.iu.edu/bot-repository/datasets.html, where "
    "the tables of Cresci 2017 are offered for research, and lay its users.csv of each kind there"
)

_COUNTS = ("statuses_count", "followers_count", "friends_count", "favourites_count", "listed_count")
_MOST = 1e7  # count that is mapped to 1
#: Length in characters that is mapped to 1.
_TEXTS = {"name": 20, "screen_name": 15, "description": 160, "location": 60, "url": 30}
_FLAGS = (
    "default_profile",
    "default_profile_image",
    "geo_enabled",
    "profile_use_background_image",
    "profile_background_tile",
)
_LAUNCH, _FIXED = date(2006, 3, 21), date(2016, 3, 21)  # Twitter's first day, and a day after every collection

Account = Mapping[str, str]


def _count(column: str, account: Account) -> float:
    return float(np.log1p(float(account[column])) / np.log1p(_MOST))


def _length(column: str, account: Account) -> float:
    return len(account[column]) / _TEXTS[column]


def _digits(column: str, account: Account) -> float:
    return sum(character.isdecimal() for character in account[column]) / _TEXTS[column]


def _flag(column: str, account: Account) -> float:
    return float(account[column] == "1")


def _banner(account: Account) -> float:
    return float(account["profile_banner_url"] not in ("", "NULL"))


def _age(account: Account) -> float:
    created = datetime.strptime(account["created_at"], "%a %b %d %H:%M:%S %z %Y").date()
    return (_FIXED - created).days / (_FIXED - _LAUNCH).days


FEATURES: Mapping[str, Callable[[Account], float]] = (
    {column: partial(_count, column) for column in _COUNTS}
    | {f"{column}_length": partial(_length, column) for column in _TEXTS}
    | {f"{column}_digits": partial(_digits, column) for column in _TEXTS}
    | {column: partial(_flag, column) for column in _FLAGS}
    | {"has_banner": _banner, "age": _age}
)


def read_users(path: Path) -> Array:
    """Return the features (n, 22), float32 in [0, 1], of a table ``users.csv``; ``FEATURES`` gives their names.

    The original table and a table with masked letters and digits give the same features.

    Raises
    ------
    ValueError : the file does not contain such a table.
    """
    with path.open(encoding="utf-8", newline="") as file:
        accounts = list(csv.DictReader(file))
    try:
        return np.array([[of(account) for of in FEATURES.values()] for account in accounts], dtype=np.float32)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a table of accounts: {error!r}") from error


def _file(kind: str, rows: int, sha256: str) -> ReadFile:
    values = 4 * rows * len(FEATURES)
    path = f"cresci2017/{kind}.csv/users.csv"
    return ReadFile(path=path, size=values, sha256=sha256, read=read_users, obtain=OBTAIN)


@dataset("twitter_users")
class TwitterUsers(Dataset):
    """22 features of a profile: logarithms of counts, lengths and digits of texts, flags, and age on one fixed day.

    The fifth kind of the paper, traditional_spambots_1, is not included; ``twitter_tweets`` has all five.
    """

    inputs: ClassVar[Inputs] = "vector"
    shape = (len(FEATURES),)
    classes = KINDS
    counts: ClassVar = {"all": (3474, 991, 3457, 464)}
    digest = "2c42ec0cda15c80841dcde06dbabf480"
    scale = 1.0
    files = (
        _file(KINDS[0], 3474, "e1982b95a4e7252b0707be93299829ee1ce2cad16c7ea7d1899a2286a5b57c29"),
        _file(KINDS[1], 991, "10ffd4b655441910f9b2cc60770838916cf17b4891c57ff026076ca47b327446"),
        _file(KINDS[2], 3457, "2585ec6a94ce9c9f0c16e2200b242c38bb317fd726179685f17197007e0519dc"),
        _file(KINDS[3], 464, "d44171934b9d653d86c2b314e3a6481c772842e270140ab23ec5db5f3ea4a3c4"),
    )
    licence = "None stated; for research, with citation. Derived from personal data: nobody is to be looked up in it."
    citation = (
        "S. Cresci, R. Di Pietro, M. Petrocchi, A. Spognardi, M. Tesconi: The Paradigm-Shift of Social Spambots: "
        "Evidence, Theories, and Tools for the Arms Race. WWW 2017 Companion, 963-972."
    )

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Read the table of each kind."""
        parts = [read_users(folder / file.path) for file in cls.files]
        y = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return Arrays(np.concatenate(parts), y.astype(np.int64))
