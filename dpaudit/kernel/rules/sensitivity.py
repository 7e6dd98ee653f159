"""How far a query's value can move between neighbours: stated with the mechanism, or derived from the query
and the adjacency.

A number says: the mechanism's query is one whose value moves by at most this much between neighbours of the
claim's adjacency. It is part of the mechanism's definition, like its noise.

The table ``{"query": "sum", "lower": l, "upper": u}`` says: the query is the sum of the records, each clipped
to [l, u]; then the kernel derives the number. Proof. Replacing a record x by x' moves the sum by x' - x, at
most u - l in size, and the ends of the interval attain it. Adding or removing x moves it by x, at most
max(|l|, |u|). Zeroing out replaces x by the null record, which counts 0: again max(|l|, |u|). ∎
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.claims import Adjacency, Unit
from dpaudit.kernel.terms import Parameters, Setting

__all__ = ["sensitivity"]


def sensitivity(parameters: Parameters, name: str, setting: Setting) -> Fraction:
    """Read the sensitivity ``name``: a number >= 0, or derived from a bounded sum. A scalar: all norms
    agree for a sum.
    """
    if not parameters.is_table(name):
        return parameters.nonnegative(name)
    query = parameters.table(name)
    query.choice("query", ["sum"])
    low, high = query.number("lower"), query.number("upper")
    query.finish()
    if low > high:
        raise query.fail(f"lower must be at most upper, got {low} and {high}; swap them.")
    if setting.adjacency is None or setting.unit is not Unit.EVENT:
        raise query.fail(
            "a sum's sensitivity is derived per event under an adjacency; state the number for other claims."
        )
    if setting.adjacency is Adjacency.REPLACE_ONE:
        return high - low
    return max(abs(low), abs(high))
