"""The choice of a sweep, as the stage ``select`` writes it."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from puoc.store.checked_json import BY_SELECT, read_form


class SelectedConfig(BaseModel):
    """The chosen configuration, as far as the comparison needs it."""

    model_config = ConfigDict(frozen=True)

    config_id: str | None = None
    by_rank: str | None = None  # id of the configuration with the best ranks
    source: str | None = None  # where the values come from, in words


def read_choice(path: Path) -> SelectedConfig:
    """Read the choice of a sweep. Raises ValueError if the file has another form than ``puoc select`` writes."""
    return read_form(path, SelectedConfig, BY_SELECT)
