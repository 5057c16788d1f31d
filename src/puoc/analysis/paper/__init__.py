"""The paper's numbers and claims, and the verdicts on them."""

__all__ = [
    "claim_data",
    "claims",
    "deviations",
    "matching",
    "protocol",
    "published",
    "spreads",
    "underlines",
    "verdicts",
]
