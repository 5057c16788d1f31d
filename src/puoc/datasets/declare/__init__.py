"""Base classes with which datasets declare their files, classes and counts."""

__all__ = ["archived", "content_checked", "dataset", "from_files", "texts"]
