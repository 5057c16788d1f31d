"""The three bounds of alpha, the share of positives in U, by name: guaranteed, estimated, and under an assumption."""

from __future__ import annotations

from typing import Final

from puoc.analysis.reliability.leads import packaged_leads
from puoc.records import Record
from puoc.userdata.assess.evidence import LEVEL, Alpha

#: Numbers of tables and of tasks that the models of the leads were estimated on.
TABLES: Final = 32
TASKS: Final = 10


class AlphaBounds(Record):
    """Bounds of the share of positives in U; all of them take P for a random sample of the positives."""

    guaranteed_high: float  # holds with 97.5 %; 1: U may hold no negatives at all
    estimated_low: float  # 95 % interval, if the rows are as the tables and tasks that the model was estimated on
    estimated_high: float
    assumed_low: float  # holds with 97.5 %, if the best quarter of P scores above 98 in 100 negatives

    @classmethod
    def of(cls, alpha: Alpha) -> AlphaBounds:
        """Return the bounds by the evidence."""
        low, high = packaged_leads()["random"].alpha_u.interval((alpha.low, alpha.high), LEVEL)
        return cls(guaranteed_high=alpha.high, estimated_low=low, estimated_high=high, assumed_low=alpha.low)

    def lines(self) -> list[str]:
        """Return a sentence for each bound, in the order of what it assumes."""
        if self.guaranteed_high < 1:
            guaranteed = (
                f"guaranteed: U holds at most {percent(self.guaranteed_high)} positives (97.5 %), if P is a random "
                "sample of the positives; otherwise, U may hold fewer negatives, or none"
            )
        else:
            guaranteed = "guaranteed: nothing; U may hold no negatives at all"
        return [
            guaranteed,
            f"estimated: U holds {percent(self.estimated_low)} to {percent(self.estimated_high)} positives (95 % "
            f"interval), if P is a random sample and your rows are as the {TABLES} tables and {TASKS} tasks that the "
            "model was estimated on",
            f"under an assumption: U holds at least {percent(self.assumed_low)} positives (97.5 %), if P is a random "
            "sample and its best quarter scores above 98 in 100 negatives",
        ]


def percent(share: float) -> str:
    """Return a share in percent; all shares have one digit."""
    return f"{100 * share:.1f} %"


def whole(chance: float) -> str:
    """Return a probability in percent, without digits."""
    return f"{100 * chance:.0f} %"
