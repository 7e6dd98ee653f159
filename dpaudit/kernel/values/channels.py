"""Bound the cost of one session with an interactive channel for any record.

The only channel is ``above-threshold``. Its entry in the record has ``noise`` (laplace or exponential),
``threshold_scale``, ``query_scale``, ``max_positives`` (an integer or null) and ``resample_threshold``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.costs import Cost
from dpaudit.kernel.values.info import Info, Setting, Support, disjoint, need, union
from dpaudit.kernel.values.releases import Part

__all__ = ["session_part"]

FIELDS = {
    "kernel",
    "noise",
    "threshold_scale",
    "query_scale",
    "max_positives",
    "resample_threshold",
}


def session_part(s: Setting, infos: Sequence[Info], channel: Any, nodes: Sequence[int]) -> Part:
    """Return the cost of all answers of one session on one path, which asks ``nodes`` in order.

    Write b and c for the scales of the noise of the threshold and of the queries, D for the largest change
    of an asked value, and k for the largest number of positive answers. The cost is D/b + 2kD/c, or
    D/b + kD/c if adding a record lowers no asked value. With Laplace noise, and if at most one query changes,
    it is at most D/c.

    *Proof.* Rule ``above-threshold`` in ``proofs.md``. Given the earlier outcomes of the path, the next
    query is the same function of the data's side. So queries may be adaptive, and other releases may come in
    between. At most one answer for each query is positive, so k is at most the number of queries. A threshold
    that is drawn again after each positive answer makes at most k sessions with at most one positive answer
    each (Lyu, Su and Li 2017, Algorithm 2), whose costs add up.
    """
    need(
        isinstance(channel, dict) and channel.keys() == FIELDS and channel["kernel"] == "above-threshold",
        "the only channel with a rule is above-threshold",
    )
    need(
        channel["noise"] in ("laplace", "exponential"),
        "a noisy threshold requires Laplace or exponential noise",
    )
    b, c = Fraction(channel["threshold_scale"]), Fraction(channel["query_scale"])
    need(b > 0 and c > 0, "the scales of a channel must be positive")
    most, again = channel["max_positives"], channel["resample_threshold"]
    need(
        most is None or (type(most) is int and most >= 1), "max_positives must be a positive integer or null"
    )
    need(type(again) is bool, "resample_threshold must be true or false")
    need(all(type(node) is int and 0 <= node < len(infos) for node in nodes), "an asked step must exist")
    asked = [infos[node] for node in nodes]
    for info in asked:
        need(
            info.shape == () and not info.records and info.kind in "if",
            "a query must be a single number",
        )
    private = [info for info in asked if info.private]
    changes = [s.largest(info.change) for info in private]
    need(
        None not in changes,
        "the change of a query is not bounded (clip the data)",
    )
    d = max((change for change in changes if change is not None), default=Fraction(0))
    k = len(asked) if most is None else min(most, len(asked))
    each = d / c * (1 if s.length_is_private and all(info.rises for info in private) else 2)
    cost = k * (d / b + each) if again else d / b + k * each
    support: Support = ()
    one = len(private) == 1 or (s.group == 1 and not s.length_is_private)
    for info in private:
        one = one and (len(private) == 1 or disjoint(support, info.support))
        support = union(support, info.support)
    if one and channel["noise"] == "laplace":
        cost = min(cost, d / c)
    guards = {info.guard for info in private}
    return Part(Cost(cost), support, guards.pop() if len(guards) == 1 else None)
