"""Checks of the numbers of rows and of their shape before anything is trained.

A class prior may take minutes to estimate, and an encoder to fit, before the method sees a row. The rules are
``check_counts`` and ``check_shape`` of the methods, encoders and priors. A test compares each with a fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

from puoc import methods
from puoc.datasets.user.dataset import own_data
from puoc.datasets.user.declare import as_keys
from puoc.methods import encoders, priors
from puoc.methods.training.estimator import RowChecks
from puoc.plan.bind import bind
from puoc.plan.make_plan import CONFIGS, PLAN
from puoc.records import Encoding, Fit
from puoc.registry import ENCODERS, PRIORS
from puoc.scenarios.drawing.draws import count_of
from puoc.userdata.settings import Part, Settings

Shape = tuple[int, ...]


def check_rows(asked: Settings, encoder: str | Part | None, shape: Shape, n_p: int, n_u: int) -> None:
    """Check that the encoder, the estimator of the class prior and the method accept the rows.

    Parameters
    ----------
    encoder : what of ``asked.encoder`` these rows need; None where the method sees them as they are.
    shape : of one row, before the encoder.
    n_p, n_u : labelled positives and unlabelled rows that are learned from.

    Raises
    ------
    ValueError : the value, the expected one and the option that changes it.
    """
    seen = _encoded_shape(encoder, shape, n_p, n_u)
    if isinstance(asked.prior, Part) and n_u:
        _check_prior(asked.prior, seen, n_p, n_u)
    method = methods.make(asked.method, asked.params)
    with _named("--method"):
        _check(method, seen, n_p, 0 if method.one_class else n_u)


def check_own_tables(files: Mapping[Path, Any]) -> None:
    """Check the tables and sweeps of user data in a plan as ``check_rows``.

    A table with ``configs: selected`` is checked by its sweep. A sweep is accepted if the rows allow some configuration
    of its space. Fits of the other configurations are recorded as failed with a reason.

    Parameters
    ----------
    files : of a plan, by path.

    Raises
    ------
    ValueError : for every entry with too few rows the value, the expected one and the key that changes it.
    """
    faults: dict[str, None] = {}
    for path, plan in files.items():
        if path.parent == PLAN / "tables" and plan["configs"] == "published":
            refused = _refusals(plan, files[CONFIGS / "published" / path.name])
            faults |= {f"tables.{path.stem}.methods: {entry}: {told}": None for entry, _, told in refused if told}
        elif path.parent == PLAN / "tune":
            refused = _refusals(plan)
            possible = {config for _, config, told in refused} - {config for _, config, told in refused if told}
            if refused and not possible:
                faults[f"tune.{path.stem}: {next(told for *_, told in refused if told)}"] = None
    if faults:
        raise ValueError("\n".join(faults))


def _refusals(plan: dict[str, Any], configs: dict[str, Any] | None = None) -> list[tuple[str, str, str | None]]:
    """Return the entry, the configuration and the error, or None, of every fit of a plan on user data."""
    own = own_data(plan["dataset"])
    found: list[tuple[str, str, str | None]] = []
    if own is None:
        return found
    for asked in bind(plan, configs):
        if asked.seed == plan["seeds"][0] and asked.skip is None:
            told = None
            try:
                _check_fit(asked.trial.fit, own.shape)
            except ValueError as error:
                told = as_keys(str(error))
            found.append((asked.entry, asked.config.get("config_id", asked.entry), told))
    return found


def _check_fit(fit: Fit, shape: Shape) -> None:
    kept = [n - count_of(fit.sample.holdout, n) for n in (fit.sample.n_pos_lab, fit.sample.n_neg_unl or 0)]
    prior = fit.prior
    if prior is not None and prior.params is not None and prior.kind in PRIORS:
        part = Part(name=prior.kind, params=prior.params, source="params.yaml")
        _check_prior(part, _encoded_shape(_part(prior.encoder), shape, *kept), *kept)
    check_rows(Settings(method=fit.method, params=fit.params, source=""), _part(fit.encoder), shape, *kept)


def _part(encoder: str | Encoding | None) -> str | Part | None:
    if not isinstance(encoder, Encoding):
        return encoder
    return Part(name=encoder.name, params=encoder.params, source="params.yaml")


def _encoded_shape(encoder: str | Part | None, shape: Shape, n_p: int, n_u: int) -> Shape | None:
    """Return the shape of an encoded row; None where only a fit shows it. Raises ValueError as the encoder does."""
    if not isinstance(encoder, Part):
        return shape if encoder is None else (prod(shape),)
    fitted = encoders.make(encoder.name, encoder.params)
    with _named("--encoder"):
        _check(fitted, shape, n_p, n_u if learns_from_u(encoder) else 0)
    return fitted.encoded_shape(shape)


def learns_from_u(encoder: str | Part | None) -> bool:
    """Return True for an encoder that is fitted to P and U, so that every method with it needs unlabelled rows."""
    return isinstance(encoder, Part) and hasattr(ENCODERS[encoder.name], "learns_from")


def _check_prior(part: Part, seen: Shape | None, n_p: int, n_u: int) -> None:
    with _named("--prior", part.source):
        _check(priors.make(part.name, part.params), seen, n_p, n_u)


def _check(learner: RowChecks, shape: Shape | None, n_p: int, n_u: int) -> None:
    learner.check_counts(n_p, n_u)
    if shape is not None:
        learner.check_shape(shape)


@contextmanager
def _named(option: str, source: str | None = None) -> Iterator[None]:
    """Add to the message of a ValueError the option to change and, if given, where its entry stands."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{option}: {error}" + (f" ({source})" if source else "")) from error
