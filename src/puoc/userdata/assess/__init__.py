"""Decide from a user's data whether OC, PU-OC or PU methods can be trusted."""

__all__ = [
    "alpha_bounds",
    "audit_bars",
    "audit_page",
    "column_effect",
    "cross_scores",
    "decision",
    "evidence",
    "expected_auc",
    "fit_command",
    "input_rows",
    "page",
    "pictures",
    "reasons",
    "reference_methods",
    "score_counts",
]
