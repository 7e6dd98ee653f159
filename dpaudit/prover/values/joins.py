"""Join the values of two branches on a private condition, and compute with the joined numbers.

Let q be a private condition, and a and b the values of a name after the two branches. The value after the
statement is a where q holds, and b elsewhere. That is the kernel's ``where``. If both values are sums that
begin with the same number c, it is also c + where(q, a - c, b - c). This form has the smaller change, because
in ``if x > 5: count += 1`` only the last summand depends on x.

The type of the number may depend on q too. It could show in an attribute that only numpy numbers have, or in
the type of an array. ``Joined`` holds such a number. Sums, products and comparisons accept it. ``float()``
turns it into a number of known type.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.kernel.values.info import disjoint
from dpaudit.prover.values.operations import LATER, PLAIN, binary, content, shape_of, unary
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.values import Array, Draw, Joined, Noisy, Private, Public, Scaled, Symbol

__all__ = ["JOINED", "as_condition", "is_private", "join", "joined_arguments", "unwrap_joined"]

JOINED = (
    "the type of the number (int or float, Python or numpy) depends on a private condition (write float(...)"
    " around it, and 0.0 instead of 0)"
)
#: Operators with a defined result type for any two numbers, and no exception for finite numbers.
CLOSED = ("add", "sub", "mul", "div", "lt", "le", "gt", "ge", "eq", "ne")


def is_private(value: Any) -> bool:
    """Return whether a value is one private number that the declared ranges do not determine."""
    inner = content(value)
    if isinstance(inner, Joined):
        return True
    if not isinstance(inner, Private) or inner.shape != ():
        return False
    known = inner.info.constant
    return known is None or known.number is None


def as_condition(run: Run, value: Any) -> Private:
    """Return the truth of a private number as a private Boolean."""
    private: Private = content(unwrap_joined(value))
    if private.info.kind == "b":
        return private
    return run.step("ne", [private, 0])


def unwrap_joined(value: Any) -> Any:
    """Return a joined number as the private number that it holds."""
    inner = content(value)
    return inner.private if isinstance(inner, Joined) else value


def join(run: Run, test: Private, a: Any, b: Any) -> Any:
    """Return the value that is ``a`` where the test holds, and ``b`` elsewhere."""
    if a is b:
        return a
    if type(a) is type(b) is tuple and len(a) == len(b):
        return tuple(join(run, test, x, y) for x, y in zip(a, b, strict=True))
    for one in (a, b):
        _require_number(run, one)
    x, y = content(a), content(b)
    if not isinstance(x, Symbol) and type(x) is type(y) and x == y and repr(x) == repr(y):
        return a
    left, right = run.lift(unwrap_joined(x)), run.lift(unwrap_joined(y))
    kinds = {left.info.kind, right.info.kind}
    if "b" in kinds and len(kinds) > 1:
        run.refuse("a value is a truth value in one branch and a number in the other")
    kind_unknown = len(kinds) > 1 or any(isinstance(one, Joined) and one.kind_unknown for one in (x, y))
    classes = [_class(one) for one in (x, y)]
    class_unknown = None in classes or classes[0] != classes[1]
    found = _from_common(run, test, left, right)
    run.verify(found, lambda q, u, v: _as(found.info.kind, u if q else v), test, left, right)
    return Joined(found, kind_unknown, class_unknown) if kind_unknown or class_unknown else found


def _require_number(run: Run, value: Any) -> None:
    inner = content(value)
    number = isinstance(inner, Private | Joined | Public) or (
        isinstance(inner, PLAIN) and not isinstance(inner, Fraction) and math.isfinite(inner)
    )
    if isinstance(value, Array) or not number or (not isinstance(inner, Joined) and shape_of(inner) != ()):
        run.refuse(
            "a branch on a private condition may only assign numbers (instead of arrays, lists, text or noisy"
            " values, use np.where or np.clip)"
        )


def _class(value: Any) -> bool | None:
    """Return whether a number is a Python number, or None if that is unknown."""
    if isinstance(value, Joined | Public):
        return None if not isinstance(value, Joined) or value.class_unknown else value.private.info.python
    if isinstance(value, Private):
        return value.info.python
    return not isinstance(value, np.generic)


def _as(kind: str, value: Any) -> Any:
    return float(value) if kind == "f" else value


def _from_common(run: Run, test: Private, left: Private, right: Private) -> Private:
    """Return the chosen value as the longest common beginning of both sums plus the chosen rest."""
    ours, others = _prefixes(run, left.node), _prefixes(run, right.node)
    common = next((node for node in ours if node in others), None)
    if common is None:
        return _where(run, test, left, right)
    base = _private(run, common)
    rests = [_sum(run, ours[common]), _sum(run, others[common])]
    kinds = {run.lift(rest).info.kind for rest in rests if rest is not None}
    zero: Any = 0.0 if "f" in kinds else 0
    chosen = _where(run, test, *(run.lift(zero if rest is None else rest) for rest in rests))
    whole = _added(run, base, chosen)
    kind = "f" if "f" in (left.info.kind, right.info.kind) else left.info.kind
    python = left.info.python and right.info.python
    if whole.info.kind != kind or whole.info.python != python:
        return _where(run, test, left, right)
    return whole


def _added(run: Run, base: Private, chosen: Private) -> Private:
    """Return the sum, with the summands of the same records added first.

    In a loop over records, the rest of the sum then depends on other records. One record changes one part.
    """
    op, ids, _ = run.record.nodes[base.node]
    if op == "add":
        rest, last = (run.record.infos[node] for node in ids)
        if disjoint(rest.support, chosen.info.support) and not disjoint(last.support, chosen.info.support):
            return run.step("add", [_private(run, ids[0]), run.step("add", [_private(run, ids[1]), chosen])])
    return run.step("add", [base, chosen])


def _where(run: Run, test: Private, left: Private, right: Private) -> Private:
    """Return the chosen value, as a minimum or maximum if it is one.

    Let u and v be the numbers that the test compares. The value is f(u) for u < v and g(u) for u > v. If
    g = v, and f(u) = u or f(u) = max(u, k) with k <= v, it is min(f(u), v). The mirror image is a maximum.
    """
    op, ids, _ = run.record.nodes[test.node]
    if op in ("lt", "le", "gt", "ge"):
        for u, v, turned in ((*ids, False), (ids[1], ids[0], True)):
            below = (op in ("lt", "le")) != turned
            small, large = (left, right) if below else (right, left)
            if _equal(run, large.node, v) and _bounded_by(run, small.node, "maximum", u, v):
                return run.step("minimum", [small, large])
            if _equal(run, small.node, v) and _bounded_by(run, large.node, "minimum", u, v):
                return run.step("maximum", [large, small])
    return run.step("where", [test, left, right], {"python": True})


def _constant(run: Run, node: int) -> Fraction | None:
    known = run.record.infos[node].constant
    return None if known is None else known.number


def _equal(run: Run, node: int, other: int) -> bool:
    """Return whether two numbers are the same step or the same constant."""
    number = _constant(run, node)
    return node == other or (number is not None and number == _constant(run, other))


def _bounded_by(run: Run, node: int, op: str, u: int, v: int) -> bool:
    """Return whether a value is u, or ``maximum(u, k)`` with k <= v, or ``minimum(u, k)`` with k >= v."""
    found, ids, _ = run.record.nodes[node]
    if node == u or (found == "cast" and ids[0] == u):
        return True
    if found != op or u not in ids:
        return False
    k, limit = _constant(run, ids[1] if ids[0] == u else ids[0]), _constant(run, v)
    return k is not None and limit is not None and (k <= limit if op == "maximum" else k >= limit)


def _private(run: Run, node: int) -> Private:
    return Private(node, run.record.infos[node], run.samples[node])


def _prefixes(run: Run, node: int) -> dict[int, tuple[tuple[str, int], ...]]:
    """Return the beginnings of a sum of numbers, longest first, each with the summands that follow it."""
    found: dict[int, tuple[tuple[str, int], ...]] = {node: ()}
    rest: tuple[tuple[str, int], ...] = ()
    for _ in range(50):
        op, ids, _params = run.record.nodes[node]
        if op not in ("add", "sub") or run.record.infos[node].shape != ():
            break
        node, last = ids
        rest = ((op, last), *rest)
        found[node] = rest
    return found


def _sum(run: Run, summands: tuple[tuple[str, int], ...]) -> Private | None:
    total: Private | None = None
    for op, node in summands:
        one = _private(run, node)
        one = run.step("neg", [one]) if op == "sub" else one
        total = one if total is None else run.step("add", [total, one])
    return total


def joined_binary(run: Run, op: str, a: Any, b: Any) -> Any:
    """Apply an operator to a joined number and another number or array."""
    parts = [content(one) for one in (a, b)]
    for part in parts:
        if op not in CLOSED:
            run.refuse(JOINED)
        if isinstance(part, Noisy | Draw | Scaled):
            return binary(run, op, *(_for_noise(run, one) for one in parts))
        if isinstance(part, Symbol) and not isinstance(part, Joined | Private):
            run.refuse(JOINED)
    found = binary(run, op, *(unwrap_joined(one) for one in (a, b)))
    joined = [part for part in parts if isinstance(part, Joined)]
    others = [part for part in parts if not isinstance(part, Joined)]
    comparison = op not in ("add", "sub", "mul", "div")
    kind_unknown = any(part.kind_unknown for part in joined) and op != "div" and not comparison
    if kind_unknown and any(_is_float(part) for part in others):
        kind_unknown = False
    numpy = any(
        not part.info.python if isinstance(part, Private) else isinstance(part, np.generic | np.ndarray)
        for part in others
    )
    class_unknown = any(part.class_unknown for part in joined) and not numpy
    if not (kind_unknown or class_unknown):
        return found
    inner = content(found)
    if not isinstance(inner, Private) or inner.shape != ():
        run.refuse(JOINED)
    return Joined(inner, kind_unknown, class_unknown)


def _for_noise(run: Run, value: Any) -> Any:
    """Return a joined number as a Python number.

    Its sum with a float is a float. Whether that is Python's or numpy's is not part of its value in the
    model, where numbers are real. As a Python number it has no attributes that could show the difference.
    """
    if not isinstance(value, Joined):
        return value
    return run.step("cast", [value.private], {"kind": value.private.info.kind, "python": True})


def _is_float(part: Any) -> bool:
    if isinstance(part, Private):
        return part.info.kind == "f"
    return isinstance(part, float | np.float64) or (isinstance(part, np.ndarray) and part.dtype.kind == "f")


def joined_unary(run: Run, op: str, value: Joined) -> Any:
    """Apply -x, +x or abs(x) to a joined number."""
    if op not in ("neg", "abs", "pos"):
        run.refuse(JOINED)
    found = content(unary(run, op, value.private))
    return Joined(found, value.kind_unknown, value.class_unknown)


def joined_arguments(run: Run, name: str, values: list[Any]) -> list[Any]:
    """Return the arguments of an accepted function with the numbers that joined values hold."""
    for value in values:
        for part in value if isinstance(value, list | tuple) else [value]:
            inner = content(part)
            if not isinstance(inner, Joined) or (name == "float" and len(values) == 1 and part is value):
                continue
            if inner.kind_unknown or inner.private.info.kind == "b" or not name.startswith(("np.", "math.")):
                run.refuse(JOINED)
    take: Callable[[Any], Any] = unwrap_joined
    return [
        type(value)(take(part) for part in value) if isinstance(value, list | tuple) else take(value)
        for value in values
    ]


LATER["joined binary"], LATER["joined unary"] = joined_binary, joined_unary
