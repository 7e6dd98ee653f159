"""Derive bounds for elementwise operations: arithmetic, comparisons, clipping and ``where``.

In comments, a and b are the operands on x, and a' and b' are the operands on x'.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.guards import both, guard_of, masked
from dpaudit.kernel.values.info import (
    Guards,
    Info,
    Setting,
    Support,
    add_changes,
    disjoint,
    fit,
    flat,
    magnitude,
    need,
    nonnegative,
    squared_sum,
    union,
    whole,
)
from dpaudit.kernel.values.polynomials import ONE, ZERO, Bound, Poly, times, total, upper_root

__all__ = ["ELEMENTWISE", "broadcast", "certain", "hull", "one_per_row", "row_ball", "together"]

Shape = tuple[int | Poly, ...]
Rule = Callable[[Setting, Sequence[int], Sequence[Info], dict[str, Any]], Info]

#: Lipschitz constants, and ranges for all arguments.
LIPSCHITZ = {
    "tanh": (Fraction(1), (Fraction(-1), Fraction(1))),
    "sin": (Fraction(1), (Fraction(-1), Fraction(1))),
    "cos": (Fraction(1), (Fraction(-1), Fraction(1))),
    "arctan": (Fraction(1), (Fraction(-1571, 1000), Fraction(1571, 1000))),
}


def broadcast(*shapes: Shape) -> Shape:
    """Return the common shape by numpy's rules, and refuse extents that may not match."""
    rank, found = max(map(len, shapes)), []
    for place in range(rank):
        extents = [shape[place - rank + len(shape)] for shape in shapes if place - rank + len(shape) >= 0]
        large = [extent for extent in extents if extent != 1]
        need(all(extent == large[0] for extent in large), "the shapes of the operands may not match")
        found.append(large[0] if large else 1)
    return tuple(found)


def together(s: Setting, infos: Sequence[Info]) -> tuple[Info, list[Info]]:
    """Return the frame of an elementwise result (shape, records, support), and the adapted operands.

    Row i of the result is a function of record i alone if all private operands have the same records in the
    same rows. Otherwise every operand is treated as one array. If an operand is broadcast, each of its
    entries counts once for each copy.
    """
    shape = broadcast(*(info.shape for info in infos))
    rows = [info for info in infos if info.records]
    same = len({(i.records, repr(i.aligned), len(i.shape), i.shape[: i.records]) for i in rows}) == 1
    local = (
        same
        and len(shape) == len(rows[0].shape)
        and shape[: rows[0].records] == rows[0].shape[: rows[0].records]
    )
    local = local and all(info.records or not info.private for info in infos)
    if not local:
        infos = [flat(s, info) for info in infos]
    records = rows[0].records if local else 0
    if records and s.length_is_private:
        for info in infos:
            fits = info.records or len(info.shape) < len(shape) or info.shape[0] == 1
            need(fits, "an array of public length cannot be combined with a private number of records")
    support: Support = ()
    for info in infos:
        support = union(support, info.support) if info.private else support
    operands = [_copied(info, shape, records) for info in infos]
    moves: Bound = None if any(info.private for info in infos) else ZERO
    frame = Info(
        shape=shape,
        records=records,
        aligned=rows[0].aligned if local else None,
        support=support,
        python=all(info.python for info in infos),
        change1=moves,
        change2=moves,
        change=moves,
    )
    return frame, operands


def _copied(info: Info, shape: Shape, records: int) -> Info:
    copies = ONE
    for place in range(1, len(shape) - records + 1):
        own = info.shape[-place] if place <= len(info.shape) else 1
        if own != shape[-place]:
            copies = copies * Poly.of(shape[-place])
    if copies == 1:
        return info
    return replace(
        info,
        change1=times(copies, info.change1),
        change2=times(copies, info.change2),
        norm1=times(copies, info.norm1),
        norm2=times(copies, info.norm2),
    )


def one_per_row(records: int, rows: Info, number: Info) -> bool:
    """Return whether broadcasting combines exactly one entry of ``number`` with each row of ``rows``.

    If ``rows`` is a vector, ``number`` must be a single number.
    """
    if number.entries != 1:
        return False
    if records:
        return bool(rows.records and number.records and len(rows.shape) == len(number.shape))
    return not rows.records and not number.records and number.shape == () and len(rows.shape) == 1


