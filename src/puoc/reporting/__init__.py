"""Views of results that can be deleted and made again: the page and the MLflow store."""

__all__ = ["page", "tracking"]
