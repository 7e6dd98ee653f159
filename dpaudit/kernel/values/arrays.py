"""Derive bounds for array operations: data, reductions, shapes, selections, matrices and order statistics."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from operator import mul
from typing import Any

from dpaudit.kernel.values.elementwise import Rule, certain, hull, in_int64
from dpaudit.kernel.values.expressions import clipped_span, polynomial
from dpaudit.kernel.values.guards import masked
from dpaudit.kernel.values.info import (
    Constants,
    End,
    Info,
    Setting,
    at_or_before,
    disjoint,
    fit,
    flat,
    magnitude,
    need,
    nonnegative,
    union,
    whole,
)
from dpaudit.kernel.values.polynomials import ONE, ZERO, Bound, Poly, product_of, times, total, upper_root
from dpaudit.kernel.values.texts import text_column

__all__ = ["ARRAYS"]

NOTHING: dict[str, Any] = {
    "norm1": None,
    "norm2": None,
    "facts": {},
    "values": None,
    "rises": False,
    "guard": None,
}


def data(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound one column of the records by ``low`` and ``high`` of its entries, and by any ball of its rows.

    A one-hot row has the L1 and L2 norm 1. Two of them differ by at most 2 in L1 and squared L2 norm, which
    ``fit`` derives from the norms, and under zero-out the null row is within the same norms.
    """
    if p["kind"] == "t":
        return text_column(s, p)
    low, high = (None if p[end] is None else Poly.of(Fraction(p[end])) for end in ("low", "high"))
    shape = tuple(p["shape"])
    norm1 = norm2 = None
    zero = s.adjacency == "zero-out"  # then 0 is part of the domain
    if p["ball"] is not None:
        norm, radius = p["ball"][0], Poly.of(Fraction(p["ball"][1]))
        need(
            norm in ("1", "2", "one-hot") and s.at_most(0, radius),
            "a ball must have the norm 1, 2 or one-hot and a radius of at least 0",
        )
        norm1 = None if norm == "2" else radius
        norm2 = radius * radius
        low = -radius if low is None or s.at_most(low, -radius) else low
        high = radius if high is None or s.at_most(radius, high) else high
    if zero:
        low = low if low is None or s.at_most(low, 0) else ZERO
        high = high if high is None or s.at_most(0, high) else ZERO
    need(low is None or high is None or s.at_most(low, high), "a domain must not be empty")
    count: int | Poly = Poly.symbol("N") if s.size is None or s.length_is_private else s.size
    need(shape[:1] == (count,), "the data must have one row for each record")
    found = Info(
        shape=shape,
        kind=p["kind"],
        low=low,
        high=high,
        records=1,
        change1=None,
        change2=None,
        change=None,
        norm1=norm1,
        norm2=norm2,
        support=((0, s.size if isinstance(count, int) else None, 1),),
        aligned=(0, None, 1),
    )
    found = fit(s, found)
    if zero:  # zeroing out changes a record by the record itself
        found = fit(s, replace(found, change=magnitude(s, found), change1=found.norm1, change2=found.norm2))
    return in_int64(s, found) if low is not None and high is not None else found


