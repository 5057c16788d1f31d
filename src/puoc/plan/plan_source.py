"""What a plan was made of: whether params.yaml or a space has been changed since, so that the plan is an older one."""

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
    """Return the params file with its digests, of its bytes and of what they say, and the digests of all spaces."""
    path = params.resolve()
    return {
        "params": str(path.relative_to(root.resolve()) if path.is_relative_to(root.resolve()) else path),
        "bytes": _digest(path),
        "content": content_id(YamlFile(path).data),
        "spaces": {found.name: _digest(found) for found in sorted((root / _SPACES).glob("*.yaml"))},
    }


def changed_since(root: Path) -> list[str]:
    """Files that say other things than when ``puoc plan`` read them; none where the plan does not tell."""
    if not (root / SOURCE).exists():
        return []
    source = read_form(root / SOURCE, _Source, BY_PLAN)
    params, changed = root / source.params, []
    if not params.exists() or (_digest(params) != source.bytes and _says(params) != source.content):
        changed.append(source.params)
    for name, digest in source.spaces.items():
        path = root / _SPACES / name
        if not path.exists() or _digest(path) != digest:
            changed.append(str(_SPACES / name))
    return changed


def _says(params: Path) -> str | None:
    try:
        return content_id(YamlFile(params).data)
    except InvalidInput:  # puoc plan will tell what is wrong with it
        return None


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
