"""Decision between OC, PU-OC and PU: whether the unlabelled data can be trusted, by the evidence.

The advice is the family with the smallest expected loss of AUC, over all situations that the evidence allows
(``puoc.userdata.assess.expected_auc``). It is the answer if this loss is small, the chance that the family is the worst
of the three is small too whether or not P is a random sample, and it is better than the next one with a chance of
``SURE``; otherwise the answer is *cannot tell*. docs/reliability.md compares the chances with how often the families
were the best and the worst.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from puoc.analysis.reliability.leads import Labelling, LeadModel, packaged_leads
from puoc.analysis.reliability.robustness_map import Region, ShiftKind, packaged, region
from puoc.records import Array, Record
from puoc.userdata.assess.alpha_bounds import AlphaBounds, whole
from puoc.userdata.assess.evidence import Evidence, gather
from puoc.userdata.assess.expected_auc import Expected, Lead, Standing, expected
from puoc.userdata.assess.reasons import more_data, outside_map, reasons, signed, to_one, unmet
from puoc.userdata.assess.reference_methods import ENCODERS, FAMILIES, MOST_VALUES, Family, question, values_seen

Answer = Literal["OC", "PU-OC", "PU", "cannot tell"]

SAME_ROWS: Final = "puoc fit prepares rows in the same way by --encoder"


class Worth(Record):
    """Lead of a family over PU-OC in AUC of positives against negatives."""

    family: str
    method: str
    map_auc: float  # of the robustness map, for comparison; the answer does not use it
    map_lead: float
    map_spread: float
    lead: float  # expected by the model, after the user's rows
    spread: float
    loss: float  # expected AUC of the best family minus that of this one
    best: float  # chance to be the best family
    worst: float  # chance to be the worst one


class Recommended(Record):
    """Recommended fit: method and settings of the assessment itself, on rows prepared as in it."""

    method: str
    params: dict[str, float | int | str]
    components: int  # number of principal components of the standardised columns
    encoder: str = "components"  # of puoc fit, that makes these components
    remark: str = SAME_ROWS
    command: str | None = None  # of puoc fit; absent if no files were assessed


class KindAnswer(Record):
    """Answer if the negatives stay as in U, or if new ones come."""

    kind: ShiftKind
    taken_as: float  # probability of this kind in the expectation
    answer: Answer
    first: Family
    second: Family
    lead: float  # expected AUC of the first minus that of the second, with its standard deviation
    lead_spread: float
    probability: float  # that the first is better than the second
    loss: float  # expected AUC of the best family minus that of the first
    worst: float  # chance that the first is the worst family
    worst_random: float  # the same if P is a random sample of the positives
    worst_biased: float  # and if it is none


class Assessment(Record):
    """Result of an assessment; ``puoc assess --json`` prints it."""

    answer: Answer
    advice: Family  # to be used while the answer is not clear
    first: Family  # with the smallest expected loss, or OC within .01 of it if U may hold no negatives at all
    second: Family
    lead: float  # expected AUC of the first minus that of the second, with its standard deviation
    lead_spread: float
    probability: float  # that the first is better than the second
    loss: float  # expected AUC of the best family minus that of the advice
    worst: float  # chance that the advice is the worst family
    worst_random: float  # the same if P is a random sample of the positives
    worst_biased: float  # and if it is none
    verdict: str  # the answer with its odds, in one line
    by_kind: tuple[KindAnswer, ...]  # if the negatives stay as in U, and if new ones come
    outside: tuple[str, ...]  # in what the data lie outside of the situations that the model was estimated on
    alpha_bounds: AlphaBounds
    reasons: tuple[str, ...]
    more_data: tuple[str, ...]
    shift_examined: bool
    evidence: Evidence
    worth: tuple[Worth, ...]
    region: str  # of the robustness map, for comparison; the answer does not use it
    region_situations: int
    new_expected: float  # probability of new negatives in the expectation
    biased_expected: float  # probability in it that P is no random sample of the positives
    base_worst: float  # share of the region's situations in which PU-OC was the worst family
    recommended: Recommended

    def lines(self) -> list[str]:
        """Return the assessment in words, as ``puoc assess`` prints it."""
        evidence, recommended = self.evidence, self.recommended
        params = ", ".join(f"{name}={value}" for name, value in recommended.params.items())
        features = f"the first {recommended.components} principal components of standardised columns"
        return [
            f"answer: {self.verdict}",
            *(f"note: {line}" for line in self.outside),
            f"{evidence.n_p} labelled positives, {evidence.n_u} unlabelled rows, {evidence.columns} "
            f"{'value' if evidence.columns == 1 else 'values'} in each row",
            *evidence.notes,
            *self.reasons,
            *(f"more data: {line}" for line in self.more_data),
            f"recommended: {recommended.method} ({params}), on {features}; {recommended.remark}",
            *([f"to fit it: {recommended.command}"] if recommended.command else []),
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def assess(X_p: Array, X_u: Array, X_v: Array | None = None, *, seed: int = 0, new: float = 0.0) -> Assessment:
    """Assess (n_p, *shape) labelled positives, (n_u, *shape) unlabelled rows and any (n_v, *shape) incoming rows.

    Parameters
    ----------
    new : probability that the rows to be scored have negatives of a new kind. Incoming rows replace it.

    Raises
    ------
    ValueError : the rows are too few, not finite, all equal or of different shapes, or all of U is in P; ``new`` is
        no probability.
    """
    if not 0 <= new <= 1:
        raise ValueError(f"new: got {new}; a probability from 0 to 1 expected")
    return decide(gather(X_p, X_u, X_v, seed), new=new)


def decide(evidence: Evidence, models: Mapping[Labelling, LeadModel] | None = None, *, new: float = 0.0) -> Assessment:
    """Return the answer by the evidence and the models of the leads, by default the packaged ones."""
    alpha, incoming = evidence.alpha, evidence.incoming
    reported = incoming is not None and incoming.new_negatives
    place = region(packaged(), (alpha.low, alpha.high), evidence.n_u, "new" if reported else "none")
    found = expected(evidence, packaged_leads() if models is None else models, new)
    best = found.all
    answer = _answer(best, found.by_labelling)
    values = values_seen(evidence.columns, evidence.n_p + evidence.n_u)
    method, params = question(best.first, values)
    encoder = ENCODERS[values > MOST_VALUES]
    return Assessment(
        answer=answer,
        advice=best.first,
        first=best.first,
        second=best.second,
        lead=best.over.mean,
        lead_spread=best.over.spread,
        probability=best.above,
        loss=best.loss[best.first],
        worst=best.worst[best.first],
        worst_random=found.by_labelling["random"].worst[best.first],
        worst_biased=found.by_labelling["biased"].worst[best.first],
        verdict=_verdict(answer, best),
        by_kind=tuple(_of_kind(kind, found) for kind in found.by_kind),
        outside=outside_map(evidence),
        alpha_bounds=AlphaBounds.of(alpha),
        reasons=reasons(evidence, found, best.first),
        more_data=more_data(evidence, answer == "cannot tell"),
        shift_examined=incoming is not None,
        evidence=evidence,
        worth=tuple(_worth(family, place, best) for family in FAMILIES),
        region=place.name,
        region_situations=place.n,
        new_expected=found.new,
        biased_expected=found.biased,
        base_worst=place.base_worst,
        recommended=Recommended(
            method=method, params=params, components=values, encoder=encoder, remark=f"{SAME_ROWS} {encoder}"
        ),
    )


def _of_kind(kind: ShiftKind, found: Expected) -> KindAnswer:
    best, by_labelling = found.by_kind[kind], found.by_both[kind]
    return KindAnswer(
        kind=kind,
        taken_as=found.new if kind == "new" else 1 - found.new,
        answer=_answer(best, by_labelling),
        first=best.first,
        second=best.second,
        lead=best.over.mean,
        lead_spread=best.over.spread,
        probability=best.above,
        loss=best.loss[best.first],
        worst=best.worst[best.first],
        worst_random=by_labelling["random"].worst[best.first],
        worst_biased=by_labelling["biased"].worst[best.first],
    )


def _answer(best: Standing, by_labelling: Mapping[Labelling, Standing]) -> Answer:
    """Return the family with the smallest expected loss if it can be relied on."""
    return "cannot tell" if unmet(best, by_labelling) else best.first


def _verdict(answer: Answer, best: Standing) -> str:
    odds = f"the odds that it is better than {best.second} are {to_one(best.above)}"
    if best.loss[best.first] > min(best.loss.values()):  # the reason says how much
        odds += ", but U may hold no negatives"
    lead = f"expected lead {signed(best.over.mean)} of AUC, standard deviation {best.over.spread:.3f}"
    risk = (
        f"expected loss {best.loss[best.first]:.3f}, probability to be the worst family {whole(best.worst[best.first])}"
    )
    if answer != "cannot tell":
        return f"{answer}; {odds} ({lead}; {risk})"
    return f"cannot tell which family is best; use {best.first} until this is known; {odds} ({lead}; {risk})"


def _worth(family: Family, place: Region, best: Standing) -> Worth:
    lead: Lead = best.lead[family]
    return Worth(
        family=family,
        method=question(family, MOST_VALUES)[0],
        map_auc=place.auc[family],
        map_lead=place.lead[family],
        map_spread=place.spread[family],
        lead=lead.mean,
        spread=lead.spread,
        loss=best.loss[family],
        best=best.best[family],
        worst=best.worst[family],
    )
