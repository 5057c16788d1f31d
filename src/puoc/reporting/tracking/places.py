"""Places of a trial in tables and sweeps, and the tags of a run that contain them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from puoc.records import JsonObject

_PLACES_LENGTH = 6000  # characters of a tag with places; MLflow's databases accept 8,000
_MEMBER_OF = "member_of"
_MORE = "more"  # key of a tag with places: the number of further tags with places


class Place(NamedTuple):
    """Place of a trial: its table or sweep, its entry and its cell."""

    source: str  # tables/<table> or tune/<method>
    entry: str
    cell: str


def first_place(places: dict[str, Place]) -> tuple[str, Place]:
    """Return the place that represents a trial with several; it does not depend on their order."""
    return min(places.items(), key=lambda item: (item[1], item[0]))


def place_tags(places: dict[str, Place]) -> dict[str, str]:
    """Return the tags that contain the places of a run: for puoc, and for a search in MLflow."""
    return pack_places(places) | member_of(places.values())


def pack_places(places: dict[str, Place]) -> dict[str, str]:
    """Return the places of a trial as tags; there are several if one would be so long that MLflow cuts it."""
    parts: list[JsonObject] = [{}]
    length = 0
    for key, place in sorted(places.items()):
        length += len(json.dumps([key, *place]))
        if length > _PLACES_LENGTH:
            parts.append({})
            length = 0
        parts[-1][key] = list(place)
    more = {f"places.{i}": json.dumps(part, separators=(",", ":")) for i, part in enumerate(parts[1:], start=1)}
    if more:
        parts[0][_MORE] = [len(more)]  # a run that had more places before keeps their tags
    first = json.dumps(parts[0], separators=(",", ":"))
    sources = sorted({place.source for place in places.values()})
    tables = ",".join(s.split("/", 1)[1] for s in sources)
    return {"places": first, **more, "tables": tables, "sweep": sources[0]}


def unpack_places(tags: dict[str, str]) -> dict[str, Place]:
    """Return the places from a run's tags."""
    places: dict[str, list[str]] = json.loads(tags.get("places", "{}"))
    (n,) = places.pop(_MORE, ["0"])
    for i in range(1, int(n) + 1):
        places |= json.loads(tags[f"places.{i}"])
    return {key: Place(*place) for key, place in places.items()}


def one_place(place: Place) -> dict[str, str]:
    """Return the tags of a run that has one place. A filter by equality on a run with several would miss the others."""
    return {"entry": place.entry, "cell": place.cell, "table": _table(place)}


def is_member_tag(key: str) -> bool:
    """Check whether a tag is one that ``member_of`` writes."""
    return key.partition(".")[0] == _MEMBER_OF


def member_of(places: Iterable[Place]) -> dict[str, str]:
    """Return the tags in which MLflow's LIKE finds a run by each of its places: ``|TABLE/CELL/ENTRY|TABLE/...|``.

    MLflow has no other operator for a tag with several values, and no OR. A text that is longer than a tag may be
    continues in ``member_of.1`` and so on.
    """
    texts = [""]
    for member in sorted({f"{_table(place)}/{place.cell}/{place.entry}|" for place in places}):
        if len(texts[-1]) + len(member) > _PLACES_LENGTH:
            texts.append("")
        texts[-1] += member
    return {_MEMBER_OF + (f".{i}" if i else ""): f"|{text}" for i, text in enumerate(texts)}


def _table(place: Place) -> str:
    return place.source.split("/", 1)[1]


def emptied(before: Mapping[str, str], tags: Mapping[str, str]) -> dict[str, str]:
    """Return empty values for the parts of a longer list of places that a run had before."""
    return {key: "" for key in before if is_member_tag(key) and key not in tags}
