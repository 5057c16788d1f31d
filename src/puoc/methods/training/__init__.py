"""What methods share: the estimator contract, the training loop, networks and risks."""

__all__ = [
    "array_model",
    "augment",
    "checkpoints",
    "cnn_nets",
    "deep",
    "estimator",
    "fitting",
    "from_params",
    "imagenet_trunks",
    "lanes",
    "memory_bank",
    "nets",
    "principal_components",
    "propensity",
    "quantiles",
    "risks",
    "uncompiled",
]
