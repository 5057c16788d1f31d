"""Decide from a user's data whether OC, PU-OC or PU methods can be trusted."""

__all__ = [
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
    "reasons",
    "reference_methods",
]
