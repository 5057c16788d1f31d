"""Reader of sections of a YAML file. It collects all faults with their places, so that they are reported at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from puoc.records import Params
from puoc.store.messages import MAX_NAME_LENGTH, is_name, kind, listed, location, nearest, sentence
from puoc.store.yaml_file import KeyPath, YamlFile

M = TypeVar("M", bound=BaseModel)


class Sections:
    """Base class of readers; a subclass reads particular sections."""

    def __init__(self, file: YamlFile):
        self.file = file
        self.faults: list[str] = []

    def _mapping(self, data: Mapping[str, object], section: str, required: bool = False) -> dict[str, object]:
        value = data.get(section)
        if value in (None, {}) and not required:
            return {}
        if not isinstance(value, dict) or not value:
            self._fault((section,), f"got {kind(value)}; expected at least one entry")
            return {}
        for name in value:
            if not is_name(str(name)):
                expected = "expected a name of small letters, digits and _, beginning with a letter"
                self._fault((section, name), f"{expected}, of {MAX_NAME_LENGTH} letters at most")
        return {name: entry for name, entry in value.items() if is_name(str(name))}

    def _section(self, raw: object, model: type[M], key: KeyPath) -> M | None:
        if not isinstance(raw, dict):
            self._fault(key, f"got {kind(raw)}; expected the keys {listed(model.model_fields)}")
            return None
        try:
            return model.model_validate(raw)
        except ValidationError as error:
            for item in error.errors():
                self._fault((*key, *location(item["loc"])), sentence(item, model))
            return None

    def _fault(self, key: KeyPath, text: str) -> None:
        self.faults.append(f"{self.file.at(key)}: {text}")

    def _named(self, key: KeyPath, kind_of_id: str, name: str, table: Mapping[str, object]) -> str | None:
        """Return the id of an entry, from a key or from the entry's name; None for an unknown id."""
        if name in table:
            return name
        where = (*key, kind_of_id) if name != key[-1] else key
        known = listed(sorted(table))
        self._fault(where, f"unknown {kind_of_id} {name!r}{nearest(name, table)}; expected one of {known}")
        return None

    def _normal(
        self,
        key: KeyPath,
        normalise: Callable[[str, Params], Params],
        name: str,
        raw: Params,
        part: str | None = "params",
    ) -> Params | None:
        place = key if part is None else (*key, part)
        try:
            return normalise(name, raw)
        except ValueError as error:
            self.faults += [f"{self.file.at(place)}: {line}" for line in str(error).splitlines()]
            return None
