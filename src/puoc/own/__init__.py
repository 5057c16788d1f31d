"""A user's own data: tables, pictures and texts, read as they are meant or asked back, and prepared for a method.

``read_pair(P, U)`` gives ``X_p`` and ``X_u``; ``Pair.read(V)`` prepares further rows alike. Every fault is a ValueError
in one paragraph: what was got, what was expected, what to say instead.
"""

from puoc.own.columns import Column
from puoc.own.how import How
from puoc.own.pair import Pair, Preparing, Rows, read_pair, read_raw
from puoc.own.tables import RawTable, read_table

__all__ = ["Column", "How", "Pair", "Preparing", "RawTable", "Rows", "read_pair", "read_raw", "read_table"]
