"""User data as a dataset of params.yaml."""

__all__ = ["dataset", "declare", "file_stamps", "leakage"]
