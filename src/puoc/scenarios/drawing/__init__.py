"""From cells to rows: which rows a sample, a test set and a training pool hold."""

__all__ = ["cells", "draws", "labelled_draws", "labelling", "overlap", "propensity", "scenario", "simulate"]