def row_ball(s: Setting, info: Info, p: str, radius: Poly) -> Info:
    """Tighten the bounds of a row that lies in a ball of the norm p."""
    low = info.low if info.low is not None and s.at_most(-radius, info.low) else -radius
    high = s.smallest(info.high, radius)
    norm1, norm2 = info.norm1, info.norm2
    if p == "1":
        norm1, norm2 = s.smallest(norm1, radius), s.smallest(norm2, radius * radius)
    elif p == "2":
        norm2 = s.smallest(norm2, radius * radius)
    return replace(info, low=low, high=high, norm1=norm1, norm2=norm2)


def promoted(infos: Sequence[Info], *, logic: bool = False) -> str:
    """Return the result's kind under numpy's promotion of bool, int64 and float64 (NEP 50).

    Arithmetic of two Booleans is logic in numpy and counting in Python. The former is refused unless the
    operation is ``logic``.
    """
    kinds = {info.kind for info in infos}
    if kinds == {"b"} and not logic:
        need(
            all(info.python for info in infos),
            "arithmetic of numpy Booleans is a logical operation and not supported (convert them to int)",
        )
        return "i"
    return "f" if "f" in kinds else "i" if "i" in kinds else "b"


def whole_limit(s: Setting, bound: Bound) -> Fraction | None:
    """Return the largest absolute value of a bound for N below 2^31, which is a listed assumption."""
    if bound is None:
        return None
    found = Fraction(0)
    for monomial, value in bound.terms.items():
        if any(name != "N" or power < 0 for name, power in monomial):
            return None
        found += abs(value) * Fraction(2**31) ** sum(power for _, power in monomial)
    return found


def in_int64(s: Setting, info: Info) -> Info:
    """Refuse arithmetic of numpy integers that may overflow."""
    if info.kind == "i" and not info.python:
        for bound in (info.low, info.high):
            limit = whole_limit(s, bound)
            need(
                limit is not None,
                "integer arithmetic requires bounded integers, otherwise int64 may overflow",
            )
            need(limit is not None and limit < 2**63, "integer arithmetic may overflow int64")
    return info


def _common_guard(infos: Sequence[Info]) -> Guards | None:
    guards = {info.guard for info in infos if info.private}
    return guards.pop() if len(guards) == 1 else None


def _apart(s: Setting, frame: Info, a: Info, b: Info) -> bool:
    """Return whether no record is in both operands, so that only one of them changes with one record."""
    return not frame.records and s.group == 1 and disjoint(_records_of(a), _records_of(b))


def _records_of(info: Info) -> Support:
    return info.support if info.private else ()


def _lowest(s: Setting, infos: Sequence[Info]) -> Bound:
    lows = [info.low for info in infos]
    if None in lows:
        return None
    below = s.largest_of(*[-low for low in lows if low is not None])
    return None if below is None else -below


def hull(s: Setting, infos: Sequence[Info]) -> tuple[Bound, Bound]:
    """Return the smallest known range that holds the entries of all values."""
    return _lowest(s, infos), s.largest_of(*[info.high for info in infos])


