"""Views of results that can be made again at any time: the pages of the report, the MLflow store, and text."""

__all__ = ["page", "show", "site", "tracking"]
