"""Show slack: the claimed bound divided by the certified bound.

Slack is a ratio of the claimed quantity. If delta is bounded at the claimed epsilon, it is a ratio of deltas,
not of noise. Proofs that leave out a fixed share of delta (sums of binomial vectors) show no slack, because
their bound cannot fall below that share however much noise there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dpaudit.core.claims import LowerBound
from dpaudit.report.fields import read_list, read_object, read_text
from dpaudit.report.notation import MISSING, as_number, show
from dpaudit.report.roles import HOLDS

__all__ = ["bounds_in_cells", "how_much_smaller", "slack_of", "slack_text", "slack_words"]

#: A table shows a larger slack as "more than this". Its exact size is of no use, and its digits would take
#: width from the claims.
MAX_SLACK = 1000
#: The terminal reports slack of at least this factor.
SHOWN_FROM = 2
#: Rules whose bound on delta includes a share that the proof search leaves out on purpose.
LEAVING_OUT = ("binomial-vectors", "vector-noise")
MET = "Both bounds equal the claim: it holds and is tight."


def slack_of(result: Mapping[str, Any]) -> float | None:
    """Return the claimed bound divided by the certified one, or ``None`` if it does not measure the slack.

    It does not for a claim of a lower bound, for a claim or bound of 0 or less, and for a proof that leaves
    out a share of delta.
    """
    at_least = read_object(result, "claim").get("type") == LowerBound.type
    claimed, upper = (as_number(result.get(key)) for key in ("claimed", "upper"))
    if at_least or not (claimed or 0) > 0 or not (upper or 0) > 0 or _leaves_out(result):
        return None
    return as_number(result.get("slack"))


def _leaves_out(result: Mapping[str, Any]) -> bool:
    if read_text(result, "quantity") != "delta":
        return False
    parts = [result, *(cell for cell in read_list(result, "cells") if isinstance(cell, Mapping))]
    trees = [
        read_object(item, "tree")
        for part in parts
        for item in read_list(part, "evidence")
        if _certifies(item)
    ]
    return any(rule in LEAVING_OUT for tree in trees for rule in _rules(tree))


def _certifies(item: object) -> bool:
    return isinstance(item, Mapping) and item.get("evidence") == "certificate"


def _rules(tree: Mapping[str, Any]) -> Iterator[str]:
    pending = [tree]
    while pending:
        node = pending.pop()
        yield read_text(node, "rule")
        pending += [premise for premise in read_list(node, "premises") if isinstance(premise, Mapping)]


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


def how_much_smaller(result: Mapping[str, Any]) -> str:
    """Return the slack of a privacy row that holds: ``delta at least 100 times smaller``.

    The text is empty for other rows, and for slack below ``SHOWN_FROM``.
    """
    slack = slack_of(result)
    holds = result.get("verdict") in HOLDS and result.get("kind") == "privacy"
    if slack is None or slack < SHOWN_FROM or not holds:
        return ""
    quantity = read_text(result, "quantity") or "the bound"
    return f"{quantity} at least {show(slack, digits=3, toward='down')} times smaller"


def bounds_in_cells(result: Mapping[str, Any]) -> bool:
    """Return whether the row itself has no bound, but some of its cells have one."""
    if any(as_number(result.get(key)) is not None for key in ("lower", "upper")):
        return False
    cells = [cell for cell in read_list(result, "cells") if isinstance(cell, Mapping)]
    return any(as_number(cell.get(key)) is not None for cell in cells for key in ("lower", "upper"))