def add(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a sum by the triangle inequality, or by the larger change if no record is in both operands."""
    frame, (a, b) = together(s, infos)
    change1, change2, change = add_changes(s, a, b, apart=_apart(s, frame, a, b))
    facts = {}
    for u, v in ((infos[0], infos[1]), (infos[1], infos[0])):
        if "low" in u.facts and not v.private and nonnegative(s, v):
            facts["low"] = u.facts["low"]  # v >= k |u| still holds after adding a nonnegative value
    guard = _common_guard(infos)
    if frame.records and not all(info.private for info in infos):
        guard = None  # a row that was 0 becomes equal to the other operand
    high = total(a.high, b.high)
    for u, v in ((infos[0], infos[1]), (infos[1], infos[0])):
        rounded = v.facts.get("floor_of")
        if rounded and u.facts.get("rounds") == rounded[0] and u.shape == v.shape:
            high = s.smallest(high, rounded[1])  # a coin of probability x - floor(x) is 0 if x is an integer
    found = replace(
        frame,
        kind=promoted(infos),
        low=total(a.low, b.low),
        high=high,
        change1=change1,
        change2=change2,
        change=change,
        norm1=total(a.norm1, b.norm1),
        norm2=squared_sum(a.norm2, b.norm2),
        rises=all(info.rises or not info.private for info in infos),
        guard=guard,
        facts=facts,
    )
    return in_int64(s, fit(s, found))


def negative(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a negated value, whose range is mirrored."""
    [i] = infos
    need(i.kind != "b" or i.python, "negation of Booleans is not supported by numpy")
    found = replace(
        i,
        kind="i" if i.kind == "b" else i.kind,
        low=None if i.high is None else -i.high,
        high=None if i.low is None else -i.low,
        rises=False,
        facts={},
        values=None,
    )
    return in_int64(s, fit(s, found))


def subtract(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a difference as the sum of a value and a negated value."""
    u, v = infos
    need(
        not (u.kind == v.kind == "b") or (u.python and v.python),
        "subtraction of Booleans is not supported by numpy",
    )
    kinds = promoted(infos)
    flipped = replace(
        v,
        low=None if v.high is None else -v.high,
        high=None if v.low is None else -v.low,
        rises=False,
        facts={},
        values=None,
    )
    found = replace(add(s, ids, [replace(u, facts={}), flipped], p), kind=kinds)
    if not v.private:
        found = replace(found, rises=u.rises)
    if u.private and not u.records and v.private and v.shape == () and not v.records:
        # Scores minus one common number have the same ranks and softmax as the scores.
        found = replace(found, facts={"centred": u.change})
    if (
        v.facts.get("floor_of", (None,))[0] == ids[0] and u.shape == v.shape
    ):  # a number minus its floor is in [0, 1)
        top = ZERO if whole(u) else ONE
        found = fit(s, replace(found, low=ZERO, high=top, facts={"fraction_of": ids[0]}))
    return in_int64(s, found)


def multiply(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a product by |a'b' - ab| <= |a'| |b' - b| + |b| |a' - a|."""
    frame, (a, b) = together(s, infos)
    top_a, top_b = magnitude(s, a), magnitude(s, b)
    scaled_a = replace(
        a,
        change1=times(top_b, a.change1),
        change2=times(top_b, top_b, a.change2),
        change=times(top_b, a.change),
    )
    scaled_b = replace(
        b,
        change1=times(top_a, b.change1),
        change2=times(top_a, top_a, b.change2),
        change=times(top_a, b.change),
    )
    # |a'b' - ab| <= |a'| |b' - b| + |b| |a' - a|
    change1, change2, change = add_changes(s, scaled_a, scaled_b, apart=_apart(s, frame, a, b))
    for u, v in ((a, b), (b, a)):
        if (
            not v.private
            and v.values is not None
            and not frame.records
            and v.shape == frame.shape
            and u.private
        ):
            change1 = s.smallest(change1, times(v.values.norm1, u.change))
    low, high = _product_range(s, a, b, top_a, top_b)
    guard = _common_guard(infos)
    if frame.records:
        guard = both(masked(infos[0], ids[0]), masked(infos[1], ids[1]))  # 0 times anything finite is 0
    found = replace(
        frame,
        kind=promoted(infos),
        low=low,
        high=high,
        change1=change1,
        change2=change2,
        change=change,
        norm1=s.smallest(times(top_a, b.norm1), times(top_b, a.norm1)),
        norm2=s.smallest(times(top_a, top_a, b.norm2), times(top_b, top_b, a.norm2)),
        rises=any(u.rises and not v.private and nonnegative(s, v) for u, v in ((a, b), (b, a))),
        guard=guard,
    )
    if all(map(whole, infos)):
        found = replace(found, facts={"whole": True})
    for u, v, node in ((infos[0], infos[1], ids[0]), (infos[1], infos[0], ids[1])):
        fact = v.facts.get("inverse")
        if fact and fact[0] == node and one_per_row(frame.records, u, v):
            found = row_ball(s, found, fact[1], fact[2])
        factor = v.constant
        if factor is not None and v.entries == 1 and s.at_most(0, factor):
            kept: dict[str, Any] = {
                key: (*u.facts[key][:2], u.facts[key][2] * factor)
                for key in ("low", "inverse")
                if key in u.facts
            }
            found = replace(found, facts={**found.facts, **kept})
        if len(u.shape) == 1 and v.shape == () and not u.records and not v.records:
            found = replace(found, facts={**found.facts, "scaled": (node, magnitude(s, v))})
        if "centred" in u.facts and not v.private and v.shape == ():
            found = replace(
                found, facts={**found.facts, "centred": times(magnitude(s, v), u.facts["centred"])}
            )
    return in_int64(s, fit(s, found))


def _product_range(s: Setting, a: Info, b: Info, top_a: Bound, top_b: Bound) -> tuple[Bound, Bound]:
    if nonnegative(s, a) and nonnegative(s, b):
        return (ZERO if a.low is None or b.low is None else a.low * b.low), times(a.high, b.high)
    corners = (
        [end for end in (a.low, a.high) if end is not None],
        [end for end in (b.low, b.high) if end is not None],
    )
    if all(len(found) == 2 for found in corners):
        ends = [x * y for x in corners[0] for y in corners[1]]
        if all(end.number is not None for end in ends):
            return min(ends, key=lambda end: end.number or 0), max(ends, key=lambda end: end.number or 0)
    top = times(top_a, top_b)
    same = [x for x, other in ((a, b), (b, a)) if other.constant is not None]
    if top is None and same:  # one factor is a known public expression, of any sign
        x, factor = same[0], (b if same[0] is a else a).constant
        if factor is not None and x.constant is not None:
            return x.constant * factor, x.constant * factor
    return (None if top is None else -top), top


def divide(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a quotient whose divisor is a public number of known sign or has a positive lower bound."""
    u, v = infos
    divisor = v.constant
    if divisor is not None:
        inverse = divisor.inverse()
        if inverse is not None and (s.at_most(0, inverse) or s.at_most(inverse, 0)):
            other = fit(s, Info(shape=v.shape, kind="f", python=v.python, low=inverse, high=inverse))
            product = multiply(s, (ids[0], -1), [replace(u, kind="f"), other], p)
            return replace(product, kind="f")
    frame, (a, b) = together(s, infos)
    least = None if b.low is None else s.largest(-b.low)
    need(least is not None and least < 0, "a divisor must be provably positive (clip it from below)")
    inv = -1 / (least or Fraction(-1))
    top = magnitude(s, a)
    low: Bound = None if top is None else -(top * inv)
    if nonnegative(s, a):
        low = ZERO
    found = replace(
        frame,
        kind="f",
        low=low,
        high=times(inv, top),
        # |a'/b' - a/b| <= |a' - a| / b + |a'| |b' - b| / (b b')
        change1=total(times(inv, a.change1), times(inv * inv, top, b.change1)),
        change=total(times(inv, a.change), times(inv * inv, top, b.change)),
        guard=u.guard if frame.records else _common_guard(infos),
    )
    fact = v.facts.get("low")
    if fact:
        inverse = fact[2].inverse()
        if (
            not u.private
            and nonnegative(s, u)
            and u.high is not None
            and inverse is not None
            and u.entries == 1
        ):
            found = replace(found, facts={"inverse": (fact[0], fact[1], u.high * inverse)})
        if fact[0] == ids[0] and one_per_row(frame.records, u, v) and inverse is not None:
            found = row_ball(s, found, fact[1], inverse)
    return fit(s, found)


def _extreme(s: Setting, infos: Sequence[Info], *, least: bool) -> Info:
    frame, (a, b) = together(s, infos)
    low, high = hull(s, (a, b))
    if least:
        high = s.smallest(a.high, b.high)
    else:
        lows = [-bound for bound in (a.low, b.low) if bound is not None]
        above = s.smallest(*lows)
        low = None if above is None else -above
    first, second = (a, b) if a.private else (b, a)
    squares = squared_sum(first.change2, second.change2)
    found = replace(
        frame,
        kind=promoted(infos, logic=True),
        low=low,
        high=high,
        change1=total(first.change1, second.change1),
        change2=squares,
        change=s.largest_of(first.change, second.change),
        rises=all(info.rises or not info.private for info in infos),
    )
    u, v = (infos[0], infos[1]) if infos[0].private else (infos[1], infos[0])
    if v.private:
        return fit(s, replace(found, guard=None if frame.records else _common_guard(infos)))
    zero_stays = nonnegative(s, v) if least else v.high is not None and s.at_most(v.high, 0)
    facts = {}
    if least and "inverse" in u.facts and nonnegative(s, v):
        facts["inverse"] = u.facts["inverse"]
        found = replace(found, low=ZERO)
    if not least and "low" in u.facts:
        facts["low"] = u.facts["low"]
    guard = u.guard if not frame.records or zero_stays else None
    return fit(s, replace(found, guard=guard, facts=facts))


def minimum(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound an elementwise minimum, whose entries change by at most the larger change of the operands."""
    return _extreme(s, infos, least=True)


def maximum(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound an elementwise maximum, whose entries change by at most the larger change of the operands."""
    return _extreme(s, infos, least=False)


def where(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a choice between two values. A private condition may replace one value by the other.

    Both values and the condition are numbers on x and on x', so the result lies in the hull of the ranges. It
    changes by at most the width of the hull. The condition limits the value that it selects: an entry of
    ``where(u > c, u, b)`` is an entry of u above c, or an entry of b. ``python`` marks the choice of Python,
    ``a if q else b``, whose result is a Python number if both values are.
    """
    need(infos[0].kind == "b", "np.where requires a Boolean condition")
    frame, (q, a, b) = together(s, infos)
    limits = infos[0].facts.get("limits", ())
    if infos[0].shape == frame.shape:  # entry by entry
        if infos[1].shape == frame.shape:
            for node, op, number in limits:
                a = _limited(s, a, op, number) if node == ids[1] else a
        if infos[2].shape == frame.shape and "exactly" in infos[0].facts:  # not for a part of a conjunction
            node, op, number = infos[0].facts["exactly"]
            b = _limited(s, b, OPPOSITE[op], number) if node == ids[2] else b
    low, high = hull(s, (a, b))
    python = p.get("python", False) is True and all(info.python for info in infos[1:])
    found = replace(frame, python=python, kind=promoted(infos[1:], logic=True), low=low, high=high)
    if q.private and not a.private and not b.private and low is not None and high is not None:
        # An entry changes only if its condition does, and then by at most the width of the hull.
        found = replace(
            found,
            change1=times(high - low, q.change1),
            change2=times(high - low, high - low, q.change1),
            facts={"moved": q.change1},
        )
    if not q.private:
        one = infos[0].shape == ()  # all entries have the same condition
        found = replace(
            found,
            change1=s.largest_of(a.change1, b.change1) if one else total(a.change1, b.change1),
            change2=s.largest_of(a.change2, b.change2) if one else total(a.change2, b.change2),
            change=s.largest_of(a.change, b.change),
        )
    found = replace(found, norm1=total(a.norm1, b.norm1), norm2=total(a.norm2, b.norm2))
    zero = not infos[2].private and infos[2].low == 0 and infos[2].high == 0
    if not frame.records:
        return fit(s, replace(found, guard=_common_guard(infos)))
    if zero:
        guard = both(masked(infos[0], ids[0]), masked(infos[1], ids[1]))
        found = replace(found, guard=guard, norm1=a.norm1, norm2=a.norm2)
    return fit(s, found)


#: The comparison that holds where another does not.
OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


def _of_comparison(node: int, op: str, number: Fraction) -> dict[str, Any]:
    """Return the facts of Booleans that hold exactly where entries of a node compare so with a number."""
    fact = (node, op, number)
    return {"exactly": fact, "limits": (fact,)}


def _limited(s: Setting, info: Info, op: str, number: Fraction) -> Info:
    """Return the entries for which the comparison with the number holds."""
    if op == "ne":
        return info
    if op in ("lt", "le", "eq"):
        info = replace(info, high=s.smallest(info.high, Poly.of(number)))
    if op in ("lt", "le"):
        return info
    below = s.smallest(*(-low for low in (info.low, Poly.of(number)) if low is not None))
    return replace(info, low=None if below is None else -below)


def _truth(s: Setting, frame: Info, always: bool | None = None) -> Info:
    """Return a truth value, which is a constant if it is ``always`` true or always false."""
    low, high = (ONE if always else ZERO), (ZERO if always is False else ONE)
    return fit(s, replace(frame, kind="b", low=low, high=high))


def certain(info: Info) -> bool | None:
    """Return the truth of all entries of Booleans if the range decides it, and otherwise None."""
    if info.kind != "b":
        return None
    return True if info.low == 1 else False if info.high == 0 else None


def _decided(s: Setting, op: str, u: Info, v: Info) -> bool | None:
    """Return the answer of a comparison if the ranges of its operands decide it, and otherwise None."""
    if op in ("gt", "ge"):
        return _decided(s, {"gt": "lt", "ge": "le"}[op], v, u)
    if op in ("eq", "ne"):
        apart = _decided(s, "lt", u, v) or _decided(s, "lt", v, u)
        return (op == "ne") if apart else None
    below = _surely(s, u.high, v.low, strict=op == "lt")
    above = _surely(s, v.high, u.low, strict=op == "le")
    return True if below else False if above else None


def _surely(s: Setting, left: Bound, right: Bound, *, strict: bool) -> bool:
    """Return whether ``left <= right`` (or ``<``) is proved. None is no bound."""
    if left is None or right is None:
        return False
    if not strict:
        return s.at_most(left, right)
    most = s.largest(left - right)
    return most is not None and most < 0


def logical_and(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound the logical and of Booleans."""
    need(all(info.kind == "b" for info in infos), "& requires Booleans")
    frame, _ = together(s, infos)
    masks = [masked(info, node) for info, node in zip(infos, ids, strict=True)]
    guard = both(*masks) if frame.records else _common_guard(infos)
    limits = tuple(
        limit for info in infos if info.shape == frame.shape for limit in info.facts.get("limits", ())
    )
    known = [certain(info) for info in infos]
    always = False if False in known else True if known == [True, True] else None
    return _truth(s, replace(frame, guard=guard, facts={"limits": limits} if limits else {}), always)


def logical_or(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound the logical or of Booleans."""
    need(all(info.kind == "b" for info in infos), "| requires Booleans")
    frame, _ = together(s, infos)
    known = [certain(info) for info in infos]
    always = True if True in known else False if known == [False, False] else None
    return _truth(s, replace(frame, guard=None if frame.records else _common_guard(infos)), always)


def logical_not(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound the logical negation of Booleans."""
    need(infos[0].kind == "b", "~ requires Booleans")
    i = infos[0]
    facts: dict[str, Any] = {}
    guard = None if i.records else i.guard
    if "exactly" in i.facts:
        node, op, number = i.facts["exactly"]
        facts = _of_comparison(node, OPPOSITE[op], number)
    if i.records == len(i.shape) == 1:  # a row of the result is 0 unless the row of the operand is
        guard = guard_of(ids[0], "eq", Fraction(0))
        guard = both(guard, guard_of(*facts["exactly"])) if facts else guard
    known = certain(i)
    found = replace(i, norm1=None, norm2=None, rises=False, guard=guard, facts=facts, values=None)
    return _truth(s, found, None if known is None else not known)


def compare(op: str) -> Rule:
    """Return the rule of one comparison. A row-local comparison with a constant guards its rows."""

    def rule(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
        frame, _ = together(s, infos)
        u, v = infos
        found = replace(frame, guard=None if frame.records else _common_guard(infos))
        number = v.constant.number if v.constant is not None else None
        if frame.records and number is not None and v.shape == () and len(u.shape) == 1:
            found = replace(found, guard=guard_of(ids[0], op, number))
        for x, y in ((u, v), (v, u)):
            apart = y.values is not None and y.values.distinct and y.shape == frame.shape[-1:]
            one = (
                bool(x.shape) and x.shape[-1] == 1 and frame.records and len(frame.shape) == frame.records + 1
            )
            if op == "eq" and apart and one:  # at most one of the distinct constants is equal in a row
                found = replace(found, norm1=ONE, norm2=ONE)
        if number is not None and u.shape == frame.shape:
            found = replace(found, facts=_of_comparison(ids[0], op, number))
        return _truth(s, found, _decided(s, op, u, v))

    return rule


def square(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a square by |a'^2 - a^2| <= (|a'| + |a|) |a' - a|."""
    [i] = infos
    need(i.kind != "b" or i.python, "the square of Booleans is not supported")
    top = magnitude(s, i)
    factor = times(2, top)  # |a'^2 - a^2| <= (|a'| + |a|) |a' - a|
    found = replace(
        i,
        kind="i" if i.kind == "b" else i.kind,
        low=ZERO,
        high=times(top, top),
        change1=times(factor, i.change1),
        change2=times(factor, factor, i.change2),
        change=times(factor, i.change),
        norm1=i.norm2,
        norm2=None,
        rises=i.rises and nonnegative(s, i),
        facts={},
        values=None,
    )
    return in_int64(s, fit(s, found))


def absolute(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound an absolute value, which changes by at most the change of the operand."""
    [i] = infos
    found = replace(
        i,
        kind="i" if i.kind == "b" and i.python else i.kind,
        low=ZERO,
        high=magnitude(s, i),
        rises=i.rises and nonnegative(s, i),
        facts={},
        values=None,
    )
    return in_int64(s, fit(s, found))


def sign(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a sign by [-1, 1]. Its change is unknown."""
    [i] = infos
    need(i.kind != "b", "np.sign of Booleans is not supported")
    # np.sign of a Python number is a numpy number, which may overflow where a Python number does not.
    return fit(s, replace(_unknown(i), kind=i.kind, python=False, low=-ONE, high=ONE))


def _unknown(i: Info) -> Info:
    """Return the value after an unknown function of each entry."""
    none: dict[str, Any] = {
        "low": None,
        "high": None,
        "norm1": None,
        "norm2": None,
        "facts": {},
        "values": None,
    }
    moves: dict[str, Any] = {"change1": None, "change2": None, "change": None} if i.private else {}
    guard = None if i.records else i.guard
    return replace(i, rises=False, guard=guard, **none, **moves)


def _refuse_booleans(i: Info, name: str) -> None:
    """Refuse Boolean arrays, for which numpy computes in float16."""
    need(
        i.kind != "b" or i.python,
        f"{name} of Booleans is not supported (numpy rounds to float16, so convert them to float)",
    )


def bounded(op: str) -> Rule:
    """Return the rule of tanh, sin, cos or arctan, which are Lipschitz with a known range."""
    k, (low, high) = LIPSCHITZ[op]

    def rule(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
        [i] = infos
        _refuse_booleans(i, f"np.{op}")
        moved = replace(
            _unknown(i),
            kind="f",
            low=Poly.of(low),
            high=Poly.of(high),
            change1=times(k, i.change1),
            change2=times(k * k, i.change2),
            change=times(k, i.change),
            guard=i.guard if op != "cos" or not i.records else None,  # cos(0) is not 0
        )
        return fit(s, moved)

    return rule


def exp(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound an exponential from below by 0. Its change is unknown, so a softmax uses the exponent instead."""
    _refuse_booleans(infos[0], "np.exp")
    return fit(s, replace(_unknown(infos[0]), kind="f", low=ZERO, facts={"exp": ids[0]}))


def log(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a logarithm by its largest slope, 1 / low for a value of at least low > 0."""
    return _by_derivative(s, infos[0], "np.log", lambda least: 1 / least)


def root(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a square root by |sqrt(a') - sqrt(a)|^2 <= |a' - a|.

    If the value is at least low > 0, the derivative is also at most 1 / (2 sqrt(low)).
    """
    [i] = infos
    need(nonnegative(s, i), "np.sqrt requires a nonnegative value (clip it from below)")
    high = None if i.high is None else s.largest_of(i.high, ONE)
    found = replace(_unknown(i), kind="f", low=ZERO, high=high)
    number = None if i.change is None else i.change.number
    change: Bound = None if number is None else Poly.of(upper_root(number))
    if i.private:
        found = replace(found, change=change, change2=i.change1)
    least = None if i.low is None else s.largest(-i.low)
    if least is not None and least < 0:
        k = upper_root(-1 / least) / 2  # 1 / low is rounded up under the root
        found = replace(
            found,
            change1=times(k, i.change1),
            change2=s.smallest(times(k * k, i.change2), found.change2),
            change=s.smallest(times(k, i.change), found.change),
        )
    return fit(s, found)


def _by_derivative(s: Setting, i: Info, name: str, slope: Callable[[Fraction], Fraction]) -> Info:
    _refuse_booleans(i, name)
    least = None if i.low is None else s.largest(-i.low)
    need(
        least is not None and least < 0,
        f"{name} requires a value with a positive lower bound (clip it from below)",
    )
    k = slope(-(least or Fraction(-1)))
    moved = replace(
        _unknown(i),
        kind="f",
        change1=times(k, i.change1),
        change2=times(k * k, i.change2),
        change=times(k, i.change),
    )
    return fit(s, moved)


def _up(bound: Bound, extra: int = 0) -> Bound:
    """Return an upper bound on the ceiling of the bound, plus ``extra``."""
    if bound is None:
        return None
    number = bound.number
    return (
        bound + 1 + extra if number is None else Poly.of(-((-number.numerator) // number.denominator) + extra)
    )


def _floor_of(s: Setting, op: str, node: int, i: Info, above: Bound) -> dict[str, Any]:
    """Return the fact of which node a value is the floor, with a bound on the ceiling of that node."""
    if "floor_of" in i.facts:  # rounding changes no integer
        return {"floor_of": i.facts["floor_of"]}
    floors = op == "floor" or (op == "trunc" and nonnegative(s, i))
    return {"floor_of": (node, above)} if floors else {}


def rounding(op: str) -> Rule:
    """Return the rule of floor, trunc or rint.

    |floor a - floor b| <= ceil |a - b|, and the same holds for trunc. Rounding half to even changes by at
    most floor |a - b| + 1.
    """

    def rule(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
        [i] = infos
        kind, python = p["kind"], bool(p["python"])
        need(kind in ("i", "f"), "rounding must return int64 or float64")
        if i.kind in "bi":
            return in_int64(s, fit(s, replace(i, kind=kind, python=python, facts={}, values=None)))
        need(i.low is not None and i.high is not None, "rounding requires a bounded value (clip it)")
        change = _up(i.change) if op != "rint" else _nearest(i.change)
        low, high = i.low, i.high
        below, above = (None if low is None else _up(-low)), _up(high)
        found = replace(
            _unknown(i),
            kind=kind,
            python=python,
            low=None if below is None else -below,
            high=above,
            change=change,
            rises=i.rises,
            guard=i.guard,  # all three map 0 to 0
            facts=_floor_of(s, op, ids[0], i, above),
        )
        if (
            op != "rint"
            and low is not None
            and high is not None
            and low.number is not None
            and high.number is not None
        ):
            # floor and trunc of a value >= 0 do not exceed it.
            top = Poly.of(high.number.numerator // high.number.denominator)
            found = replace(found, high=top if op == "floor" or low.number >= 0 else above)
        return in_int64(s, fit(s, found))

    return rule


def _nearest(bound: Bound) -> Bound:
    if bound is None or bound == 0:
        return bound
    number = bound.number
    return bound + 1 if number is None else Poly.of(number.numerator // number.denominator + 1)


def as_kind(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Convert numbers to float64, or Booleans to int64. The values stay the same, and so do facts on them."""
    [i], kind = infos, p["kind"]
    kept = kind == "f" or kind == i.kind or (kind == "i" and i.kind == "b")
    need(kept, "a cast must keep all values")
    python, facts = bool(p.get("python", i.python)), {**i.facts, **whole(i)}
    return in_int64(s, replace(i, kind=kind, python=python, facts=facts, guard=masked(i, ids[0])))


def modulo(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a value modulo a positive constant k, by [0, k), or [0, k - 1] for integers.

    The change is unknown.
    """
    u, v = infos
    k = v.constant
    need(k is not None and k.number is not None and k.number > 0, "% requires a positive constant divisor")
    need("b" not in (u.kind, v.kind), "% of Booleans is not supported")
    frame, _ = together(s, infos)
    whole = u.kind == v.kind == "i" and k is not None
    return fit(
        s, replace(frame, kind=promoted(infos), low=ZERO, high=k - 1 if whole and k is not None else k)
    )


ELEMENTWISE: dict[str, Rule] = {
    "add": add,
    "sub": subtract,
    "mul": multiply,
    "div": divide,
    "mod": modulo,
    "neg": negative,
    "square": square,
    "abs": absolute,
    "sign": sign,
    "exp": exp,
    "log": log,
    "sqrt": root,
    "minimum": minimum,
    "maximum": maximum,
    "where": where,
    "and": logical_and,
    "or": logical_or,
    "not": logical_not,
    "cast": as_kind,
    **{name: rounding(name) for name in ("floor", "trunc", "rint")},
    **{name: bounded(name) for name in LIPSCHITZ},
    **{name: compare(name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
}
