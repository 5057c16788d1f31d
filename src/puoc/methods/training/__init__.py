"""What methods share: the estimator contract, the training loop, networks and risks."""
