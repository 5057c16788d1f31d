"""From cells to rows: which rows a sample, a test set and a training pool hold."""
