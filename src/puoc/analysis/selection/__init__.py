"""Choose configurations without negative labels, and measure the regret."""
