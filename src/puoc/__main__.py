"""``python -m puoc``."""

from puoc.cli import main_and_leave

main_and_leave()
