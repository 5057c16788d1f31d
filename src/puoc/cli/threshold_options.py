"""The rule of the threshold that the options of ``puoc fit`` ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from puoc.userdata.thresholds import ThresholdRule

WITHHOLDING = "--recall, --false-alarms or --precision"
_EXAMPLES = {"--recall": 0.9, "--false-alarms": 0.01, "--precision": 0.8, "--confidence": 0.95}


def check_within(prior: float, alpha: tuple[float, float]) -> None:
    """Raise ValueError for a --prior that the --alpha-interval excludes."""
    low, high = alpha
    if not low <= prior <= high:
        raise ValueError(
            f"--prior: got {prior:g}, which --alpha-interval {low:g},{high:g} excludes, and both are the share of "
            "positives in U; expected a share inside of the interval, or a wider interval"
        )


def threshold_rule(
    by_alpha: bool,
    recall: float | None,
    false_alarms: float | None,
    precision: float | None,
    confidence: float | None,
    alpha_interval: str | None,
) -> ThresholdRule:
    """Return the rule of the threshold. Raises ValueError for a value or options that make no rule."""
    from puoc.userdata.thresholds import ThresholdRule

    shares = {"--recall": recall, "--false-alarms": false_alarms, "--precision": precision}
    given = [name for name, value in shares.items() if value is not None] + (["--by-alpha"] if by_alpha else [])
    if len(given) > 1:
        raise ValueError(f"got {' and '.join(sorted(given))}; expected one threshold")
    for name, value in (*shares.items(), ("--confidence", confidence)):
        if value is not None and not 0 < value < 1:
            what = "a confidence" if name == "--confidence" else "a share"
            raise ValueError(f"{name}: got {value:g}; expected {what} in (0, 1), such as {_EXAMPLES[name]}")
    rule = ThresholdRule(by_alpha, recall, false_alarms, precision, confidence)
    if confidence is not None and not rule.withholds:
        raise ValueError(f"--confidence: got {confidence:g} without {WITHHOLDING}, which alone promise something")
    if alpha_interval is None:
        return rule
    if not rule.flags:
        raise ValueError(f"--alpha-interval: got {alpha_interval} without --false-alarms or --precision, which need it")
    try:
        low, high = (float(part) for part in alpha_interval.split(","))
    except ValueError:
        low, high = 1.0, 0.0
    if not 0 <= low <= high < 1:
        expected = "expected two shares LOW,HIGH in [0, 1), the lower one first, such as 0.1,0.3"
        raise ValueError(f"--alpha-interval: got {alpha_interval}; {expected}")
    return rule._replace(alpha=(low, high))
