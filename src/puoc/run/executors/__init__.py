"""Ways to run fits: in this process, in worker processes, or on a Ray cluster."""
