"""Planning: read and check params.yaml, write plans, and forecast the computing time."""

__all__ = [
    "bind",
    "forecast",
    "learner_sections",
    "make_plan",
    "params",
    "plan_source",
    "schema",
    "search_spaces",
    "section_reader",
    "settings_check",
    "user_data_section",
]
