"""SMS Spam Collection: 5,574 text messages, of which 747 are spam. The paper's anomalies are the spam (Table lstm).

The paper counts 5,572 messages. A CSV parser gives this number, because it interprets quotation marks as quoting, and
unbalanced quotation marks join lines. ``sms_spam`` reads line by line; ``sms_spam_csv`` gives the paper's rows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from puoc.datasets.declare.archived import ZippedFile
from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs, RawFile
from puoc.datasets.declare.texts import to_rows
from puoc.registry import dataset

_FILE = ZippedFile(
    path="SMSSpamCollection",
    size=477907,
    sha256="7d039a24a6083ed9ef0f806ebad56bbb976e3aeb8de05669173bfdc4996c239d",
    url="https://archive.ics.uci.edu/static/public/228/sms+spam+collection.zip",
    archive_sha256="1587ea43e58e82b14ff1f5425c88e17f8496bfcdb67a583dbff9eefaf9963ce3",
    name="SMSSpamCollection",
)


@dataset("sms_spam")
class SMSSpam(Dataset):
    """SMS Spam: messages as bytes, at most 910; no standard split.

    A drawn split keeps the copies of a message on one side.
    """

    inputs: ClassVar[Inputs] = "text"
    shape = (910,)
    classes = ("ham", "spam")
    counts: ClassVar = {"all": (4827, 747)}
    digest = "88a7d26c7ea0d2168d35290d7ae8f0db"
    scale = 1.0
    files: ClassVar[tuple[RawFile, ...]] = (_FILE,)
    licence = "CC BY 4.0 (UCI Machine Learning Repository); its authors call it free for all purposes."
    citation = (
        "T. A. Almeida, J. M. Gomez Hidalgo, A. Yamakami: Contributions to the study of SMS spam filtering: new "
        "collection and results. DocEng 2011."
    )

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Read the table: class and message, separated by a tab.

        Raises
        ------
        ValueError : a line has no tab or another class; the message gives its number.
        """
        content = (folder / cls.files[0].path).read_bytes().decode("utf-8")
        labels, messages = [], []
        for number, row in enumerate(cls.rows(content), start=1):
            if len(row) != 2 or row[0] not in cls.classes:
                raise ValueError(f"{cls.files[0].path}: row {number} is {row}; expected ham or spam, a tab and a text")
            labels.append(cls.classes.index(row[0]))
            messages.append(row[1])
        return Arrays(to_rows(messages, *cls.shape), np.array(labels, dtype=np.int64))

    @classmethod
    def rows(cls, content: str) -> Iterable[list[str]]:
        """Split at line feeds, then at the first tab. Other line ends and quotation marks are part of a message."""
        return [line.split("\t", 1) for line in content.removesuffix("\n").split("\n")]


@dataset("sms_spam_csv")
class SMSSpamCSV(SMSSpam):
    """SMS Spam as the paper counts it, 5,572 rows: three messages are contained in two others."""

    counts: ClassVar = {"all": (4825, 747)}
    digest = "bae4f96de675e6e36a43bb49e9d71e39"
    files: ClassVar[tuple[RawFile, ...]] = (replace(_FILE, path=f"sms_spam/{_FILE.path}"),)  # as a mirror has it

    @classmethod
    def rows(cls, content: str) -> Iterable[list[str]]:
        """Read the table as CSV with quoting."""
        return csv.reader(content.splitlines(keepends=True), delimiter="\t")
