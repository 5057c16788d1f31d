"""A user's own data: tables, pictures and texts, read as they are meant or asked back, and prepared for a method.

``read_pair(P, U)`` gives ``X_p`` and ``X_u``; ``Pair.read(V)`` prepares further rows alike. Every fault is a ValueError
in one paragraph: what was got, what was expected, what to say instead.
"""

from puoc.datasets.readers.columns import Column
from puoc.datasets.readers.options import How
from puoc.datasets.readers.pu_data import Pair, Preparing, Rows, read_pair, read_raw
from puoc.datasets.readers.tables import RawTable, read_table

__all__ = ["Column", "How", "Pair", "Preparing", "RawTable", "Rows", "read_pair", "read_raw", "read_table"]
