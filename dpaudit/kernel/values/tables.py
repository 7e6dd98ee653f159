"""Bound the cost of an outcome from a finite set, whose probabilities depend on one private integer.

The laws are ``table`` (exact probabilities, one row for each integer) and ``k-ary`` (randomised response with
an irrational probability).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.info import Info, Setting, need

__all__ = ["MAX_ROWS", "k_ary_cost", "table_ratio"]

MAX_ROWS = 64


def table_ratio(s: Setting, info: Info, release: dict[str, Any]) -> Fraction:
    """Return the largest ratio of the probabilities of one outcome, for two values of the integer.

    Row i of ``rows`` has the probabilities of all outcomes if the integer is ``low`` + i.

    *Proof.* The two sides have rows i and j with |i - j| at most the change of the integer. The loss of an
    outcome is the logarithm of the ratio of its two probabilities. If one of them is 0, it is unbounded.
    """
    first, rows = release["low"], [[Fraction(chance) for chance in row] for row in release["rows"]]
    need(type(first) is int and 1 <= len(rows) <= MAX_ROWS, f"a table must have 1 to {MAX_ROWS} rows")
    need(
        all(len(row) == len(rows[0]) and sum(row) == 1 and min(row) >= 0 for row in rows),
        "each row of a table must hold the probabilities of the same outcomes",
    )
    _require_integer(s, info, first, first + len(rows) - 1)
    change = s.largest(info.change)
    steps = len(rows) - 1 if change is None else min(len(rows) - 1, int(change))
    worst = Fraction(1)
    for i, row in enumerate(rows):
        for other in rows[i + 1 : i + 1 + steps]:
            for a, b in zip(row, other, strict=True):
                need((a == 0) == (b == 0), "an outcome is possible for one value of a record only")
                worst = max(worst, a / b, b / a) if a else worst
    return worst


def k_ary_cost(s: Setting, info: Info, release: dict[str, Any]) -> Fraction:
    """Return epsilon for k-ary randomised response, which keeps the integer with probability e^epsilon / z.

    *Proof.* Each of the k - 1 other answers has probability 1 / z, with z = e^epsilon + k - 1. The
    probabilities of an answer for two integers are equal or have the ratio e^epsilon (Kairouz, Bonawitz and
    Ramage 2016).
    """
    k, epsilon = release["symbols"], Fraction(release["epsilon"])
    need(type(k) is int and k >= 2 and epsilon >= 0, "randomised response requires k >= 2 and epsilon >= 0")
    _require_integer(s, info, 0, k - 1)
    return epsilon if info.private else Fraction(0)


def _require_integer(s: Setting, info: Info, low: int, high: int) -> None:
    need(info.shape == () and not info.records, "the distribution must depend on a single number")
    need(
        info.kind in "bi"
        and info.low is not None
        and s.at_most(low, info.low)
        and s.at_most(info.high, high),
        f"the distribution requires an integer from {low} to {high}",
    )
