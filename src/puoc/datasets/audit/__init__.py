"""Audit of columns: which columns separate the labelled positives from the unlabelled rows by themselves.

The package takes arrays and knows no files; ``puoc.datasets.readers.side_audit`` feeds it with the columns of a user.
"""

from puoc.datasets.audit.result import Audited, ColumnAudit, Histogram, Told

__all__ = ["Audited", "ColumnAudit", "Histogram", "Told"]
