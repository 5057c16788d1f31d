"""Analysis of configurations that are chosen without negative labels, and of their regret."""

__all__ = ["choice_file", "regret", "surface"]
