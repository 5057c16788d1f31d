"""Analysis of configurations that are chosen without negative labels, and of their regret."""
