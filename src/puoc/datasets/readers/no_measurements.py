"""Columns that identify or date a row and measure nothing: row numbers, ids, dates.

A whole file is looked at, before it is split into labelled and unlabelled rows. A number of a row tells a method where
the row stood, and new rows have other numbers.

Asked about are, of columns of numbers: those that rise or fall strictly from row to row, in each file; whole numbers
that are different in each row, if measurements would hold equal ones or if they are spread evenly; and names of ids or
dates. Numbers with decimals that are all different and in no order are measurements. Of texts: dates, times, and names
of ids.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_ORDERED: Final = 10  # rows from which an order is no chance
_DISTINCT: Final = 20  # rows from which different whole numbers are no chance
_COPIES: Final = 0.01  # share of rows that may repeat another one, as copies of rows do
_EVEN_COPIES: Final = 0.06  # the same, if the numbers are spread evenly over their range; counts are skewed
_LEVEL: Final = 0.01  # of the test whether measurements would hold more equal numbers
_SURELY_EVEN: Final = 100  # different numbers, of which a test tells even from bell-shaped
_LONG: Final = 6  # digits of numbers that few files measure
_EVEN: Final = 1.63  # quantile .99 of Kolmogorov's distribution
_VERY_EVEN: Final = 0.5  # quantile .04
_TIES: Final = 0.1  # share of the steps of a rising column that may be zero
_MONTHS: Final = 3  # different numbers such as 202401 from which these are no chance
_MOSTLY: Final = 0.9  # share of the cells that are dates in a column of dates

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_]+")
_IDS = frozenset({"id", "ids", "uid", "uuid", "guid", "oid", "pk", "rowid", "rownum", "rownumber", "recordid"})
_WHOLE = frozenset({"index", "idx", "nr", "row", "record", "row number", "row nr", "row index", "record number"})
_JOINED = re.compile(
    r"(user|customer|client|account|order|item|product|session|patient|person|case|trans|transaction|tx|row|record|"
    r"sample|subject|device|event|object|entity|member|employee|student|invoice|ticket|claim|visit|message|document)id"
)
_PANDAS = re.compile(r"unnamed: \d+(_level_\d+)?|level_\d+")  # names that pandas gives to an index
_DATES = frozenset({"date", "datetime", "timestamp", "datum", "zeitstempel"})

_MONTH = r"(jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[\p{L}]*\.?"
_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]\.?m\.?)?"
_ZONE = r" ?(z|utc|gmt|[+-]\d{2}:?\d{2})?"
_DAY = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}",
    r"\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4})",
    rf"([\p{{L}}]{{2,9}}\.?,? )?\d{{1,2}}(\.|st|nd|rd|th)?[ -]{_MONTH},?[ -]\d{{2,4}}",
    rf"([\p{{L}}]{{2,9}}\.?,? )?{_MONTH} \d{{1,2}}(st|nd|rd|th)?,? \d{{4}}",
)
_DATE = rf"(?i)^(({'|'.join(_DAY)})([t ,]+{_TIME}{_ZONE})?|{_TIME}{_ZONE}|\d{{4}}-(0[1-9]|1[0-2]))$"
_UNIX = (9.4e8, 2.2e9)  # seconds, from 1999 to 2039


def named_as_id(name: str) -> bool:
    """Return True for a name such as id, tx_id, customerId, IDCustomer, uuid or index."""
    plain = name.strip().casefold()
    words = [word.casefold() for word in _WORDS.findall(name)]
    if not words or _PANDAS.fullmatch(plain):
        return bool(words)
    return (
        words[0] in _IDS or words[-1] in _IDS or " ".join(words) in _WHOLE or _JOINED.fullmatch(words[-1]) is not None
    )


def named_as_date(name: str) -> bool:
    """Return True for a name with a word such as date or timestamp in it."""
    return any(word.casefold() in _DATES for word in _WORDS.findall(name))


def of_numbers(name: str, parts: Sequence[NDArray[np.float64]]) -> str:
    """Return why a column of numbers seems to identify or date the rows; an empty text if it does not.

    Parameters
    ----------
    parts : (n_i,) numbers of each file, NaN where missing.
    """
    if not _may(name, parts):
        return ""
    present = [x[~np.isnan(x)] for x in parts]
    present = [x for x in present if len(x)]
    if not present:
        return ""
    order = _order(present)
    whole = all(bool((x == np.floor(x)).all()) for x in present)
    if dated := _dates(present, whole):
        return dated
    if order and max(map(len, present)) >= _ORDERED:
        if whole and all((np.abs(np.diff(x)) == 1).all() for x in present):
            return "holds numbers that count the rows"
        return f"holds numbers that {order} from row to row, as the number of a row or a time does"
    if whole and sum(map(len, present)) >= _DISTINCT and all(_different(x) for x in present) and _as_ids(present):
        return "holds a different whole number in each row, as an id does"
    if named_as_id(name):
        return "is named as an id"
    return "is named as a date" if named_as_date(name) else ""


def of_texts(name: str, parts: Sequence[pa.Array]) -> str:
    """Return why a column of texts seems to identify or date the rows; an empty text if it does not.

    Parameters
    ----------
    parts : texts of each file, null where missing.
    """
    head = pc.drop_null(pa.chunked_array([part.slice(0, 100) for part in parts], pa.string()))
    if len(head) and _share_of_dates(head) > 0:
        present = pc.drop_null(pa.chunked_array(list(parts), pa.string()))
        if _share_of_dates(present) >= _MOSTLY:
            return "holds dates or times"
    return "is named as an id" if named_as_id(name) else ""


def _may(name: str, parts: Sequence[NDArray[np.float64]]) -> bool:
    """Return False if the first rows show that no rule applies, as in most columns; it saves the rest of them."""
    heads = [x[:64][~np.isnan(x[:64])] for x in parts]
    whole = all((x == np.floor(x)).all() for x in heads)
    dated = all(bool(len(x)) and bool(unit_of_dates(x)) for x in heads)
    return bool(whole or dated or _order([x for x in heads if len(x)]) or named_as_id(name) or named_as_date(name))


def _order(parts: Sequence[NDArray[np.float64]]) -> str:
    """Return ``rise`` or ``fall`` if the numbers of all files do so from row to row, a few ties aside; else nothing."""
    with np.errstate(over="ignore"):  # the sign of a step is all that counts
        steps = [np.diff(x) for x in parts if len(x) > 1]
    if not steps:
        return ""
    for word, sign in (("rise", 1), ("fall", -1)):
        if all((sign * step >= 0).all() and (step == 0).mean() <= _TIES for step in steps):
            return word
    return ""


def _different(x: NDArray[np.float64]) -> bool:
    found = np.unique(x)  # sorted
    if len(found) >= (1 - _COPIES) * len(x):
        return True
    return len(found) >= (1 - _EVEN_COPIES) * len(x) and _evenly_spread(found)


def _as_ids(parts: Sequence[NDArray[np.float64]]) -> bool:
    """Return False if different whole numbers are what a measurement gives, such as incomes in a small file.

    They are, if a number is negative; or if they are not spread evenly over their range, as numbers that are given out
    are, and hold as many equal ones as their density lets expect (a Poisson test at the level .01).
    """
    x = np.concatenate(parts)
    found = np.unique(x)
    if found[0] < 0:
        return False
    ties, expected = len(x) - len(found), _expected_ties(x)
    terms = np.cumsum(np.log(expected / np.arange(1, ties + 1))) if expected else np.empty(0)
    if expected and np.exp(-expected + np.concatenate([[0.0], terms])).sum() < _LEVEL:
        return True
    return _given_out(found) or all(_given_out(np.unique(part)) for part in parts)


def _given_out(found: NDArray[np.float64]) -> bool:
    """Return True if sorted different numbers are spread evenly.

    Few numbers of a bell-shaped measurement look even as well. They also have to be long, or more even than by chance.
    """
    is_long = len(str(int(found[0]))) == len(str(int(found[-1]))) >= _LONG
    return _evenly_spread(found, _EVEN if is_long or len(found) >= _SURELY_EVEN else _VERY_EVEN)


def _expected_ties(x: NDArray[np.float64]) -> float:
    """Return the expected number of pairs of equal whole numbers, by the density of the numbers around each of them."""
    ordered, n = np.sort(x), len(x)
    reach = min(10, (n - 1) // 2)
    if reach < 1:
        return 0.0
    span = ordered[2 * reach :] - ordered[: -2 * reach]
    return float((2 * reach / (span + 1)).mean() * n / 2)


def _evenly_spread(found: NDArray[np.float64], limit: float = _EVEN) -> bool:
    """Return True unless Kolmogorov's distance of sorted different numbers from even ones is above a limit."""
    n = len(found)
    share = (found - found[0]) / (found[-1] - found[0])
    return bool(np.abs(share - np.linspace(0, 1, n)).max() <= limit / np.sqrt(n))


