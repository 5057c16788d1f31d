"""The choice of a configuration, as the stage ``select`` writes it."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

from puoc.store.checked_json import BY_SELECT, read_form


class SelectedConfig(BaseModel):
    """The configuration of an entry, as far as the comparison needs it. Without a sweep it has no id."""

    model_config = ConfigDict(frozen=True)

    config_id: str | None = None
    by_rank: str | None = None  # id of the configuration with the best ranks
    source: str | None = None  # where the values come from, in words


_BY_ENTRY = TypeAdapter(dict[str, SelectedConfig])


def read_choice(path: Path) -> SelectedConfig:
    """Read the choice of a sweep. Raises ValueError if the file is not as ``puoc select`` writes it."""
    return SelectedConfig.model_validate(read_form(path, SelectedConfig, BY_SELECT))


def read_choices(path: Path) -> dict[str, SelectedConfig]:
    """Read the configurations of a table, by entry. Raises ValueError as ``read_choice``."""
    return _BY_ENTRY.validate_python(read_form(path, _BY_ENTRY, BY_SELECT))
