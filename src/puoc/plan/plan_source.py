"""Source of a plan: digests of params.yaml and of the search spaces, to find out whether they changed since then."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel

from puoc.records import JsonObject, content_id
from puoc.store.checked_json import BY_PLAN, read_form
from puoc.store.yaml_file import InvalidInput, YamlFile

SOURCE = Path("work", "plan", "source.json")  # below a project's root
_SPACES = Path("tuning", "spaces")


class _Source(BaseModel):
    params: str
    bytes: str
    content: str
    spaces: dict[str, str]


def source_of(params: Path, root: Path) -> JsonObject:
    """Return the path of the params file, the digests of its bytes and content, and the digests of all spaces."""
    path = params.resolve()
    return {
        "params": str(path.relative_to(root.resolve()) if path.is_relative_to(root.resolve()) else path),
        "bytes": _digest(path),
        "content": content_id(YamlFile(path).data),
        "spaces": {space.name: _digest(space) for space in sorted((root / _SPACES).glob("*.yaml"))},
    }


def planned_params(root: Path) -> Path:
    """Return the path of the params file that the plan was made from.

    Raises
    ------
    ValueError : the note of the plan on its source is damaged.
    """
    if not (root / SOURCE).exists():
        return root / "params.yaml"
    return root / read_form(root / SOURCE, _Source, BY_PLAN).params


def changed_since(root: Path) -> list[str]:
    """Return the files whose content has changed since ``puoc plan`` read them; none if the plan has no source."""
    if not (root / SOURCE).exists():
        return []
    source = read_form(root / SOURCE, _Source, BY_PLAN)
    params, changed = root / source.params, []
    if not params.exists() or (_digest(params) != source.bytes and _content_digest(params) != source.content):
        changed.append(source.params)
    for name, digest in source.spaces.items():
        path = root / _SPACES / name
        if not path.exists() or _digest(path) != digest:
            changed.append(str(_SPACES / name))
    return changed


def _content_digest(params: Path) -> str | None:
    try:
        return content_id(YamlFile(params).data)
    except InvalidInput:  # puoc plan reports its faults
        return None


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
