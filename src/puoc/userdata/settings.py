"""Which method, hyperparameters, class prior and encoder ``puoc fit`` takes, and where each of them comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any

from puoc import methods
from puoc.methods import encoders, priors
from puoc.records import Record
from puoc.registry import ENCODERS, METHODS, PRIORS
from puoc.store.messages import listed, nearest, type_of
from puoc.store.yaml_file import YamlFile

DEFAULTS = "puoc/userdata/defaults.yaml"


class Part(Record):
    """A prior or an encoder that is fitted."""

    name: str
    params: dict[str, Any]
    source: str


class Settings(Record):
    """Everything a fit is given beside its rows and its seed."""

    method: str
    params: dict[str, Any]
    source: str  # of the hyperparameters
    prior: float | Part | None = None  # absent: the method takes none
    prior_asked: bool = True  # whether somebody chose the prior, or it is the default
    encoder: str | Part | None = None


def settings(
    method: str,
    *,
    given: Sequence[str] = (),
    prior: str | None = None,
    encoder: str | None = None,
    file: Path | None = None,
    needs_prior: bool = False,
) -> Settings:
    """What is asked, checked.

    Parameters
    ----------
    method : the name of a method, or of an entry of ``methods`` in ``file``.
    given : hyperparameters as ``name=value``, in place of those of the entry.
    prior : a number in (0, 1) or an estimator; absent: as the entry says, else TIcE.
    encoder : ``flatten``, or one with hyperparameters; absent: as the entry says.
    file : a params file or profile whose sections methods, priors and encoders come before the packaged ones.
    needs_prior : whether alpha is wanted for something else than the method's own risk.

    Raises
    ------
    ValueError : an unknown name, hyperparameters that the method does not take, a prior for one that takes none.
    """
    entries = _entries(file)
    entry = entries["methods"].get(method)
    name = (entry or {}).get("method") or method
    if name not in METHODS:
        known = listed(sorted(METHODS))
        raise ValueError(
            f"--method: unknown method {method!r}{nearest(method, [*METHODS, *entries['methods']])}; known: {known}"
        )
    if (entry or {}).get("labels") == "oracle":
        raise ValueError(f"--method: {method} is told the true classes of the unlabelled rows, which nobody has here")
    if entry is None and not given:
        raise ValueError(f"--method: no hyperparameters of {method} are packaged; give all of them by --params")
    params, source = dict((entry or {}).get("params", {})), (entry or {}).get("source", "params.yaml")
    changed = _pairs(given)
    normal = methods.normalise(name, {key: value for key, value in (params | changed).items() if value is not None})
    if changed:
        source = f"{source}; {listed(changed)} by --params"
    cls = METHODS[name]
    takes = cls.kind != "oc" and getattr(cls, "needs_alpha", True)
    asked = prior if prior is not None else _prior_of(entry)
    if prior is not None and not takes and not needs_prior:
        raise ValueError(f"--prior: {name} takes no class prior; leave it out")
    wanted = takes or needs_prior
    return Settings(
        method=name,
        params=normal,
        source=source,
        prior=_prior(asked or "tice", entries) if wanted else None,
        prior_asked=asked is not None,
        encoder=_encoder(encoder if encoder is not None else (entry or {}).get("encoder"), entries),
    )


def packaged_methods() -> list[tuple[str, dict[str, Any]]]:
    """Methods with the hyperparameters that are packaged, by name."""
    return sorted((name, methods.normalise(name, entry["params"])) for name, entry in _entries(None)["methods"].items())


def _entries(file: Path | None) -> dict[str, dict[str, Any]]:
    packaged = files("puoc").joinpath("userdata/defaults.yaml")
    found: dict[str, dict[str, Any]] = _read(
        YamlFile(Path(str(packaged))).data, f"packaged, {DEFAULTS.rpartition('/')[2]}"
    )
    if file is not None:
        own = YamlFile(file).data
        if not isinstance(own, dict) or not isinstance(own.get("methods"), dict):
            raise ValueError(f"{file}: no section methods; expected a params file or a profile")
        for section, entries in _read(own, file.name).items():
            found[section] |= entries
    return found


def _read(data: dict[str, Any], where: str) -> dict[str, dict[str, Any]]:
    found = {}
    for section in ("methods", "priors", "encoders"):
        entries = data.get(section) or {}
        found[section] = {
            name: {**entry, "source": f"{where}: {entry.get('source', 'no source given')}"}
            for name, entry in entries.items()
            if isinstance(entry, dict) and isinstance(entry.get("params"), dict)
        }
    return found


def _pairs(given: Sequence[str]) -> dict[str, Any]:
    """``lr=1e-3 batching=union`` as YAML would read each value; ``null`` takes a hyperparameter away."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    found = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ValueError(f"--params: got {text!r}; expected name=value, for example --params lr=0.001")
        try:
            found[name.strip()] = YAML(typ="safe", pure=True).load(StringIO(value))
        except (YAMLError, ValueError) as error:
            said = " ".join(str(error).split())
            raise ValueError(f"--params: got {text!r}; expected name=value, as YAML has values ({said})") from error
    _check_plain(found)
    return found


def _check_plain(params: dict[str, Any]) -> None:
    """Refuse values that are no hyperparameter of any method: dates, mappings, lists of lists."""
    for name, value in params.items():
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, bool | int | float | str | None):
                expected = "expected a number, a text, true, false or a list of them"
                raise ValueError(f"--params: {name} is {type_of(one)}; {expected}")


def _prior_of(entry: dict[str, Any] | None) -> str | None:
    """The prior of an entry: an estimator or a number. ``true`` is the share in a draw, which own data do not tell."""
    asked = (entry or {}).get("prior")
    if isinstance(asked, dict) and set(asked) == {"fixed"}:
        return str(asked["fixed"])
    return asked if isinstance(asked, str) and asked != "true" else None


def _prior(asked: str, entries: dict[str, dict[str, Any]]) -> float | Part:
    try:
        value = float(asked)
    except ValueError:
        return _part("prior", asked, entries["priors"], PRIORS, priors.normalise)
    if not 0 < value < 1:
        raise ValueError(f"--prior: got {asked}; expected a share of positives among the unlabelled rows, in (0, 1)")
    return value


def _encoder(asked: str | None, entries: dict[str, dict[str, Any]]) -> str | Part | None:
    if asked is None or asked in encoders.PLAIN:
        return asked
    return _part("encoder", asked, entries["encoders"], ENCODERS, encoders.normalise)


def _part(what: str, asked: str, entries: dict[str, Any], table: Mapping[str, Any], normalise: Any) -> Part:
    entry = entries.get(asked)
    if entry is None:
        plain = f" {listed(encoders.PLAIN)}," if what == "encoder" else " a number in (0, 1),"
        raise ValueError(f"--{what}: got {asked!r}{nearest(asked, entries)}; expected{plain} {listed(entries)}")
    name = entry.get(what) or asked
    if name not in table:
        raise ValueError(f"--{what}: {asked} names {name!r}, which is not among {listed(sorted(table))}")
    return Part(name=name, params=normalise(name, entry["params"]), source=entry["source"])
