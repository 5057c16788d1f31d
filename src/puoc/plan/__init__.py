"""What is to be computed: params.yaml read and checked, plans written, hours forecast."""

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
    "user_data_section",
]