def constant(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a constant by its entries."""
    values = Constants.read(p["values"])
    need(product_of(p["shape"]) == len(values.numerators), "a constant must have one value for each entry")
    return Info(
        shape=tuple(p["shape"]),
        kind=p["kind"],
        python=bool(p["python"]),
        low=Poly.of(values.low),
        high=Poly.of(values.high),
        norm1=Poly.of(values.norm1),
        norm2=Poly.of(values.norm2),
        values=values,
    )


def ones(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a column with 1 for each record, whose sum is the number of records."""
    [i] = infos
    need(i.records == 1, "the number of records requires an array with one row per record")
    found = replace(i, **NOTHING)
    found = replace(
        found, shape=i.shape[:1], kind="i", low=ONE, high=ONE, change1=ZERO, change2=ZERO, change=ZERO
    )
    return fit(s, found)


def row_function(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound an unknown public function of each row, which must be finite for all rows."""
    [i] = infos
    need(i.records == 1, "a function of each row requires an array with one row per record")
    found = replace(i, **NOTHING)
    return fit(
        s,
        replace(
            found,
            shape=(*i.shape[:1], *p["shape"]),
            kind="f",
            low=None,
            high=None,
            change1=None,
            change2=None,
            change=None,
        ),
    )


def hidden_draw(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a draw that nobody sees, of a distribution on [low, high] whose parameter is the operand.

    The draw is a function of the parameter and of a uniform number U that has the same distribution on both
    sides and is independent of the data. Given all these U the draw is a value like any other, and the bound
    holds. The output on either side is the average over the same U. Density ratios, delta and Renyi moments
    are jointly (quasi-)convex, so the bound holds for the averages. ``number`` tells draws apart.

    With ``law`` "bernoulli" it is a coin, which is 1 if U is below the parameter.
    """
    [i] = infos
    low, high = Fraction(p["low"]), Fraction(p["high"])
    coin = p.get("law") == "bernoulli"
    need(not coin or (low == 0 and high == 1), "a coin is 0 or 1")
    rounds = {"rounds": i.facts["fraction_of"]} if coin and "fraction_of" in i.facts else {}
    need(low <= high and type(p["number"]) is int, "a hidden draw requires a range and a number")
    moves: Bound = None if i.private else ZERO
    found = replace(i, **NOTHING)
    return fit(
        s,
        replace(
            found,
            kind=p["kind"],
            python=bool(p["python"]),
            low=Poly.of(low),
            high=Poly.of(high),
            change1=moves,
            change2=moves,
            change=moves,
            guard=None if i.records else i.guard,
            facts=rounds,
        ),
    )


def summed(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a sum over axes, and refuse integer sums that may overflow."""
    [i] = infos
    axes = _axes(i, p["axes"])
    found = _sum(s, replace(i, guard=masked(i, ids[0])), axes)
    if found.shape == () and not i.records and set(axes) == set(range(len(i.shape))):
        found = replace(found, facts={"sum_of": ids[0]})
    return in_int64(s, found)


def _axes(i: Info, axes: Sequence[Any]) -> tuple[int, ...]:
    """Return axes of an array, each named once."""
    need(
        all(type(a) is int and 0 <= a < len(i.shape) for a in axes) and len(set(axes)) == len(axes),
        "axis is out of range or repeated",
    )
    return tuple(axes)


def _sum(s: Setting, i: Info, axes: tuple[int, ...]) -> Info:
    kind = "f" if i.kind == "f" else "i"
    shape = tuple(extent for place, extent in enumerate(i.shape) if place not in axes)
    over = [axis for axis in axes if axis < i.records]
    if not over:
        return _sum_inside(s, replace(i, kind=kind), axes, shape)
    rest = tuple(axis for axis in axes if axis >= i.records)
    if rest:  # first sum within the rows
        i = _sum_inside(s, i, rest, tuple(n for place, n in enumerate(i.shape) if place not in rest))
    n = product_of(i.shape[axis] for axis in over)
    if len(over) < i.records:  # blocks of records: the changed record affects one remaining entry
        need(
            not s.length_is_private and s.group == 1,
            "sums over blocks of records require replace-one or zero-out and group=1",
        )
        return fit(
            s,
            replace(
                i,
                **NOTHING,
                shape=shape,
                kind=kind,
                records=0,
                aligned=None,
                low=_scaled(n, i.low),
                high=_scaled(n, i.high),
            ),
        )
    g = s.group
    found = Info(shape=shape, kind=kind, support=i.support, guard=i.guard)
    if not s.length_is_private:
        changed = replace(
            found, change1=times(g, i.change1), change2=times(g * g, i.change2), change=times(g, i.change)
        )
        if nonnegative(s, i) and i.norm1 is not None and not rest:
            # A changed row v becomes v', and both are >= 0: the changes up add up to at most |v'|_1.
            changed = replace(changed, facts={"sides": times(g, i.norm1)})
        return fit(s, replace(changed, low=_scaled(n, i.low), high=_scaled(n, i.high)))
    top = magnitude(s, i)
    rises = nonnegative(s, i)
    limit: Bound = None
    if kind == "i":  # fewer than 2^31 records is a listed assumption
        limit = times(2**31, top)
    changed = replace(
        found,
        change1=times(g, i.norm1),
        change2=times(g * g, i.norm2),
        change=times(g, top),
        rises=rises,
        low=ZERO if rises else None if limit is None else -limit,
        high=limit,
    )
    return fit(s, changed)


def _scaled(n: Poly, bound: Bound) -> Bound:
    """Return n times a bound of any sign."""
    return None if bound is None else n * bound


def _sum_inside(s: Setting, i: Info, axes: tuple[int, ...], shape: tuple[int | Poly, ...]) -> Info:
    """Bound sums within rows or arrays: |sum|_1 <= |.|_1, and |sum|_2^2 <= m |.|_2^2 (Cauchy-Schwarz)."""
    m = product_of(i.shape[axis] for axis in axes)
    kind = "f" if i.kind == "f" else "i"
    low, high = _scaled(m, i.low), _scaled(m, i.high)
    if nonnegative(s, i):
        low, high = ZERO, s.smallest(high, i.norm1)
    found = replace(
        i,
        shape=shape,
        kind=kind,
        python=False,
        low=low,
        high=high,
        change2=times(m, i.change2),
        change=s.smallest(i.change1, times(m, i.change)),
        norm2=times(m, i.norm2),
        facts={},
        values=None,
        rises=i.rises,
    )
    return in_int64(s, fit(s, found))


def extreme(op: str) -> Rule:
    """Return the rule of max or min over axes, which are 1-Lipschitz in the largest change."""

    def rule(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
        [i] = infos
        axes = _axes(i, p["axes"])
        m = product_of(i.shape[axis] for axis in axes)
        need(s.at_most(1, m), f"{op}() requires a nonempty array")
        if any(axis < i.records for axis in axes):
            i = flat(s, i)
        shape = tuple(extent for place, extent in enumerate(i.shape) if place not in axes)
        rises = i.rises and not i.records
        found = replace(i, **NOTHING)
        return fit(s, replace(found, shape=shape, python=False, change2=None, rises=rises))

    return rule


def truth(op: str) -> Rule:
    """Return the rule of any or all over axes."""

    def rule(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
        [i] = infos
        axes = _axes(i, p["axes"])
        inside = all(axis >= i.records for axis in axes)
        shape = tuple(extent for place, extent in enumerate(i.shape) if place not in axes)
        moves: Bound = None if i.private else ZERO
        known = certain(i)  # of no entries, all is true and any is false
        found = replace(i, **NOTHING)
        found = replace(
            found,
            shape=shape,
            kind="b",
            python=False,
            low=ONE if op == "all" and known else ZERO,
            high=ZERO if op == "any" and known is False else ONE,
            change1=moves,
            change2=moves,
            change=moves,
        )
        if not inside:
            need(
                len(shape) == 0 or not i.records or all(a in axes for a in range(i.records)),
                "any() and all() over blocks of records are not supported",
            )
            found = replace(found, records=0, aligned=None)
        return fit(s, found)

    return rule


def norm(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound the norm of each row or of a vector, which changes by at most the norm of the change."""
    [i], q = infos, p["p"]
    need(len(i.shape) - i.records == 1, "a norm requires a vector, or rows that are vectors")
    change: Bound = {"1": i.change1, "2": _root(i.change2), "inf": i.change}[q]
    top: Bound = {"1": i.norm1, "2": _root(i.norm2), "inf": magnitude(s, i)}[q]
    shape = (*i.shape[: i.records], *((1,) if p["keep"] else ()))
    found = replace(i, **NOTHING)
    return fit(
        s,
        replace(
            found,
            shape=shape,
            kind="f",
            python=False,
            low=ZERO,
            high=top,
            change1=change,
            change2=times(change, change),
            change=change,
            guard=i.guard,
            facts={"low": (ids[0], q, ONE)},
        ),
    )


def _root(bound: Bound) -> Bound:
    number = None if bound is None else bound.number
    return None if number is None else Poly.of(upper_root(number))


def reshape(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Keep the entries in C order under another shape. ``records`` leading axes still index records."""
    [i] = infos
    shape, records = tuple(p["shape"]), p["records"]
    need(product_of(shape) == product_of(i.shape), "a reshape must keep the number of entries")
    need(
        records == 0 or (i.records and product_of(shape[:records]) == product_of(i.shape[: i.records])),
        "a reshape must not split the rows of records",
    )
    kept = whole(i)
    if not records:
        i = flat(s, i)
    else:
        need(
            not s.length_is_private or shape[:records] == i.shape[: i.records],
            "the axis of records cannot be reshaped: the number of records is private",
        )
        i = replace(i, guard=masked(i, ids[0]))
    one = i.entries == 1 and product_of(shape[records:]) == 1
    same = {key: i.facts[key] for key in ("square",) if key in i.facts and not records}
    facts = i.facts if one and records == i.records else same
    aligned = i.aligned if shape[:records] == i.shape[: i.records] else (i.aligned, shape[:records])
    return fit(
        s,
        replace(
            i,
            shape=shape,
            records=records,
            aligned=aligned if records else None,
            facts={**facts, **kept},
            python=False,
        ),
    )


def rows(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Select the rows start, start + step, ... of an array of records: public positions, no repeats."""
    [i] = infos
    need(
        i.records == 1 and not s.length_is_private,
        "records cannot be selected by position: their number is private",
    )
    start, stop, step = p["start"], p["stop"], p["step"]
    n = i.shape[0]
    here = i.aligned
    need(
        isinstance(here, tuple) and len(here) == 3 and all(x is None or type(x) is int for x in here),
        "records must be in their original order, or a slice of it, to be selected by position",
    )
    if isinstance(n, int):
        need(
            step and start >= 0 and (stop is None or 0 <= stop <= n),
            "a slice of records must stay within the records and have a nonzero step",
        )
        taken = range(start, (n if step > 0 else -1) if stop is None else stop, step)
        need(
            not taken or (min(taken[0], taken[-1]) >= 0 and max(taken[0], taken[-1]) < n),
            "a slice of records must stay within the records and have a nonzero step",
        )
        count: int | Poly = len(taken)
        first = here[0] + start * here[2]
        by = here[2] * step
        last = first + by * (len(taken) - 1)
        spread = (first, last + 1, by) if by > 0 else (last, first + 1, -by)
        support = (spread,) if taken else ()
        aligned: Any = (first, count, by)
    else:
        need(step == 1 and here[2] == 1, "a slice with a step requires a fixed number of records")
        # numpy counts a negative stop from the end, so stop - start would be a wrong length.
        need(stop is None or stop >= 0, "a slice with a negative end requires a fixed number of records")
        need(
            start >= 0 and s.at_most(max(start, stop or 0), n),
            "a slice may reach beyond the least number of records",
        )
        count = n - start if stop is None else max(0, stop - start)
        first = here[0] + start
        support = ((first, None if stop is None else here[0] + stop, 1),)
        aligned = (first, None if stop is None else count, 1)
    if count == 0:
        support = ()
    return replace(i, shape=(count, *i.shape[1:]), support=support, aligned=aligned, facts=whole(i))


def part(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Replace by 0 all rows but those from ``start`` to ``stop``, which depend on the number of records N.

    Each end is (a, b, c) for the largest integer at most (a N + b) / c, or None. A row of the result changes
    as the row of the operand or not at all, and only if its record is in the range. Its norms are at most
    those of the operand.
    """
    [i] = infos
    need(
        i.records == 1 and not s.length_is_private and s.size is None and i.shape[0] == Poly.symbol("N"),
        "a slice that depends on the number of records requires all records and a public number of them",
    )
    need(i.aligned == (0, None, 1), "records must be in their original order to be selected by position")
    start, stop = (_end(p[name]) for name in ("start", "stop"))
    need(start is not None, "a slice must have a start")
    # A bound of unknown sign (an outcome) does not bound the rows that become 0.
    below = None if i.low is None else _at_least_zero(s, -i.low)
    return replace(
        i,
        support=((start, stop, 1),),
        low=None if below is None else -below,
        high=_at_least_zero(s, i.high),
        facts={},
        values=None,
    )


def _at_least_zero(s: Setting, bound: Bound) -> Bound:
    """Return the larger of an upper bound and 0, or None if its sign is unknown."""
    if bound is None or s.at_most(0, bound):
        return bound
    return ZERO if s.at_most(bound, 0) else None


def _end(written: Any) -> End:
    """Read an end of a slice, which must not be negative, because numpy would count it from the end."""
    if written is None:
        return None
    need(len(written) == 3 and all(type(part) is int for part in written), "an end must be three integers")
    a, b, c = written
    need(c >= 1 and at_or_before(0, (a, b, c)), "an end of a slice may be negative")
    return a, b, c


def pick(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Select distinct entries at public positions, of each row (``inside``) or of the array.

    The norms of the whole bound the norms of the part.
    """
    [i] = infos
    if not p["inside"]:
        i = flat(s, i)
    places = p["places"]
    m = i.entries.number
    need(
        m is not None and all(type(k) is int and 0 <= k < m for k in places),
        "selected entries must be in range",
    )
    need(len(set(places)) == len(places), "selected entries must not be repeated")
    inner = tuple(p["shape"])
    need(product_of(inner) == len(places), "the shape must match the number of selected entries")
    facts = {"entry": (ids[0], places[0])} if not i.records and inner == () else {}
    facts |= whole(i)
    values = None if i.values is None else i.values.picked(places)
    return fit(s, replace(i, shape=(*i.shape[: i.records], *inner), values=values, facts=facts, python=False))


def stack(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Stack values of the same shape along a new first axis. ``kind`` is the kind of the resulting array."""
    parts = [flat(s, info) for info in infos]
    need(parts and len({part.shape for part in parts}) == 1, "stacked values must have the same shape")
    kind = p["kind"]
    need(
        kind == "f" or all("bif".index(part.kind) <= "bif".index(kind) for part in parts),
        "stacked values must fit the type of the array",
    )
    change1: Bound = ZERO
    change2: Bound = ZERO
    support: Any = ()
    for part in parts:
        own = part.support if part.private else ()
        apart = s.group == 1 and disjoint(support, own)
        change1 = s.largest_of(change1, part.change1) if apart else total(change1, part.change1)
        change2 = s.largest_of(change2, part.change2) if apart else total(change2, part.change2)
        support = union(support, own)
    low, high = hull(s, parts)
    guards = {part.guard for part in parts if part.private}
    found = Info(
        shape=(len(parts), *parts[0].shape),
        kind=kind,
        low=low,
        high=high,
        change1=change1,
        change2=change2,
        change=s.largest_of(*[part.change for part in parts]),
        norm1=total(*[part.norm1 for part in parts]),
        norm2=total(*[part.norm2 for part in parts]),
        rises=all(part.rises or not part.private for part in parts),
        support=support,
        guard=guards.pop() if len(guards) == 1 else None,
    )
    return fit(s, found)


def columns(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Join row-local matrices of the same records, or vectors, along the last axis."""
    need(infos, "joined columns must be at least one")
    lead = infos[0].records
    need(
        lead in (0, 1) and all(info.records == lead and len(info.shape) == lead + 1 for info in infos),
        "joined columns must be vectors, or matrices with one row per record",
    )
    need(
        len({(info.shape[:lead], repr(info.aligned)) for info in infos}) == 1 or not lead,
        "joined columns must belong to the same records",
    )
    widths = [info.shape[lead] for info in infos]
    need(all(type(width) is int for width in widths), "joined columns must have a known width")
    low, high = hull(s, infos)
    kinds = {info.kind for info in infos}
    need(len(kinds) == 1 or "b" not in kinds, "Booleans and numbers cannot be joined in one array")
    support: Any = ()
    for info in infos:
        support = union(support, info.support)
    found = Info(
        shape=(*infos[0].shape[:lead], sum(widths)),
        kind="f" if "f" in kinds else "i" if "i" in kinds else "b",
        low=low,
        high=high,
        records=lead,
        aligned=infos[0].aligned if lead else None,
        change1=total(*[info.change1 for info in infos]),
        change2=s.smallest(total(*[info.change2 for info in infos]), _statistics_change2(infos)),
        change=s.largest_of(*[info.change for info in infos]),
        norm1=total(*[info.norm1 for info in infos]),
        norm2=total(*[info.norm2 for info in infos]),
        support=support,
    )
    return fit(s, found)


def _statistics_change2(infos: Sequence[Info]) -> Bound:
    """Bound the squared change of (x x^T, r x) for one vector x and a number r, or return None.

    *Proof.* Let |x|^2, |x'|^2 <= b, |r|, |r'| <= m and c = x . x'. Then |x x^T - x' x'^T|^2 = |x|^4 + |x'|^4
    - 2 c^2 <= 2 b^2 - 2 c^2, and |r x - r' x'|^2 <= 2 m^2 b + 2 m^2 |c|. The sum is largest at |c| = m^2 / 2,
    where it is 2 b^2 + 2 m^2 b + m^4 / 2: for b = m = 1 it is 9/2.
    """
    if len(infos) != 2:
        return None
    for square, scaled in (infos, infos[::-1]):
        if "square" in square.facts and "scaled" in scaled.facts:
            (x, b), (node, m) = square.facts["square"], scaled.facts["scaled"]
            if x == node:
                return total(times(2, b, b), times(2, m, m, b), times(Fraction(1, 2), m, m, m, m))
    return None


def matrix(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Multiply the last axis of a value by a public matrix M (r x k).

    The value is each row, a vector, or (``over``) the vector of all records with one number each, which are
    the columns of M. The bounds are:

    - |M u|_1 <= (largest L1 norm of a column) |u|_1
    - |M u|_2^2 <= |M|_1 |M|_inf |u|_2^2, and <= (largest squared L2 norm of a column) |u|_1^2
    - |M u|_inf <= (largest L1 norm of a row) |u|_inf, and <= max |M_ij| |u|_1
    """
    m, v = infos
    values = m.values
    need(
        values is not None and len(m.shape) == 2 and not m.private,
        "a matrix product requires a constant matrix",
    )
    r, k = int(m.shape[0]), int(m.shape[1])  # type: ignore[arg-type]
    kinds = {m.kind, v.kind}
    need(kinds != {"b"}, "a matrix product of Booleans is not supported (convert one operand to float)")
    kind = "f" if "f" in kinds else "i"  # a final int64 in range is right, even if partial sums overflow
    column1, column2, row1, largest = _matrix_norms(values or Constants((), 1), r, k)
    top = magnitude(s, v)
    vector = bool(p["vector"])  # then the result has no axis for the rows of M
    need(not vector or r == 1, "a vector must be a matrix with one row")
    out = () if vector else (r,)
    if p["over"]:
        need(
            v.records == 1 and len(v.shape) == 1 and v.shape[0] == k,
            "a product over records requires one number per record and one column of the matrix for each",
        )
        need(
            not s.length_is_private,
            "a product over records is not supported under add-remove: their positions are private",
        )
        g = s.group
        high = times(row1, top)
        whole = fit(
            s,
            Info(
                shape=out,
                kind=kind,
                support=v.support,
                guard=v.guard,
                low=None if high is None else -high,
                high=high,
                change1=times(g * column1, v.change1),
                change2=times(g * g * column2, v.change2),
                change=times(g * largest, v.change),
            ),
        )
        return in_int64(s, whole)
    need(len(v.shape) == v.records + 1 and v.shape[-1] == k, "the sizes of a matrix product do not match")
    high = s.smallest(times(row1, top), times(largest, v.norm1))
    found = replace(
        v,
        shape=(*v.shape[: v.records], *out),
        kind=kind,
        python=False,
        low=None if high is None else -high,
        high=high,
        change1=times(column1, v.change1),
        change2=s.smallest(times(column1 * row1, v.change2), times(column2, v.change1, v.change1)),
        change=s.smallest(times(row1, v.change), times(largest, v.change1)),
        norm1=times(column1, v.norm1),
        norm2=s.smallest(times(column1 * row1, v.norm2), times(column2, v.norm1, v.norm1)),
        rises=v.rises and values is not None and values.low >= 0,
        facts={},
        values=None,
    )
    sides = v.facts.get("sides")
    if sides is not None and values is not None and r * k * k <= MOST_COMPARED:
        apart1, apart2, apart = _distances(values, r, k)
        found = replace(
            found,
            change1=s.smallest(found.change1, times(apart1, sides)),
            change2=s.smallest(found.change2, times(apart2, sides, sides)),
            change=s.smallest(found.change, times(apart, sides)),
        )
    return in_int64(s, fit(s, found))


#: Larger matrices are bounded by their norms only.
MOST_COMPARED = 2_000_000


def _distances(values: Constants, r: int, k: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return the largest L1, squared L2 and largest-entry distance of two columns, or of a column and 0.

    Let u be a change whose positive parts, and whose negative parts, add up to at most P (``sides``). Then
    u = P (a - b) with a, b >= 0 and sums of at most 1, and a weight for the zero column fills each sum up to
    1. So M u = P sum a_i b_j (m_i - m_j), an average of differences of columns, and every norm of M u is at
    most P times the largest distance.
    """
    columns = [values.numerators[j::k] for j in range(k)] + [(0,) * r]
    found = [0, 0, 0]
    for one, other in itertools.combinations(columns, 2):
        gaps = [abs(a - b) for a, b in zip(one, other, strict=True)]
        sizes = (sum(gaps), sum(map(mul, gaps, gaps)), max(gaps, default=0))
        found = [max(pair) for pair in zip(found, sizes, strict=True)]
    over = values.over
    return Fraction(found[0], over), Fraction(found[1], over**2), Fraction(found[2], over)


def _matrix_norms(values: Constants, r: int, k: int) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Return norms of a matrix with r rows and k columns.

    These are the largest L1 norm of a column, the largest squared L2 norm of a column, the largest L1 norm of
    a row, and the largest absolute entry.
    """
    sizes = list(map(abs, values.numerators))
    squares = list(map(mul, sizes, sizes))
    column1 = max((sum(sizes[j::k]) for j in range(k)), default=0)
    column2 = max((sum(squares[j::k]) for j in range(k)), default=0)
    row1 = max((sum(sizes[j * k : (j + 1) * k]) for j in range(r)), default=0)
    over = values.over
    return (
        Fraction(column1, over),
        Fraction(column2, over**2),
        Fraction(row1, over),
        values.number(max(sizes, default=0)),
    )


def outer(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound the outer products of the rows of both operands, whose sum over records is X.T @ Y.

    With ``records=0`` the operands are two vectors, and the same bounds hold for their outer product.
    """
    (a, b), lead = infos, p.get("records", 1)
    same = repr(a.aligned) == repr(b.aligned) and a.shape[:1] == b.shape[:1]
    vectors = lead == 0 and len(a.shape) == len(b.shape) == 1
    need(
        a.records == b.records == lead and (vectors or (lead == 1 and same)),
        "X.T @ Y requires rows of the same records",
    )
    need(
        a.kind == b.kind == "f",
        "X.T @ Y requires floats (convert integers and Booleans)",
    )
    top_a, top_b = magnitude(s, a), magnitude(s, b)
    high = times(top_a, top_b)
    low = ZERO if nonnegative(s, a) and nonnegative(s, b) else None if high is None else -high
    change2: Bound = None
    if ids[0] == ids[1]:  # |gg' - hh'|^2 = |g|^4 + |h|^4 - 2 (g.h)^2
        change2 = times(2, a.norm2, a.norm2)
    found = Info(
        shape=(*a.shape, *b.shape[lead:]),
        kind="f",
        low=low,
        high=high,
        records=lead,
        aligned=a.aligned if lead else None,
        change1=None,
        change2=change2,
        change=total(times(top_a, b.change), times(top_b, a.change)),
        norm1=times(a.norm1, b.norm1),
        norm2=times(a.norm2, b.norm2),
        support=union(a.support, b.support),
        facts={"square": (ids[0], a.norm2)} if ids[0] == ids[1] and not lead else {},
    )
    return fit(s, found)


def one_hot(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Map each integer, which must provably be in 0 ... k - 1, to its unit vector."""
    [i], k = infos, p["k"]
    inside = i.low is not None and s.at_most(0, i.low) and s.at_most(i.high, k - 1)
    need(
        type(k) is int and k > 0 and i.kind == "i" and inside,
        f"np.bincount requires integers from 0 to {k - 1}, otherwise its length depends on the data",
    )
    return _hits(s, i, k)


def bins(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Map each number to the unit vector of its bin, or to 0 outside all bins."""
    edges = [Fraction(text) for text in p["edges"]]
    need(
        len(edges) >= 2 and all(x < y for x, y in itertools.pairwise(edges)),
        "histogram bins must have at least two strictly increasing edges",
    )
    return _hits(s, infos[0], len(edges) - 1)


def _hits(s: Setting, i: Info, k: int) -> Info:
    need(i.records and len(i.shape) == i.records, "a histogram requires one number per record")
    found = replace(i, **NOTHING)
    two, one = Poly.of(2), ONE
    return fit(
        s,
        replace(
            found,
            shape=(*i.shape, k),
            kind="i",
            python=False,
            low=ZERO,
            high=one,
            norm1=one,
            norm2=one,
            change1=two,
            change2=two,
            change=one,
        ),
    )


def sort(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a sorted vector. Sorting contracts every distance."""
    i = flat(s, infos[0])
    need(len(i.shape) == 1, "sorting requires a vector")
    return replace(i, facts={}, values=None, guard=None, rises=False)


def running_sum(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound partial sums of a vector, each of which changes by at most the L1 norm of the change."""
    i = flat(s, infos[0])
    need(len(i.shape) == 1, "np.cumsum requires a vector")
    need(i.kind != "b", "np.cumsum of Booleans is not supported (convert them to int or float)")
    m = i.entries
    # Partial sums have 1 to m terms. A bound of unknown sign (an outcome) does not bound every partial sum.
    high: Bound = None
    if i.high is not None:
        high = m * i.high if s.at_most(0, i.high) else ZERO if s.at_most(i.high, 0) else None
    low = (
        None if i.low is None else ZERO if s.at_most(0, i.low) else m * i.low if s.at_most(i.low, 0) else None
    )
    found = replace(i, **NOTHING)
    return in_int64(
        s,
        fit(
            s,
            replace(
                found,
                low=low,
                high=high,
                change1=times(m, i.change1),
                change2=None,
                change=i.change1,
                rises=i.rises,
            ),
        ),
    )


def order_statistic(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound the median, a quantile or an entry at a public position, 1-Lipschitz in the largest change."""
    i = flat(s, infos[0])
    need(len(i.shape) == 1 and s.at_most(1, i.shape[0]), "an order statistic requires a nonempty vector")
    kind = i.kind if p["what"] == "entry" else "f"
    need(i.kind != "b" or kind == "b", "a quantile of Booleans is not supported")
    found = replace(i, **NOTHING)
    return fit(s, replace(found, shape=(), kind=kind, change1=i.change, change2=times(i.change, i.change)))


def entries_of_rows(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound one entry of each row, at a public position that is an outcome."""
    [i] = infos
    need(
        i.records and len(i.shape) == i.records + 1 and s.at_most(1, i.shape[-1]),
        "an entry of each row requires nonempty rows that are vectors",
    )
    found = replace(i, **NOTHING)
    return fit(s, replace(found, shape=i.shape[:-1], change1=i.change, change2=times(i.change, i.change)))


def place_of_largest(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound the argmax or argmin of each row or of a vector: an integer whose change is unknown."""
    [i] = infos
    k = i.shape[-1] if i.shape else 0
    need(
        len(i.shape) == i.records + 1 and type(k) is int and k > 0,
        "an argmax or argmin requires a vector of known, positive length",
    )
    moves: Bound = None if i.private else ZERO
    found = replace(i, **NOTHING)
    return fit(
        s,
        replace(
            found,
            shape=i.shape[:-1],
            kind="i",
            python=False,
            low=ZERO,
            high=Poly.of(k) - 1,
            change1=moves,
            change2=moves,
            change=moves,
        ),
    )


def variance(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound the variance over n records of each column in an interval of width w when one is replaced.

    The variance of one column changes by at most w^2 (n - 1) / n^2, or by w^2 / n with ``ddof=1``. ``fit``
    adds up the changes of several columns.
    """
    [i] = infos
    plain = (
        i.records == 1 and len(i.shape) <= 2 and s.group == 1 and s.adjacency in ("replace-one", "zero-out")
    )
    need(
        plain and i.low is not None and i.high is not None,
        "np.var requires bounded numbers or rows, replace-one or zero-out adjacency, and group=1",
    )
    need(i.kind == "f" and p["ddof"] in (0, 1), "np.var requires float64 and ddof 0 or 1")
    n = Poly.of(i.shape[0])
    inverse = n.inverse()
    need(inverse is not None and s.at_most(1 + p["ddof"], n), "np.var requires more records than ddof")
    width = (i.high or ZERO) - (i.low or ZERO)
    by = inverse or ONE
    change = width * width * by if p["ddof"] else width * width * (n - 1) * by * by
    found = Info(
        shape=i.shape[1:],
        kind="f",
        low=ZERO,
        high=width * width,
        change1=None,
        change=change,
        change2=None,
        support=i.support,
    )
    return fit(s, found)


def softmax(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Recognise exp(v) / sum(exp(v)) as probabilities, which can only be used in a choice."""
    e, t = infos
    need(
        "exp" in e.facts and t.facts.get("sum_of") == ids[0] and len(e.shape) == 1 and not e.records,
        "a softmax must have the form exp(v) / exp(v).sum()",
    )
    found = replace(e, **NOTHING)
    return fit(
        s,
        replace(
            found,
            low=ZERO,
            high=ONE,
            change1=None,
            change2=None,
            change=None,
            facts={"softmax": e.facts["exp"]},
        ),
    )


def public(s: Setting, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any]) -> Info:
    """Bound a public expression of outcomes. The range of a number is the expression itself."""
    shape = tuple(p["shape"])
    known = polynomial(s, p["expression"]) if shape == () and p["kind"] != "b" else None
    low = high = known
    span = clipped_span(s, p["expression"]) if shape == () else None
    if span is not None and known is not None and not s.at_most(0, known):
        low, high = (Poly.of(end) for end in span)
    return fit(s, Info(shape=shape, kind=p["kind"], python=bool(p["python"]), low=low, high=high))


ARRAYS: dict[str, Rule] = {
    "data": data,
    "const": constant,
    "public": public,
    "ones": ones,
    "row_function": row_function,
    "hidden_draw": hidden_draw,
    "sum": summed,
    "max": extreme("max"),
    "min": extreme("min"),
    "any": truth("any"),
    "all": truth("all"),
    "norm": norm,
    "reshape": reshape,
    "rows": rows,
    "part": part,
    "pick": pick,
    "stack": stack,
    "columns": columns,
    "matrix": matrix,
    "outer": outer,
    "one_hot": one_hot,
    "bins": bins,
    "sort": sort,
    "cumsum": running_sum,
    "order": order_statistic,
    "row_entry": entries_of_rows,
    "argbest": place_of_largest,
    "var": variance,
    "softmax": softmax,
}
