"""Combine guards: intervals in which a record must lie to affect a value.

A value may have several guards. For a row-local value, a row is 0 unless its record is in all of them. For
any other value, it changes only if the changed record, before or after the change, is in all of them at once.
Both hold for a sum of rows because a row that is 0 before and after the change does not change.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction

from dpaudit.kernel.values.info import Guard, Guards, Info

__all__ = ["affected_sets", "both", "guard_of", "masked"]

#: Further guards are dropped, which only weakens the statement.
MOST_GUARDS = 12
#: Further nodes are not used to tell records apart, which only raises a cost.
MOST_SETS = 200


def guard_of(node: int, op: str, number: Fraction) -> Guards:
    """Return the guard of the rows for which the comparison of ``node`` with the number holds."""
    ends = {
        "eq": (number, number, False, False, ()),
        "ne": (None, None, False, False, (number,)),
        "lt": (None, number, False, True, ()),
        "le": (None, number, False, False, ()),
        "gt": (number, None, True, False, ()),
        "ge": (number, None, False, False, ()),
    }[op]
    return ((node, *ends),)


def masked(info: Info, node: int) -> Guards | None:
    """Return the guards of a step. One Boolean per record is 0 unless it is 1, so it also guards itself."""
    if info.kind == "b" and info.records == len(info.shape) == 1 and node >= 0:
        return both(info.guard, guard_of(node, "eq", Fraction(1)))
    return info.guard


def both(a: Guards | None, b: Guards | None) -> Guards | None:
    """Return the guards of a row that is 0 where either of two rows is. Guards of one node intersect."""
    found: dict[int, Guard] = {}
    for guard in (*(a or ()), *(b or ())):
        found[guard[0]] = _intersected(found[guard[0]], guard) if guard[0] in found else guard
    return tuple(sorted(found.values())[:MOST_GUARDS] if len(found) > MOST_GUARDS else found.values()) or None


def _intersected(a: Guard, b: Guard) -> Guard:
    """Return the intersection of two guards of the same node."""
    lows = [(end, opened) for end, opened in ((a[1], a[3]), (b[1], b[3])) if end is not None]
    highs = [(end, not opened) for end, opened in ((a[2], a[4]), (b[2], b[4])) if end is not None]
    low, low_open = max(lows, default=(None, False))  # of equal ends, the open end wins
    high, high_closed = min(highs, default=(None, True))
    return (a[0], low, high, low_open, not high_closed, tuple(sorted({*a[5], *b[5]})))


def affected_sets(guards: Sequence[Guards | None], *, single: bool) -> set[frozenset[int]]:
    """Return sets of values, of which one contains all values that one changed record affects.

    Each value is numbered by the position of its guards. A record affects a value only if it is in all guards
    of the value, before or after the change (``single``: it exists on one side only). The ends of the guards
    of one node cut its numbers into points and open intervals, and a guard holds on all of such a piece or
    nowhere. So the values that a record on one side is in are those of one piece for each node. Ignoring a
    node, or a combination of pieces that no record has, only adds sets. Subsets of other sets are left out.
    """
    by_node: dict[int, dict[int, Guard]] = {}
    for k, some in enumerate(guards):
        for guard in some or ():
            by_node.setdefault(guard[0], {})[k] = guard
    found = {frozenset(range(len(guards)))}
    # A node that guards one value tells no two values apart.
    for node in sorted(by_node, key=lambda node: (-len(by_node[node]), node)):
        own = by_node[node]
        if len(own) < 2:
            break
        outs = [{k for k, guard in own.items() if not _inside(guard, y)} for y in _pieces(own.values())]
        after = _largest({some - out for some in found for out in outs})
        if len(after) > MOST_SETS:
            break
        found = after
    return found if single else {a | b for a in found for b in found}


def _pieces(guards: Iterable[Guard]) -> list[Fraction]:
    """Return one number in each piece: each end, and a number on either side of it."""
    ends = sorted({end for guard in guards for end in (*guard[1:3], *guard[5]) if end is not None})
    between = [(a + b) / 2 for a, b in itertools.pairwise(ends)]
    return [*ends, *between, ends[0] - 1, ends[-1] + 1] if ends else [Fraction(0)]


def _largest(sets: set[frozenset[int]]) -> set[frozenset[int]]:
    return {one for one in sets if not any(one < other for other in sets)}


def _inside(guard: Guard, value: Fraction) -> bool:
    """Return whether a value is in the interval of a guard."""
    _, low, high, low_open, high_open, without = guard
    below = low is None or value > low or (value == low and not low_open)
    above = high is None or value < high or (value == high and not high_open)
    return below and above and value not in without
