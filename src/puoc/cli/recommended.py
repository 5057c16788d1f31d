"""The method that ``puoc fit`` takes without ``--method``: that of the family which ``puoc assess`` recommends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from puoc.cli.assess import check_texts
from puoc.cli.console import say, working

if TYPE_CHECKING:
    from puoc.datasets.readers import Pair
    from puoc.userdata.settings import Settings
    from puoc.userdata.thresholds import ThresholdRule

_FAMILIES = {"oc": "OC", "pu": "PU", "pu_oc": "PU-OC"}


class Recommendation(NamedTuple):
    """What ``--method``, ``--params`` and ``--encoder`` would say."""

    method: str
    params: list[str]
    encoder: str


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
    from puoc.methods import METHODS, normalise
    from puoc.store.steps import heard_by
    from puoc.userdata.assess.decision import assess
    from puoc.userdata.assess.reference_methods import work_of

    assert pair.X_u is not None, "checked before the files were read"
    try:
        check_texts(pair)
        with working("assess", work_of(len(pair.X_u))) as shown, heard_by(shown.advance):
            found = assess(pair.X_p, pair.X_u, seed=seed)
    except ValueError as error:
        raise ValueError(
            f"{error}. The rows were assessed because --method is missing; --method METHOD does without"
        ) from error
    method = found.recommended.method
    params = normalise(method, dict(found.recommended.params))
    family = _FAMILIES[METHODS[method].kind]
    say(f"no --method was given, so the rows were assessed: {found.verdict}")
    say(f"the method is {method} ({family}), as puoc assess recommends; puoc assess shows why, --method takes another")
    return Recommendation(method, [f"{name}={value}" for name, value in params.items()], found.recommended.encoder)
