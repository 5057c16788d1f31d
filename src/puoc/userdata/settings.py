"""Method, hyperparameters, class prior and encoder of ``puoc fit``, and the source of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import JsonValue

from puoc import methods
from puoc.methods import encoders, priors
from puoc.records import JsonObject, Params, Record
from puoc.registry import ENCODERS, METHODS, PRIORS
from puoc.store.messages import listed, nearest, type_of
from puoc.store.yaml_file import YamlFile

DEFAULTS = "puoc/userdata/defaults.yaml"


class Part(Record):
    """A prior or an encoder that is fitted."""

    name: str
    params: Params
    source: str


class Settings(Record):
    """All inputs of a fit except its rows and its seed."""

    method: str
    params: Params
    source: str  # of the hyperparameters
    prior: float | Part | None = None  # absent: the method takes none
    prior_asked: bool = True  # False if the prior is the default one
    encoder: str | Part | None = None
    image_encoder: Part | None = None  # where encoder is absent and the rows are pictures
    plain_params: Params | None = None  # where encoder is absent and the rows are columns or words

    def for_inputs(self, inputs: str) -> Settings:
        """Return the settings for rows of this kind.

        They have the packaged features of pictures, or the packaged hyperparameters for columns, if the method has
        some.
        """
        if self.encoder is None and self.plain_params is not None and inputs == "vector":
            return self.model_copy(update={"params": self.plain_params})
        if self.encoder is not None or self.image_encoder is None or inputs != "image":
            return self
        if "image" in methods.inputs_of(self.method, self.params):
            return self
        return self.model_copy(update={"encoder": self.image_encoder})


class _Entry(NamedTuple):
    """An entry of the section methods, priors or encoders, as ``puoc fit`` uses it."""

    params: Params
    source: str
    learner: str | None  # registered name of the method, estimator or encoder; None if the entry has its name
    labels: JsonValue = None  # of a method, as the next two
    prior: JsonValue = None
    encoder: str | None = None
    image_encoder: str | None = None
    plain_params: Params | None = None


_Sections = dict[str, dict[str, _Entry]]  # entries by section and name


def settings(
    method: str,
    *,
    given: Sequence[str] | Params = (),
    prior: str | None = None,
    encoder: str | None = None,
    file: Path | None = None,
    needs_prior: bool = False,
    may_use_prior: bool = False,
) -> Settings:
    """Return the checked settings of a fit.

    Parameters
    ----------
    method : the name of a method, or of an entry of ``methods`` in ``file``.
    given : hyperparameters as ``name=value`` or by name, which replace those of the entry.
    prior : a number in (0, 1) or an estimator; absent: as in the entry, else TIcE.
    encoder : ``flatten``, or an encoder with hyperparameters; absent: as in the entry.
    file : a params file or profile. Its sections methods, priors and encoders override the packaged ones.
    needs_prior : whether alpha is needed for something else than the method's own risk.
    may_use_prior : whether a prior that is given has a use beside the method's own risk, as for a precision.

    Raises
    ------
    ValueError : an unknown name, hyperparameters that the method does not take, a prior for a method that takes none.
    """
    sections = _sections(file)
    entry = sections["methods"].get(method)
    name = (entry.learner if entry else None) or method
    if name not in METHODS:
        known = listed(sorted(METHODS))
        raise ValueError(
            f"--method: unknown method {method!r}{nearest(method, [*METHODS, *sections['methods']])}; known: {known}"
        )
    if entry is not None and entry.labels == "oracle":
        raise ValueError(f"--method: {method} needs the true classes of the unlabelled rows, which are not known here")
    _check_package(method, getattr(METHODS[name], "package", None))
    own = getattr(METHODS[name], "default_params", None)  # of a method of another package
    if entry is None and own is None and not given:
        raise ValueError(f"--method: no hyperparameters of {method} are packaged; give all of them by --params")
    params, source = (entry.params, entry.source) if entry else ({}, "params.yaml")
    if entry is None and own is not None:
        params, source = dict(own), f"{METHODS[name].__module__}, default_params"
    changed = given if isinstance(given, dict) else _pairs(given)
    _check_plain(changed)
    normal, plain = _hyperparameters(name, params, entry.plain_params if entry else None, changed)
    if changed:
        source = f"{source}; {listed(changed)} by --params"
    cls = METHODS[name]
    takes = cls.kind != "oc" and getattr(cls, "needs_alpha", True)
    chosen_prior = prior if prior is not None else _prior_of(entry)
    takes = takes or needs_prior or (may_use_prior and prior is not None)
    if prior is not None and not takes:
        raise ValueError(
            f"--prior: {name} takes no class prior; leave it out. With {name}, only --by-alpha, --recall, "
            "--false-alarms and --precision use one"
        )
    chosen_encoder = encoder if encoder is not None or entry is None else entry.encoder
    return Settings(
        method=name,
        params=normal,
        source=source,
        prior=_prior(chosen_prior or "tice", sections["priors"]) if takes else None,
        prior_asked=chosen_prior is not None,
        encoder=_encoder(chosen_encoder, sections["encoders"]),
        image_encoder=_part("encoder", entry.image_encoder, sections["encoders"], ENCODERS, encoders.normalise)
        if entry and entry.image_encoder
        else None,
        plain_params=plain,
    )


def _check_package(method: str, package: str | None) -> None:
    """Raise a ValueError if a method needs a package that is not installed, before any row is read."""
    if package is not None and find_spec(package) is None:
        raise ValueError(
            f"--method: {method} needs the package {package}, which is not installed; expected it here: python -m pip "
            f"install {package}, or in a checkout of puoc make install EXTRAS={package}"
        )


def _hyperparameters(name: str, params: Params, plain: Params | None, changed: Params) -> tuple[Params, Params | None]:
    """Return the checked hyperparameters with those that are given, and those for columns without an encoder.

    The second are absent if a given one, such as a kernel, is packaged with two values. The first are the second if
    only these take what is given.
    """

    def checked(packaged: Params) -> Params:
        return methods.normalise(name, {key: value for key, value in (packaged | changed).items() if value is not None})

    if plain is None or any(params.get(key, plain.get(key)) != plain.get(key) for key in changed):
        return checked(params), None
    for_columns = checked(plain)
    try:
        return checked(params), for_columns
    except ValueError:
        return for_columns, for_columns


def packaged_methods() -> list[tuple[str, Params]]:
    """Return the methods that have packaged hyperparameters, sorted by name."""
    return sorted((name, methods.normalise(name, entry.params)) for name, entry in _sections(None)["methods"].items())


def packaged_for_columns(method: str) -> Params | None:
    """Return the packaged hyperparameters for columns and words without an encoder, if they are others; else None."""
    entry = _sections(None)["methods"].get(method)
    return methods.normalise(method, entry.plain_params) if entry and entry.plain_params is not None else None


def _sections(file: Path | None) -> _Sections:
    """Read the packaged entries, and those of a user's file, which override them."""
    sections = deepcopy(_packaged())
    if file is not None:
        content = YamlFile(file).data
        if not isinstance(content, dict) or not isinstance(content.get("methods"), dict):
            raise ValueError(f"{file}: no section methods; expected a params file or a profile")
        for section, entries in _read(content, file.name).items():
            sections[section] |= entries
    return sections


