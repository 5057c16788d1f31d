"""Checks of the numbers of rows and of their shape before anything is trained.

A class prior may take minutes to estimate, and an encoder to fit, before the method sees a row. The rules are
``check_counts`` and ``check_shape`` of the methods, encoders and priors. A test compares each with a fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import NamedTuple

from puoc import methods
from puoc.datasets.user.dataset import own_data
from puoc.datasets.user.declare import as_keys
from puoc.methods import encoders, priors
from puoc.methods.training.estimator import RowChecks
from puoc.plan.bind import bind
from puoc.plan.make_plan import Plan
from puoc.records import Encoding, Fit
from puoc.registry import ENCODERS, PRIORS
from puoc.scenarios.drawing.draws import count_of
from puoc.store.plans import Config, SweepPlan, TablePlan
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


def check_own_tables(plan: Plan) -> None:
    """Check the tables and sweeps of user data in a plan as ``check_rows``.

    A table with ``configs: selected`` is checked by its sweep. A sweep is accepted if the rows allow some configuration
    of its space. Fits of the other configurations are recorded as failed with a reason.

    Raises
    ------
    ValueError : for every entry with too few rows the value, the expected one and the key that changes it.
    """
    faults: dict[str, None] = {}
    for name, table in plan.tables.items():
        if table.configs == "published":
            checks = _checks(table, plan.configs[name])
            faults |= {f"tables.{name}.methods: {check.entry}: {check.fault}": None for check in checks if check.fault}
    for name, sweep in plan.sweeps.items():
        checks = _checks(sweep)
        refused = {check.config for check in checks if check.fault}
        if checks and all(check.config in refused for check in checks):
            faults[f"tune.{name}: {next(check.fault for check in checks if check.fault)}"] = None
    if faults:
        raise ValueError("\n".join(faults))


class _Check(NamedTuple):
    """The check of one fit on user data."""

    entry: str
    config: str  # of a sweep its id, of a table the entry
    fault: str | None  # why the rows are rejected


def _checks(plan: TablePlan | SweepPlan, configs: Mapping[str, Config] | None = None) -> list[_Check]:
    """Check every fit of a plan on user data, by its first seed; there are no checks for another dataset."""
    own = own_data(plan.dataset)
    checks: list[_Check] = []
    if own is None:
        return checks
    for planned in bind(plan, configs):
        if planned.seed == plan.seeds[0] and planned.skip is None:
            fault = None
            try:
                _check_fit(planned.trial.fit, own.shape)
            except ValueError as error:
                fault = as_keys(str(error))
            checks.append(_Check(planned.entry, planned.config.config_id or planned.entry, fault))
    return checks


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
