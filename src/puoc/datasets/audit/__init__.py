"""Audit of columns: what tells the labelled positives from the unlabelled rows by itself.

The package takes arrays and knows no files; ``puoc.datasets.readers.side_audit`` feeds it with the columns of a user.
"""

from puoc.datasets.audit.result import Audited, ColumnAudit, Histogram, Told

__all__ = ["Audited", "ColumnAudit", "Histogram", "Told"]
