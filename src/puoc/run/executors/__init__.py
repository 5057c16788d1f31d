"""Ways to run fits: in this process, in worker processes, or on a Ray cluster."""

__all__ = [
    "batches",
    "encode_features",
    "fit_inputs",
    "frozen_features",
    "inline",
    "job",
    "local",
    "process_lifetime",
    "requirements",
    "trial",
]
