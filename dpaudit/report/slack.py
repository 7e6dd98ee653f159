"""Show slack: the claimed bound divided by the certified bound.

Slack is a ratio of the claimed quantity. If delta is bounded at the claimed epsilon, it is a ratio of deltas,
not of noise. Proofs that leave out a fixed share of delta (sums of binomial vectors) show no slack, because
their bound cannot fall below that share however much noise there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dpaudit.report.file.parts import BodyRecord, Result
from dpaudit.report.notation import MISSING, show
from dpaudit.report.roles import HOLDS

__all__ = ["how_much_smaller", "slack_of", "slack_text", "slack_words"]

#: A table shows a larger slack as "more than this". Its exact size is of no use, and its digits would take
#: width from the claims.
MAX_SLACK = 1000
#: The terminal reports slack of at least this factor.
SHOWN_FROM = 2
#: Rules whose bound on delta includes a share that the proof search leaves out on purpose.
LEAVING_OUT = ("binomial-vectors", "vector-noise")
MET = "Both bounds equal the claim: it holds and is tight."


def slack_of(result: Result) -> float | None:
    """Return the claimed bound divided by the certified one, or ``None`` if it does not measure the slack.

    It does not for a claim of a lower bound, for a claim or bound of 0 or less, and for a proof that leaves
    out a share of delta.
    """
    positive = (result.claimed or 0) > 0 and (result.upper or 0) > 0
    return None if result.claim.at_least or not positive or _leaves_out(result) else result.slack


def _leaves_out(result: Result) -> bool:
    return result.quantity == "delta" and any(
        rule in LEAVING_OUT
        for part in (result, *result.cells)
        for item in part.evidence
        if isinstance(item, BodyRecord) and item.kind == "certificate"
        for rule in _rules(item.body)
    )


def _rules(tree: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the rules of a tree, whose form nothing has checked."""
    pending: list[Any] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Mapping):
            yield str(node.get("rule"))
            premises = node.get("premises")
            pending += premises if isinstance(premises, list) else []


def slack_text(slack: float | None, verdict: str) -> str:
    """Return the slack for a table. Only verified and consistent rows have one: other claims may be false."""
    if slack is None or verdict not in HOLDS:
        return MISSING
    return f">{MAX_SLACK}×" if slack > MAX_SLACK else f"{show(slack, digits=3)}×"


def slack_words(slack: float, upper: str, verdict: str, *, met: bool) -> str:
    """Compare the upper bound, as shown in ``upper``, with the claim in a sentence for the row's section."""
    if slack < 1 / 1.0005:
        return (
            f"The upper bound, {upper}, is {show(1 / slack, digits=3)} times the claim." if slack > 0 else ""
        )
    if verdict not in HOLDS:
        return ""
    if slack >= 1.05:
        return f"The upper bound is {upper}: the claim leaves room by a factor of {show(slack, digits=3)}."
    return "The upper bound is tight: the claim has less than 5% to spare." if not met else MET


def how_much_smaller(result: Result) -> str:
    """Return the slack of a privacy row that holds: ``delta at least 100 times smaller``.

    The text is empty for other rows, and for slack below ``SHOWN_FROM``.
    """
    slack = slack_of(result)
    if slack is None or slack < SHOWN_FROM or result.verdict not in HOLDS or result.kind != "privacy":
        return ""
    return f"{result.quantity or 'the bound'} at least {show(slack, digits=3, toward='down')} times smaller"
