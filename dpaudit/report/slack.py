"""Slack: claimed over certified, and where it says something.

It is a ratio of the number that is claimed: where delta is bounded at the claimed epsilon, a ratio of deltas,
and not of noise. Proofs that leave out a fixed share of delta (sums of binomial vectors) have no slack to
tell: their bound stops at that share, however much noise there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dpaudit.core.claims import LowerBound
from dpaudit.report.fields import read_list, read_object, read_text
from dpaudit.report.notation import MISSING, as_number, show
from dpaudit.report.roles import HOLDS

__all__ = ["bounds_in_cells", "in_one_line", "slack_of", "slack_text", "slack_words"]

#: A table shows a larger slack as "more than this": its exact size tells nothing, and its digits take the
#: width from the claims.
MAX_SLACK = 1000
#: On the terminal, slack below this is not worth a line.
WORTH_A_LINE = 2
#: Rules whose bound on delta holds a share that the finder leaves out on purpose.
LEAVING_OUT = ("binomial-vectors", "vector-noise")
MET = "Both bounds equal the claim: it holds, with nothing to spare."


def slack_of(result: Mapping[str, Any]) -> float | None:
    """Claimed over certified, where that says how much room a claim leaves: not for "at least", not around 0,
    not where the proof leaves out a share of delta."""
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
    """For a table: of a verified or consistent row only; elsewhere the claim is not known to hold."""
    if slack is None or verdict not in HOLDS:
        return MISSING
    return f">{MAX_SLACK}×" if slack > MAX_SLACK else f"{show(slack, digits=3)}×"


def slack_words(slack: float, upper: str, verdict: str, *, met: bool) -> str:
    """For the row's own section: how the upper bound, as shown in ``upper``, compares with the claim."""
    if slack < 1 / 1.0005:
        return (
            f"The upper bound, {upper}, is {show(1 / slack, digits=3)} times the claim." if slack > 0 else ""
        )
    if verdict not in HOLDS:
        return ""
    if slack >= 1.05:
        return f"The upper bound is {upper}: the claim leaves room by a factor of {show(slack, digits=3)}."
    return "The upper bound is tight: the claim has less than 5 % to spare." if not met else MET


def in_one_line(result: Mapping[str, Any]) -> str:
    """For the terminal: what of a privacy row that holds is how much smaller than claimed, or nothing."""
    slack = slack_of(result)
    told = result.get("verdict") in HOLDS and result.get("kind") == "privacy"
    if slack is None or slack < WORTH_A_LINE or not told:
        return ""
    quantity = read_text(result, "quantity") or "the bound"
    factor = show(slack, digits=3, toward="down")
    return f"{quantity} is at least {factor} times smaller than claimed"


def bounds_in_cells(result: Mapping[str, Any]) -> bool:
    """Whether the row itself shows no bound, and cells do, each on a claim of its own."""
    if any(as_number(result.get(key)) is not None for key in ("lower", "upper")):
        return False
    cells = [cell for cell in read_list(result, "cells") if isinstance(cell, Mapping)]
    return any(as_number(cell.get(key)) is not None for cell in cells for key in ("lower", "upper"))
