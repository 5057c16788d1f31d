"""User data as a dataset of params.yaml."""
