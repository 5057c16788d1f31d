"""Readers of user data: tables, pictures and texts, read without guessing and prepared for a method.

``read_pair(P, U)`` returns ``X_p`` and ``X_u``; ``Pair.read(path)`` prepares further rows in the same way. An error is
a ValueError with one paragraph: the value, the expected one and the option that changes it.
"""

from puoc.datasets.readers.columns import Column
from puoc.datasets.readers.doubts import DoubtfulColumns
from puoc.datasets.readers.file_differences import Difference, DoubtfulFiles, FileDifferences
from puoc.datasets.readers.options import How
from puoc.datasets.readers.pu_data import Pair, Preparing, Rows, read_pair
from puoc.datasets.readers.raw_table import RawTable
from puoc.datasets.readers.tables import read_table
from puoc.datasets.readers.training_files import read_raw
from puoc.datasets.readers.unseen import ColumnUnseen, Unseen

__all__ = [
    "Column",
    "ColumnUnseen",
    "Difference",
    "DoubtfulColumns",
    "DoubtfulFiles",
    "FileDifferences",
    "How",
    "Pair",
    "Preparing",
    "RawTable",
    "Rows",
    "Unseen",
    "read_pair",
    "read_raw",
    "read_table",
]
