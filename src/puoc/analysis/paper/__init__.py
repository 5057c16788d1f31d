"""The paper's numbers and claims, and the verdicts on them."""

__all__ = [
    "answer",
    "claim_data",
    "claims",
    "deviations",
    "family_wins",
    "matching",
    "protocol",
    "published",
    "spreads",
    "underlines",
    "verdicts",
]
