"""The method that ``puoc fit`` takes without ``--method``: the default of the family that is recommended.

``puoc assess`` recommends a family. Its default depends on the kind and the number of the rows (``families`` in
puoc/userdata/defaults.yaml).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from puoc.cli.assess import check_texts
from puoc.cli.console import say, working

if TYPE_CHECKING:
    from puoc.datasets.readers import Pair
    from puoc.userdata.assess.decision import Recommended
    from puoc.userdata.assess.reference_methods import Family
    from puoc.userdata.settings import Settings
    from puoc.userdata.thresholds import ThresholdRule


class Recommendation(NamedTuple):
    """What ``--method``, ``--params`` and ``--encoder`` would say."""

    method: str
    params: list[str]
    encoder: str | None


def check_unspecific(
    params: list[str] | None, encoder: str | None, settings: Path | None, *, has_unlabelled: bool
) -> None:
    """Raise ValueError for options that belong to a method, and without rows to assess."""
    given = {"--params": " ".join(params or ()), "--encoder": encoder, "--settings": settings}
    for option, value in given.items():
        if value:
            raise ValueError(f"{option}: got {value} without --method; expected --method METHOD, to which it belongs")
    if not has_unlabelled:
        raise ValueError(
            "--method: the method is missing; expected --method METHOD, such as --method knn for a table. Without it "
            "puoc fit takes what puoc assess recommends, and that needs unlabelled rows (--unlabelled, or --data)"
        )


def method_of(
    chosen: Recommendation, read: Callable[..., Settings], prior: str | None, rule: ThresholdRule
) -> Settings:
    """Return the settings of the recommended method. If nothing uses ``--prior``, say so and leave it out.

    Parameters
    ----------
    read : ``puoc.userdata.settings.settings`` with the options of the command. It refuses such a prior, as is right
        for a method that the user named.
    """
    from puoc.methods import METHODS

    method = METHODS[chosen.method]
    used = method.kind != "oc" and getattr(method, "needs_alpha", True)
    change = {}
    if prior is not None and not (used or rule.by_alpha or rule.withholds):
        say(f"--prior {prior} is not used: {chosen.method} takes no class prior")
        change = {"prior": None}
    return read(chosen.method, given=chosen.params, encoder=chosen.encoder, **change)


def recommended(pair: Pair, seed: int) -> Recommendation:
    """Assess the rows, say what was chosen and why, and return it.

    Raises
    ------
    ValueError : rows that cannot be assessed, with the way to do without.
    """
    from puoc.store.steps import heard_by
    from puoc.userdata.assess.decision import assess
    from puoc.userdata.assess.input_rows import MAX_ROWS
    from puoc.userdata.assess.reference_methods import work_of

    assert pair.X_u is not None, "checked before the files were read"
    try:
        check_texts(pair)
        with working("assess", work_of(min(len(pair.X_u), MAX_ROWS))) as shown, heard_by(shown.advance):
            found = assess(pair.X_p, pair.X_u, seed=seed)
    except ValueError as error:
        raise ValueError(
            f"{error}. The rows were assessed because --method is missing; --method METHOD does without"
        ) from error
    say(f"no --method was given, so the rows were assessed: {found.verdict}")
    chosen, passed_over = default_of(pair, found.advice, found.recommended)
    for sentence in passed_over:
        say(sentence)
    say(f"the method is {chosen.method}, the default of {found.advice} for such rows; --method takes another")
    return chosen


def default_of(pair: Pair, family: Family, assessed: Recommended) -> tuple[Recommendation, list[str]]:
    """Return the default method of a family for these rows, and a sentence for each that too many rows rule out.

    Parameters
    ----------
    assessed : the method that the assessment fitted, which is the default for some kinds of rows.
    """
    from puoc.datasets.readers.preprocess import TablePreparing
    from puoc.methods import normalise
    from puoc.userdata.family_defaults import chosen, defaults_of

    kind: Literal["table", "other"] = "table" if isinstance(pair.preparing, TablePreparing) else "other"
    n = len(pair.X_p) + (0 if family == "OC" or pair.X_u is None else len(pair.X_u))
    default, passed_over = chosen(defaults_of(kind, family), n, assessed.method)
    params, encoder = default.params, default.encoder
    if default.method is None:
        params, encoder = normalise(assessed.method, dict(assessed.params)), assessed.encoder
    given = [f"{name}={value}" for name, value in params.items()]
    return Recommendation(default.method or assessed.method, given, encoder), passed_over
