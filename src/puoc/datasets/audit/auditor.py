"""Audit of the columns of two groups of rows, to which the columns are given one after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from puoc.datasets.audit.facts import Facts
from puoc.datasets.audit.relations import NONE, relations
from puoc.datasets.audit.result import Audited, ColumnAudit, Told, Verdict, ranked
from puoc.datasets.audit.sign import GROUPS, Crowd, Sign, percent
from puoc.datasets.audit.signs import signs, suspected
from puoc.datasets.audit.two_groups import adjusted


class Auditor:
    """Collects the facts of columns, and judges all of them together."""

    def __init__(self) -> None:
        self._facts: list[Facts] = []
        self._doubted: dict[str, str] = {}

    def add(self, facts: Facts, doubt: str = "") -> None:
        """Take the facts of a column. The arrays of the column can be freed.

        Parameters
        ----------
        doubt : why the column is asked about in any case; it is then no measure for other columns.
        """
        self._facts.append(facts)
        if doubt:
            self._doubted[facts.name] = doubt

    def done(
        self,
        rows: tuple[int, int],
        test: tuple[int, int] | None = None,
        kept: Collection[str] = (),
        notes: tuple[str, ...] = (),
    ) -> Audited:
        """Judge all columns.

        Parameters
        ----------
        rows : numbers of rows of P and of U.
        test : numbers of the positives and the negatives of the test file.
        kept : columns about which the user has decided; they are noted, not asked about.
        """
        told = [(facts, name) for facts in self._facts for name in facts.told]
        for (facts, name), q in zip(told, adjusted([facts.told[name].p for facts, name in told]), strict=True):
            facts.told[name] = facts.told[name].model_copy(update={"q": q})
        found: dict[str, list[Sign]] = {}
        for sides in ("P and U", "test labels", "U and incoming"):
            part = [facts for facts in self._facts if facts.sides == sides and facts.name not in self._doubted]
            for facts, of_column in zip(part, _judged(part), strict=True):
                found.setdefault(facts.name, []).extend(of_column)
            for column, sign in _related(part, found):
                found[column].append(sign)
        found |= {name: [Sign("asked", doubt)] for name, doubt in self._doubted.items()}
        facts_of: dict[str, list[Facts]] = {}
        for facts in self._facts:
            facts_of.setdefault(facts.name, []).append(facts)
        return Audited(
            n_p=rows[0],
            n_u=rows[1],
            n_test=test,
            tests=len(told),
            columns=ranked([_column(name, facts_of[name], found[name], name in kept) for name in found]),
            notes=notes,
        )


def _column(name: str, of_column: list[Facts], found: list[Sign], kept: bool) -> ColumnAudit:
    first = of_column[0]
    told: list[Told] = [told for facts in of_column for told in facts.told.values()]
    asked = any(sign.verdict == "asked" for sign in found)
    verdict: Verdict = "asked" if asked and not kept else "noted" if found else "shown"
    compared = first.sides == "P and U"
    return ColumnAudit(
        name=name,
        read_as=first.read_as,
        verdict=verdict,
        reasons=tuple(_with_auc(sign.text, told) for sign in sorted(found, key=lambda sign: sign.verdict)),
        missing_p=first.first.missing / first.first.n if compared and first.first.n else 0.0,
        missing_u=first.second.missing / first.second.n if compared and first.second.n else 0.0,
        told=tuple(told),
        histogram=first.histogram if compared else None,
    )


def _with_auc(text: str, told: list[Told]) -> str:
    return text if "AUC" in text or not told else f"{text} (AUC {max(one.says for one in told):.3f})"


def _judged(columns: list[Facts]) -> list[list[Sign]]:
    """Return the signs of each column, seen beside the others."""
    out = suspected(columns)
    told = [facts.told.get("values") for facts in columns]
    says = [one.says_low for one, doubtful in zip(told, out, strict=True) if one is not None and not doubtful]
    says.sort(reverse=True)
    found = []
    for facts, one, doubtful in zip(columns, told, out, strict=True):
        others = says if one is None or doubtful else _without(says, one.says_low)
        crowd = Crowd(others[0] if others else 0.5, len(others))
        found.append(signs(facts, crowd, max(1, sum(out))))
    return found


def _related(columns: list[Facts], found: dict[str, list[Sign]]) -> Iterator[tuple[str, Sign]]:
    """Yield a sign of each column that has a relation to another one in one group alone.

    A column that is asked about already explains the relations that it has.
    """
    clear = [one for one in columns if not any(sign.verdict == "asked" for sign in found[one.name])]
    if not clear or clear[0].sides == "U and incoming":
        return
    for one in relations([facts.sample for facts in clear if facts.sample is not None]):
        where, there = GROUPS[clear[0].sides][:: 1 if one.in_first else -1]
        none = one.other <= NONE
        rest = f"and not in the {there}" if none else f"and in {percent(one.other)} of the {there}"
        yield one.name, Sign("asked" if none else "noted", f"{one.text} in all {where} {rest}")


def _without(says: list[float], own: float) -> list[float]:
    """Return the two largest values at most, without one equal to a column's own."""
    head = says[:2]
    return head[1:] if head and head[0] == own else head
