"""What would refuse rows once fitting has begun, asked before anything is trained: numbers of rows, and their shape.

A class prior may take minutes to estimate, and an encoder to fit, before the method sees a row. The rules themselves
stand where they are needed; a test compares each of them with what is said here.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from puoc import methods
from puoc.datasets.user.dataset import own_data
from puoc.datasets.user.declare import as_keys
from puoc.methods import encoders, priors
from puoc.plan.bind import bind
from puoc.plan.make_plan import CONFIGS, PLAN
from puoc.records import Encoding, Fit
from puoc.registry import ENCODERS, PRIORS
from puoc.scenarios.drawing.draws import count_of
from puoc.userdata.settings import Part, Settings

Shape = tuple[int, ...]


def check_rows(asked: Settings, encoder: str | Part | None, shape: Shape, n_p: int, n_u: int) -> None:
    """Refuse rows that the encoder, the estimator of the class prior or the method would refuse later.

    Parameters
    ----------
    encoder : what of ``asked.encoder`` these rows need; None where the method sees them as they are.
    shape : of one row, before the encoder.
    n_p, n_u : labelled positives and unlabelled rows that are learned from.

    Raises
    ------
    ValueError : what was got, what was expected and which option changes it.
    """
    seen = _seen(encoder, shape)
    if isinstance(asked.prior, Part) and n_u:
        _check_prior(asked.prior, seen, n_p, n_u)
    made = methods.make(asked.method, asked.params)
    one_class = made.kind == "oc"
    _check_method(made, seen, n_p, 0 if one_class else n_u)


def check_own_tables(files: Mapping[Path, Any]) -> None:
    """The same for the tables and sweeps of own data that a plan asks.

    What a table with ``configs: selected`` will fit is told by its sweep. A sweep whose space holds some configuration
    that the rows allow is not refused: what cannot be fitted of it becomes rows with a reason.

    Parameters
    ----------
    files : of a plan, by path.

    Raises
    ------
    ValueError : of every entry with too few rows what was got, what was expected and which key changes it.
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
    """Of every question of a plan on own data: its entry, its configuration, and why its rows would be refused."""
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
        _check_prior(part, _seen(_part(prior.encoder), shape), *kept)
    check_rows(Settings(method=fit.method, params=fit.params, source=""), _part(fit.encoder), shape, *kept)


def _part(encoder: str | Encoding | None) -> str | Part | None:
    if not isinstance(encoder, Encoding):
        return encoder
    return Part(name=encoder.name, params=encoder.params, source="params.yaml")


def _seen(encoder: str | Part | None, shape: Shape) -> Shape:
    """The shape of an encoded row."""
    from puoc.methods.encoders.frozen import Frozen

    if not isinstance(encoder, Part):
        return shape if encoder is None else (prod(shape),)
    made: Any = encoders.make(encoder.name, encoder.params)
    if isinstance(made, Frozen):
        made.check_shape(shape)
        return tuple(made.encode(np.zeros((1, *shape), dtype=np.float32)).shape[1:])
    if learns_from_u(encoder):
        return (min(int(made.dimension), prod(shape)),)
    _check_shape(made, shape, "--encoder")
    return (int(made.dimension),)


def learns_from_u(encoder: str | Part | None) -> bool:
    """Whether an encoder is fitted to P and U, so that every method that sees it needs unlabelled rows."""
    return isinstance(encoder, Part) and hasattr(ENCODERS[encoder.name], "learns_from")


def _check_prior(part: Part, seen: Shape, n_p: int, n_u: int) -> None:
    from puoc.methods.priors.crossfit import CrossFit

    made: Any = priors.make(part.name, part.params)
    advice = f"Give more rows, a number by --prior, or an entry with fewer folds by --settings ({part.source})"
    if isinstance(made, CrossFit):
        _check_folds(f"--prior: {part.name}", made.folds, n_p, n_u, advice)
        _check_shape(made.p_vs_u(), seen, "--prior")
    elif n_p + n_u < made.folds:
        raise ValueError(
            f"--prior: {part.name} cuts {n_p} labelled and {n_u} unlabelled rows into {made.folds} folds; expected "
            f"{made.folds} rows at least. {advice}"
        )


def _check_folds(what: str, folds: int, n_p: int, n_u: int, advice: str) -> None:
    if min(n_p, n_u) < folds:
        raise ValueError(
            f"{what} cuts {n_p} labelled and {n_u} unlabelled rows into {folds} folds; expected {folds} of each at "
            f"least. {advice}"
        )


def _check_method(made: Any, seen: Shape, n_p: int, n_u: int) -> None:
    from puoc.methods.en import EN
    from puoc.methods.priors.crossfit import CrossFit
    from puoc.methods.svm import _ROWS_MAX, PUSVM
    from puoc.methods.training.deep import Deep

    name: str = made.name
    if isinstance(made, CrossFit):
        _check_folds(f"--method: {name}", made.folds, n_p, n_u, "Give more rows, or fewer by --params folds=N")
        _check_shape(made.p_vs_u(), seen, "--method")
    if isinstance(made, EN) and n_p < 2:
        raise ValueError(f"--method: {name} holds out labelled positives: got {n_p}, at least 2 expected")
    if isinstance(made, Deep):
        _check_shape(made, seen, "--method")
        made.sizes(n_p, n_u)
    if isinstance(made, PUSVM) and made.solver == "exact" and made.kernel == "rbf" and n_p + n_u > _ROWS_MAX:
        raise ValueError(
            f"--method: {name} with kernel rbf takes {_ROWS_MAX} rows of P and U together at most, got "
            f"{n_p + n_u}; use --params kernel=linear --params gamma=null, or fewer rows"
        )


def _check_shape(made: Any, shape: Shape, option: str) -> None:
    """Refuse a shape for which there is no such network. It is built and forgotten."""
    import torch

    try:
        with torch.device("meta"):  # no memory, and no random numbers
            made.build(shape)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from error
