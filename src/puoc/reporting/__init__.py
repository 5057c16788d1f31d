"""Views of results that can be made again at any time: the page, the MLflow store, and text."""

__all__ = ["page", "show", "tracking"]