def _dates(parts: Sequence[NDArray[np.float64]], whole: bool) -> str:
    """Return what numbers are if they are seconds or milliseconds since 1970, or whole ones as 20250131 or 202501."""
    x = np.concatenate(parts)
    if len(x) < _ORDERED:
        return ""
    if unit := unit_of_dates(x):
        return f"holds numbers of the size of {unit} since 1970, which are dates"
    if not whole:
        return ""
    low, high = x.min(), x.max()
    day, month = x % 100, x // 100 % 100
    if low >= 1900_01_01 and high <= 2100_12_31 and (month >= 1).all() and (month <= 12).all():
        return "holds dates, written as YYYYMMDD" if (day >= 1).all() and (day <= 31).all() else ""
    if low >= 1900_01 and high <= 2100_12 and (day >= 1).all() and (day <= 12).all() and len(np.unique(x)) >= _MONTHS:
        return "holds months, written as YYYYMM"
    return ""


def unit_of_dates(x: NDArray[np.float64]) -> str:
    """Return ``seconds`` or ``milliseconds`` if all numbers are of the size of dates since 1970 in this unit."""
    for factor, name in ((1, "seconds"), (1000, "milliseconds")):
        if x.min() >= _UNIX[0] * factor and x.max() <= _UNIX[1] * factor:
            return name
    return ""


def _share_of_dates(cells: pa.ChunkedArray) -> float:
    # every date has two digits in a row, and to compile _DATE takes 12 ms, for each column again
    if not pc.any(pc.match_substring_regex(cells, "[0-9]{2}")).as_py():
        return 0.0
    return float(pc.mean(pc.match_substring_regex(cells, _DATE)).as_py() or 0.0)
