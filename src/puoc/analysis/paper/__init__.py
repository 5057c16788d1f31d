"""The paper's numbers and claims, and the verdicts on them."""