@cache
def _packaged() -> _Sections:
    """Read the packaged entries, once for all fits of a process."""
    packaged = files("puoc").joinpath("userdata/defaults.yaml")
    return _read(YamlFile(Path(str(packaged))).data, f"packaged, {DEFAULTS.rpartition('/')[2]}")


def _read(content: JsonObject, where: str) -> _Sections:
    """Read the entries with hyperparameters; other entries are left out."""
    sections: _Sections = {}
    for section in ("methods", "priors", "encoders"):
        entries = content.get(section)
        sections[section] = {
            name: _entry(entry, params, section.removesuffix("s"), where)
            for name, entry in (entries.items() if isinstance(entries, dict) else ())
            if isinstance(entry, dict) and isinstance(params := entry.get("params"), dict)
        }
    return sections


def _entry(entry: JsonObject, params: Params, kind: str, where: str) -> _Entry:
    learner, encoder, image_encoder = (entry.get(key) for key in (kind, "encoder", "image_encoder"))
    plain_params = entry.get("plain_params")
    return _Entry(
        params=params,
        source=f"{where}: {entry.get('source', 'no source given')}",
        learner=str(learner) if learner else None,
        labels=entry.get("labels"),
        prior=entry.get("prior"),
        encoder=None if encoder is None else str(encoder),
        image_encoder=None if image_encoder is None else str(image_encoder),
        plain_params=plain_params if isinstance(plain_params, dict) else None,
    )


def _pairs(texts: Sequence[str]) -> Params:
    """Read ``lr=1e-3`` or ``batching=union`` with the values of YAML; ``null`` removes a hyperparameter."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    params: Params = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ValueError(f"--params: got {text!r}; expected name=value, for example --params lr=0.001")
        try:
            params[name.strip()] = YAML(typ="safe", pure=True).load(StringIO(value))
        except (YAMLError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise ValueError(f"--params: got {text!r}; expected name=value with a value of YAML ({reason})") from error
    return params


def _check_plain(params: Params) -> None:
    """Reject values that no hyperparameter has: dates, mappings, lists of lists."""
    for name, value in params.items():
        for part in value if isinstance(value, list) else [value]:
            if not isinstance(part, bool | int | float | str | None):
                expected = "expected a number, a text, true, false or a list of them"
                raise ValueError(f"--params: {name} is {type_of(part)}; {expected}")


def _prior_of(entry: _Entry | None) -> str | None:
    """Return the prior of an entry: an estimator or a number. ``true`` needs a draw, which user data do not have."""
    prior = None if entry is None else entry.prior
    if isinstance(prior, dict) and set(prior) == {"fixed"}:
        return str(prior["fixed"])
    return prior if isinstance(prior, str) and prior != "true" else None


def _prior(text: str, entries: Mapping[str, _Entry]) -> float | Part:
    try:
        value = float(text)
    except ValueError:
        return _part("prior", text, entries, PRIORS, priors.normalise)
    if not 0 < value < 1:
        raise ValueError(f"--prior: got {text}; expected a share of positives among the unlabelled rows, in (0, 1)")
    return value


def _encoder(name: str | None, entries: Mapping[str, _Entry]) -> str | Part | None:
    if name is None or name in encoders.PLAIN:
        return name
    return _part("encoder", name, entries, ENCODERS, encoders.normalise)


def _part(
    kind: Literal["prior", "encoder"],
    name: str,
    entries: Mapping[str, _Entry],
    registered: Collection[str],
    normalise: Callable[[str, Params], Params],
) -> Part:
    entry = entries.get(name)
    if entry is None:
        plain = f" {listed(encoders.PLAIN)}," if kind == "encoder" else " a number in (0, 1),"
        raise ValueError(f"--{kind}: got {name!r}{nearest(name, entries)}; expected{plain} {listed(entries)}")
    learner = entry.learner or name
    if learner not in registered:
        raise ValueError(f"--{kind}: {name} names {learner!r}, which is not among {listed(sorted(registered))}")
    return Part(name=learner, params=normalise(learner, entry.params), source=entry.source)
