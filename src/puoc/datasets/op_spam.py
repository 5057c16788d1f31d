"""Deceptive opinion spam: 400 true and 400 invented hotel reviews, all positive. One row of the paper's Table lstm.

The authors of the corpus made five folds of four hotels each. The last fold is the test set, so that no hotel is on
both sides; the paper splits at random, 4:1. The paper does not state which class is positive. Here ``truthful`` is
class 0.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from puoc.datasets.declare.content_checked import ReadFolder
from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs
from puoc.datasets.declare.texts import to_rows
from puoc.records import Array
from puoc.registry import dataset

TEST_FOLD = 5
# The table as others distribute it, and the archive of the authors.
CSV, ZIP = "deceptive-opinion.csv", "op_spam_v1.4.zip"
_FOLDS = (
    ("hilton", "james", "monaco", "sofitel"),
    ("affinia", "ambassador", "hardrock", "talbott"),
    ("conrad", "fairmont", "hyatt", "omni"),
    ("homewood", "knickerbocker", "sheraton", "swissotel"),
    ("allegro", "amalfi", "intercontinental", "palmer"),
)
FOLD_OF = {hotel: fold for fold, hotels in enumerate(_FOLDS, start=1) for hotel in hotels}
_CLASSES = ("truthful", "deceptive")
_BYTES = 2445  # of the longest review
_MEMBER = re.compile(r"(?:.*/)?(positive|negative)_polarity/(truthful|deceptive)_[^/]*/fold\d/[td]_([a-z]+)_\d+\.txt")
_MEMBER_MAX = 1 << 16  # bytes


class Review(NamedTuple):
    """One of the 1,600 reviews of the corpus."""

    deceptive: str  # truthful, deceptive
    fold: int  # 1 to 5, by hotel
    text: str  # stripped, and with single instead of double quotation marks
    hotel: str
    polarity: str  # positive, negative; the paper uses the positive ones


def members(source: Path) -> Mapping[str, Path]:
    """Return the table of the corpus, or else the archive of its authors; empty if there is neither."""
    return next(({name: source / name} for name in (CSV, ZIP) if (source / name).is_file()), {})


def positive_reviews(folder: Path) -> list[Review]:
    """Return the positive reviews, sorted by class, fold and text, so that their order does not depend on the file.

    Raises
    ------
    ValueError : there is neither the table nor the archive, the file is damaged, or a review has an unknown class,
        hotel or polarity.
    """
    found = members(folder)
    if not found:
        raise ValueError(f"{folder} contains neither {CSV} nor {ZIP}")
    ((name, path),) = found.items()
    try:
        reviews = list(_of_table(path) if name == CSV else _of_archive(path))
    except (csv.Error, zipfile.BadZipFile, zlib.error, RuntimeError, EOFError) as error:  # zip: encrypted too
        raise ValueError(f"{name}: {error}") from error
    positive = [review for review in reviews if review.polarity == "positive"]
    return sorted(positive, key=lambda review: (_CLASSES.index(review.deceptive), review.fold, review.text))


def _of_table(path: Path) -> Iterator[Review]:
    with path.open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        wanted = ("deceptive", "hotel", "polarity", "text")
        if not set(wanted) <= set(table.fieldnames or ()):
            raise ValueError(f"{path.name}: got the columns {table.fieldnames}; expected {', '.join(wanted)}")
        for row in table:
            yield _review(row["deceptive"], row["hotel"], row["polarity"], row["text"])


def _of_archive(path: Path) -> Iterator[Review]:
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path.name} is not a zip archive")
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            match = _MEMBER.fullmatch(name)
            if match is not None:
                with io.TextIOWrapper(archive.open(name), encoding="utf-8") as file:
                    yield _review(match[2], match[3], match[1], file.read(_MEMBER_MAX))


def _review(deceptive: str, hotel: str, polarity: str, text: str) -> Review:
    if deceptive not in _CLASSES or hotel not in FOLD_OF or polarity not in ("positive", "negative"):
        raise ValueError(f"got a review ({deceptive}, {hotel}, {polarity}); the corpus contains no such review")
    return Review(deceptive, FOLD_OF[hotel], text.strip().replace('"', "'"), hotel, polarity)


def read(folder: Path) -> Array:
    """Return rows (800, 2 + 2445) of bytes: class, fold, text. Raises the errors of ``positive_reviews``."""
    reviews = positive_reviews(folder)
    about = np.array([(_CLASSES.index(review.deceptive), review.fold) for review in reviews], dtype=np.uint8)
    return np.hstack([about.reshape(-1, 2), to_rows([review.text for review in reviews], _BYTES)])


@dataset("op_spam")
class OpSpam(Dataset):
    """Positive reviews as bytes; fold 5 is the test set.

    The authors publish no checksum, and the table is distributed with and without a column for the fold. Therefore the
    source is verified by the reviews that it contains.
    """

    inputs: ClassVar[Inputs] = "text"
    shape = (_BYTES,)
    classes = _CLASSES
    counts: ClassVar = {"train": (320, 320), "test": (80, 80)}
    digest = "a385b628767cb432f50a3525b73eafb0"
    scale = 1.0
    files = (
        ReadFolder(
            path="op_spam",
            size=800 * (2 + _BYTES),
            sha256="d7cc459b334ee8b3eb76396b5a3f583ab31f8523c3239ee6c43237337531a57a",
            read=read,
            members=members,
            obtain=f"put {ZIP} (from https://myleott.com/{ZIP}) into data/op_spam/op_spam",
        ),
    )
    licence = "CC BY-NC-SA 3.0 Unported; to be cited by whoever uses it."
    citation = (
        "M. Ott, Y. Choi, C. Cardie, J. T. Hancock: Finding deceptive opinion spam by any stretch of the imagination. "
        "ACL 2011."
    )

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Read the reviews, sorted by class, fold and text."""
        table = read(folder / cls.files[0].path)
        return Arrays(table[:, 2:].copy(), table[:, 0].astype(np.int64), (table[:, 1] == TEST_FOLD).astype(np.uint8))
